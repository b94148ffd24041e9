// Package parquet writes Parquet files that the loaders of tables open: Hugging Face datasets, pyarrow,
// polars, DuckDB, pandas. A row is a sample.
//
// Package table has the columns.
//
//	column.go   levels of columns: which parts of a row are there
//	file.go     pages, the foot of a file, what it says to Hugging Face and Arrow
//	thrift.go   the compact protocol, in which the foot is
//	sink.go     row groups, one after the other
//	verify.go   the check of a file
//	move.go     files that move into another set
//
// All parts of the schema are optional, as in files of pyarrow: Hugging Face compares types by that. A
// row group has one page for each column, so that a sample takes one read of each.
package parquet

import (
	"context"
	"fmt"
	"path"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/table"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: "parquet", Words: []string{"huggingface", "hf", "pq"},
	Help:        "Parquet: tables for Hugging Face datasets, pyarrow, polars, DuckDB",
	Ext:         ext,
	Check:       check,
	SampleBytes: sampleBytes,
	New:         newSink,
	Finish: func(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
		f, err := table.Card(ctx, store, set, ext)
		return []shardify.File{f}, err
	},
	FinishSplits: func(ctx context.Context, store storage.Store, splits []format.FinishedSplit) ([]shardify.File, error) {
		f, err := table.CardOfSplits(ctx, store, splits, ext)
		return []shardify.File{f}, err
	},
	Move:   move,
	Verify: verify,
	Owns:   func(name string) bool { return path.Base(name) == table.CardName },
	Hint: func(folder string, quote func(string) string) string {
		return "python3 -c " + quote(fmt.Sprintf("import datasets; ds = datasets.load_dataset(%q); print(ds)", folder))
	},
}

const ext = ".parquet"

func check(schema []shardify.Field, keyed bool, _ format.Options) error {
	_, err := plan(schema, keyed)
	return shardify.Annotate(err, "write parquet", "", "")
}

// sampleBytes: lengths of texts, levels, and a part of the foot.
func sampleBytes(schema []shardify.Field, keyed bool) (fixed int64, factor float64) {
	cols, err := plan(schema, keyed)
	if err != nil {
		return 0, 1
	}
	factor = 1
	for i := range cols {
		c := &cols[i]
		if fixed++; c.Media != "" {
			fixed += 4
		}
		if c.Media == "" && c.DType.Size() < 4 && c.DType != shardify.Bool && c.DType != shardify.F16 {
			factor = max(factor, float64(4/c.DType.Size())) // whole numbers take 4 bytes or more
		}
		if c.Labels != nil {
			fixed += 8
		}
	}
	return fixed, factor
}
