package wds

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// finishSplits writes what Megatron-Energon opens at the root of a set of splits: its
// split parts are our splits.
func finishSplits(ctx context.Context, store storage.Store, splits []format.FinishedSplit) ([]shardify.File, error) {
	var all []shardify.Shard
	text := []byte("exclude: []\nsplit_parts:\n")
	parts := map[string]bool{}
	for _, s := range splits {
		parts[s.Name] = true
		text = append(append(append(text, "  "...), s.Name...), ':')
		if len(s.Shards) == 0 {
			text = append(text, " []"...)
		}
		text = append(text, '\n')
		for _, x := range s.Shards {
			name, err := quoted(x.Name)
			if err != nil {
				return nil, err
			}
			text = append(append(append(text, "  - "...), name...), '\n')
		}
		all = append(all, s.Shards...)
	}
	for _, name := range []string{"train", "val", "test"} { // that Energon asks for
		if !parts[name] {
			text = append(append(append(text, "  "...), name...), ": []\n"...)
		}
	}
	info, err := energonInfo(all)
	if err != nil {
		return nil, err
	}
	var files []shardify.File
	for _, f := range []struct {
		name string
		text []byte
	}{{energonShards, info}, {energonSplits, text}, {energonSamples, []byte(energonDataset)}} {
		file, err := publish(ctx, store, f.name, f.text)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
