package parquet

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// readme is the card of a data set: Hugging Face datasets find the splits there.
const readme = "README.md"

// finish writes the card of a set.
func finish(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
	return card(ctx, store, []split{{"train", "shard-*" + ext, set.Shards}})
}

// finishSplits writes that of a set of splits.
func finishSplits(ctx context.Context, store storage.Store, splits []format.FinishedSplit) ([]shardify.File, error) {
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

func card(ctx context.Context, store storage.Store, splits []split) ([]shardify.File, error) {
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
	if err := storage.WriteFile(ctx, store, readme, []byte(text)); err != nil {
		return nil, shardify.Annotate(err, "publish", readme, "")
	}
	return []shardify.File{{Name: readme, Bytes: int64(len(text)), Digest: index.DigestOf([]byte(text))}}, nil
}
