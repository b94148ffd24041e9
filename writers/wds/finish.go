package wds

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// What wids and Megatron-Energon open.
const (
	widsName       = "index.json"
	energonFolder  = ".nv-meta/"
	energonShards  = energonFolder + ".info.json"
	energonSplits  = energonFolder + "split.yaml"
	energonSamples = energonFolder + "dataset.yaml"
)

// energonVersion is what .info.json claims to be made by. It is a constant:
// the bytes must not depend on what is installed.
const energonVersion = "7.0.0"

// finish writes what wids, Megatron-Energon and, if asked, DALI open.
func finish(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
	var files []shardify.File
	add := func(name string, b []byte, err error) error {
		if err != nil {
			return err
		}
		f, err := publish(ctx, store, name, b)
		if err == nil {
			files = append(files, f)
		}
		return err
	}
	shards := set.Shards
	empty := func(s shardify.Shard) bool { return s.Samples == 0 } // it has no file
	if slices.ContainsFunc(shards, empty) {
		shards = slices.DeleteFunc(slices.Clone(shards), empty)
	}
	wids, err := widsIndex(shards)
	if err := add(widsName, wids, err); err != nil {
		return nil, err
	}
	info, err := energonInfo(shards)
	if err := add(energonShards, info, err); err != nil {
		return nil, err
	}
	split, err := energonSplit(shards)
	if err := add(energonSplits, split, err); err != nil {
		return nil, err
	}
	if err := add(energonSamples, []byte(energonDataset), nil); err != nil {
		return nil, err
	}
	if !set.Options.Bool("dali") {
		return files, nil
	}
	for i := range shards {
		b, err := daliIndex(store, &shards[i])
		if err := add(daliName(shards[i].Name), b, err); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// widsIndex is index.json of wids: the shards with their sample counts. It is written by
// hand since the text of very many shards is best in memory once.
func widsIndex(shards []shardify.Shard) ([]byte, error) {
	b := make([]byte, 0, 128*len(shards)+128)
	b = append(b, "{\n  \"__kind__\": \"wids-shard-index-v1\",\n  \"wids_version\": 1,\n  \"shardlist\": ["...)
	for i, s := range shards {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := quoted(s.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(b, "\n    {\n      \"url\": "...), name...)
		b = strconv.AppendInt(append(b, ",\n      \"nsamples\": "...), s.Samples, 10)
		b = strconv.AppendInt(append(b, ",\n      \"filesize\": "...), s.Bytes, 10)
		b = append(b, "\n    }"...)
	}
	if len(shards) > 0 {
		b = append(b, "\n  "...)
	}
	return append(b, "]\n}\n"...), nil
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// energonInfo is .nv-meta/.info.json. Energon numbers the shards by the order of
// the keys, so this object is written by hand.
func energonInfo(shards []shardify.Shard) ([]byte, error) {
	b := []byte("{\n  \"energon_version\": \"" + energonVersion + "\",\n  \"shard_counts\": {")
	for i, s := range shards {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := quoted(s.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, "\n    "...), name...), ": "...)
		b = strconv.AppendInt(b, s.Samples, 10)
	}
	if len(shards) > 0 {
		b = append(b, "\n  "...)
	}
	return append(b, "}\n}\n"...), nil
}

// energonSplit is .nv-meta/split.yaml: all shards are for training, since each
// split of ours is a data set of its own.
func energonSplit(shards []shardify.Shard) ([]byte, error) {
	b := []byte("exclude: []\nsplit_parts:\n  test: []\n")
	if len(shards) == 0 {
		b = append(b, "  train: []\n"...)
	} else {
		b = append(b, "  train:\n"...)
	}
	for _, s := range shards {
		name, err := quoted(s.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, "  - "...), name...), '\n')
	}
	return append(b, "  val: []\n"...), nil
}

// quoted is a JSON string, which YAML reads too.
func quoted(s string) ([]byte, error) {
	b, err := indented(s)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// energonDataset is .nv-meta/dataset.yaml: samples as they are, for the user's
// own cooker.
const energonDataset = "__class__: CrudeWebdataset\n__module__: megatron.energon\n"
