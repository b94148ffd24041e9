// Package mds writes MDS shards, the format of MosaicML Streaming: samples row by
// row behind a table of their places, and index.json for the whole set.
// docs/reference/format.md states what of it we use, package index encodes it.
//
//	sink, err := mds.Format.New(store, spec)
//	err = sink.Write(batch)
//	shard, err := sink.Commit(ctx)
package mds

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: index.FormatMDS, Words: []string{"mosaicml", "streaming"},
	Help: "MDS: one file of rows per shard, for MosaicML Streaming",
	Ext:  ext,
	ExtOf: func(o format.Options) string {
		if zipped(o) {
			return ext + zipExt
		}
		return ext
	},
	Options: []format.Option{
		{Name: optCompression, Idle: format.Always, Kind: format.KindEnum, Default: "none", Values: []string{"none", "zstd"}, Help: "compress each MDS shard as a whole; Streaming unpacks it beside the shards when it is first used"},
	},
	Check:       check,
	SampleBytes: sampleBytes,
	New:         newSink,
	Finish:      finish,
	Verify:      verify,
	Owns:        func(name string) bool { return name == indexName },
	Hint: func(folder string, quote func(string) string) string {
		return "python3 -c " + quote(fmt.Sprintf("from streaming import StreamingDataset; ds = StreamingDataset(local=%q, batch_size=1); print(len(ds), ds[0])", folder))
	},
}

const (
	ext            = ".mds"
	optCompression = "mds-compression"
)

func zipped(o format.Options) bool { return o[optCompression] == "zstd" }

func check(schema []shardify.Field, keyed bool, _ format.Options) error {
	_, err := columnTypes(schema, keyed)
	return shardify.Annotate(err, "write mds", "", "")
}

// sampleBytes: a place and a size for each value of variable length.
func sampleBytes(schema []shardify.Field, keyed bool) (fixed int64, factor float64) {
	cols, err := columnTypes(schema, keyed)
	if err != nil {
		return 0, 1
	}
	fixed = 4
	for i := range cols {
		switch cols[i].Kind {
		case kindFixed:
		case kindArray:
			fixed += 4 + 3
		default:
			fixed += 4
		}
	}
	return fixed, 1
}

// finish writes index.json.
func finish(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
	cols, err := columnTypes(set.Schema, set.Keyed)
	if err != nil {
		return nil, err
	}
	var shards []shardRecord
	compression := ""
	for _, s := range set.Shards {
		if s.Samples == 0 { // it has no file
			continue
		}
		x := shardRecord{Name: s.Name, Samples: s.Samples, Bytes: s.Bytes}
		if raw, ok := strings.CutSuffix(s.Name, zipExt); ok {
			compression = zipExt[1:]
			x.Name, x.ZipName, x.ZipBytes = raw, s.Name, s.Bytes
			if x.Bytes, err = rawBytes(store, s.Name); err != nil {
				return nil, shardify.Annotate(err, "read", s.Name, "")
			}
		}
		shards = append(shards, x)
	}
	b := indexText(cols, compression, shards)
	f, err := store.Create(indexName)
	if err == nil {
		defer f.Abort()
		if _, err = f.Write(b); err == nil {
			err = f.Commit(ctx)
		}
	}
	if err != nil {
		return nil, shardify.Annotate(err, "publish", indexName, "")
	}
	return []shardify.File{{Name: indexName, Bytes: int64(len(b)), Digest: index.DigestOf(b)}}, nil
}
