// Package mmap writes shards that readers map into memory: one safetensors file
// of whole columns (docs/reference/format.md section 3).
//
//	[0, 8)        u64 n
//	[8, 8+n)      JSON header: schema, checksums, places of the tensors
//	[8+n, EOF)    tensors by falling item size, then name
//
// Where the number of samples decides the size of a tensor, its place is known
// before the first sample and it is written there at once. So are lists whose
// items the plan has counted, and the first tensor whose size depends on the
// data. The others grow in scratch files and are moved behind it when the shard
// is complete.
package mmap

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// Format is the line of the writers' table.
var Format = format.Output{
	Name: index.FormatMmap, Words: []string{"safetensors"},
	Help:         "whole columns as tensors, one safetensors file per shard; opens without copying",
	Ext:          ".safetensors",
	Streams:      true,
	Views:        true,
	Check:        check,
	SampleBytes:  sampleBytes,
	ScratchBytes: scratchBytes,
	New:          New,
	Move:         move,
	Verify:       verify,
	Lint:         &linter,
	Hint:         hint,
}

func hint(folder string, quote func(string) string) string {
	return "python3 -c " + quote(fmt.Sprintf("import shardify; ds = shardify.open(%q); print(len(ds), ds[0])", folder))
}

func check(schema []shardify.Field, keyed bool, _ format.Options) error {
	_, err := index.NewLayout(schema, keyed)
	return err
}

// sampleBytes: a fixed schema takes exactly its decoded bytes. Variable length
// adds one offset per counter; further offsets of lists are part of the payload.
func sampleBytes(schema []shardify.Field, keyed bool) (fixed int64, factor float64) {
	l, err := index.NewLayout(schema, keyed)
	if err != nil {
		return 0, 1
	}
	for i := range l.Tensors {
		if l.Tensors[i].Lead == index.LeadOffsets {
			fixed += 8
		}
	}
	for i := range schema {
		if schema[i].Nullable {
			fixed++
		}
	}
	return fixed, 1
}

// scratchBytes: all behind the first tensor of unknown size waits for its place.
// Two tensors of variable length share the payload in unknown parts, so it counts
// in full then.
func scratchBytes(schema []shardify.Field, keyed, exact bool) (fixed int64, factor float64) {
	l, err := index.NewLayout(schema, keyed)
	if err != nil {
		return 0, 1
	}
	waiting := false
	for i := range l.Tensors {
		known := exact && l.Known(i)
		switch {
		case !waiting:
			waiting = !known
		case l.Known(i):
			fixed += l.Tensors[i].Row
		default:
			all, factor := sampleBytes(schema, keyed)
			return all, factor
		}
	}
	return fixed, 0
}
