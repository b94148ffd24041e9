// Package mds writes MDS shards, the format of MosaicML Streaming: samples row by
// row behind a table of their places, and index.json for the whole set.
// docs/format.md states what of it we use, package index encodes it.
//
//	sink, err := mds.Format.New(store, spec)
//	err = sink.Write(batch)
//	shard, err := sink.Commit(ctx)
package mds

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Format is the line in the table of writers.
var Format = shardify.SinkFormat{
	Name:        index.FormatMDS,
	Help:        "MDS: one file of rows per shard, for MosaicML Streaming",
	Ext:         ".mds",
	Check:       check,
	SampleBytes: sampleBytes,
	New:         newSink,
	Finish:      finish,
}

func check(schema []shardify.Field, keyed bool, _ shardify.Options) error {
	_, err := index.MDSColumns(schema, keyed)
	return shardify.Annotate(err, "write mds", "", "")
}

// sampleBytes: a place and a size for each value of variable length.
func sampleBytes(schema []shardify.Field, keyed bool) (fixed int64, factor float64) {
	cols, err := index.MDSColumns(schema, keyed)
	if err != nil {
		return 0, 1
	}
	fixed = 4
	for i := range cols {
		switch cols[i].Kind {
		case index.MDSFixed:
		case index.MDSArray:
			fixed += 4 + 3
		default:
			fixed += 4
		}
	}
	return fixed, 1
}

// finish writes index.json.
func finish(ctx context.Context, store shardify.Store, set shardify.FinishedSet) ([]shardify.File, error) {
	cols, err := index.MDSColumns(set.Schema, set.Keyed)
	if err != nil {
		return nil, err
	}
	var shards []index.MDSShard
	for _, s := range set.Shards {
		if s.Samples > 0 { // a shard without samples has no file
			shards = append(shards, index.MDSShard{Name: s.Name, Samples: s.Samples, Bytes: s.Bytes})
		}
	}
	b := index.MDSIndex(cols, "", shards)
	f, err := store.Create(index.MDSIndexName)
	if err == nil {
		defer f.Abort()
		if _, err = f.Write(b); err == nil {
			err = f.Commit(ctx)
		}
	}
	if err != nil {
		return nil, shardify.Annotate(err, "publish", index.MDSIndexName, "")
	}
	return []shardify.File{{Name: index.MDSIndexName, Bytes: int64(len(b)), Digest: index.DigestOf(b)}}, nil
}
