package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// CardName is the card of a data set: Hugging Face datasets find the splits there.
const CardName = "README.md"

// Card publishes the card of a set of shards whose names end in ext.
func Card(ctx context.Context, store storage.Store, set format.FinishedSet, ext string) (shardify.File, error) {
	return card(ctx, store, []split{{"train", "shard-*" + ext, set.Shards}})
}

// CardOfSplits publishes that of a set of splits.
func CardOfSplits(ctx context.Context, store storage.Store, splits []format.FinishedSplit, ext string) (shardify.File, error) {
	var all []split
	for _, s := range splits {
		all = append(all, split{s.Name, s.Name + "/shard-*" + ext, s.Shards})
	}
	return card(ctx, store, all)
}

type split struct {
	name, files string
	shards      []shardify.Shard
}

func card(ctx context.Context, store storage.Store, splits []split) (shardify.File, error) {
	var head, rows strings.Builder
	for _, s := range splits {
		samples := int64(0)
		for i := range s.shards {
			samples += s.shards[i].Samples
		}
		fmt.Fprintf(&rows, "| %s | %d |\n", s.name, samples)
		if samples > 0 { // no file is an error there
			fmt.Fprintf(&head, "  - split: %s\n    path: %s\n", s.name, s.files)
		}
	}
	text := "---\n"
	if head.Len() > 0 {
		text += "configs:\n- config_name: default\n  data_files:\n" + head.String()
	}
	text += "---\n\n| split | samples |\n|---|---|\n" + rows.String()
	return Publish(ctx, store, CardName, []byte(text))
}

// Publish writes a small file beside the shards.
func Publish(ctx context.Context, store storage.Store, name string, b []byte) (shardify.File, error) {
	err := storage.WriteFile(ctx, store, name, b)
	return shardify.File{Name: name, Bytes: int64(len(b)), Digest: index.DigestOf(b)}, shardify.Annotate(err, "publish", name, "")
}
