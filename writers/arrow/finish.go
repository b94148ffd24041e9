package arrow

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/table"
)

// The files of datasets.load_from_disk, which maps streams where they are.
const (
	stateName = "state.json"
	infoName  = "dataset_info.json"
	dictName  = "dataset_dict.json"
)

// finish writes README.md, and beside streams what load_from_disk reads.
func finish(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
	f, err := table.Card(ctx, store, set, ext)
	if err != nil || set.Options[optForm] != "stream" {
		return []shardify.File{f}, err
	}
	cols, err := table.Plan(title, set.Schema, set.Keyed)
	if err != nil {
		return nil, err
	}
	files, digests := []map[string]string{}, ""
	for i := range set.Shards {
		if s := &set.Shards[i]; s.Samples > 0 { // others have no file
			files = append(files, map[string]string{"filename": path.Base(s.Name)})
			digests += s.Digest
		}
	}
	print := strings.TrimPrefix(index.DigestOf([]byte(digests)), index.DigestPrefix)[:16]
	state := map[string]any{
		"_data_files": files, "_fingerprint": print, "_format_columns": nil, "_format_kwargs": map[string]any{},
		"_format_type": nil, "_output_all_columns": false, "_split": nil,
	}
	return publish(ctx, store, []shardify.File{f}, map[string]any{stateName: state, infoName: map[string]any{"features": table.Features(cols)}}, stateName, infoName)
}

// finishSplits writes those of a set of splits.
func finishSplits(ctx context.Context, store storage.Store, splits []format.FinishedSplit) ([]shardify.File, error) {
	f, err := table.CardOfSplits(ctx, store, splits, ext)
	if err != nil {
		return nil, err
	}
	names, streams := []string{}, false
	for _, s := range splits {
		names = append(names, s.Name)
		for name, err := range storage.Names(store, s.Name) {
			if err != nil {
				return nil, err
			}
			streams = streams || path.Base(name) == stateName
		}
	}
	if !streams {
		return []shardify.File{f}, nil
	}
	return publish(ctx, store, []shardify.File{f}, map[string]any{dictName: map[string]any{"splits": names}}, dictName)
}

// publish writes files of JSON in this order, and appends their records.
func publish(ctx context.Context, store storage.Store, all []shardify.File, texts map[string]any, order ...string) ([]shardify.File, error) {
	for _, name := range order {
		b, err := json.MarshalIndent(texts[name], "", "  ")
		if err != nil {
			return nil, err
		}
		f, err := table.Publish(ctx, store, name, append(b, '\n'))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
