// Package parquet writes Parquet files that the loaders of tables open: Hugging Face datasets, pyarrow,
// polars, DuckDB, pandas. A row is a sample.
//
//	column.go   columns and their levels: which parts of a row are there
//	file.go     pages, the foot of a file, what it says to Hugging Face and Arrow
//	thrift.go   the compact protocol, in which the foot is
//	sink.go     row groups, one after the other
//	finish.go   README.md for the whole set
//	verify.go   the check of a file
//	move.go     files that move into another set
//
// All parts of the schema are optional, as in files of pyarrow: Hugging Face compares types by that. A
// row group has one page for each column, so that a sample takes one read of each.
package parquet

import (
	"fmt"
	"path"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: "parquet", Words: []string{"huggingface", "hf", "pq"},
	Help:         "Parquet: tables for Hugging Face datasets, pyarrow, polars, DuckDB",
	Ext:          ext,
	Check:        check,
	SampleBytes:  sampleBytes,
	New:          newSink,
	Finish:       finish,
	FinishSplits: finishSplits,
	Move:         move,
	Verify:       verify,
	Owns:         func(name string) bool { return path.Base(name) == readme },
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
		if fixed++; c.media != "" {
			fixed += 4
		}
		if c.media == "" && c.dtype.Size() < 4 && c.dtype != shardify.Bool && c.dtype != shardify.F16 {
			factor = max(factor, float64(4/c.dtype.Size())) // whole numbers take 4 bytes or more
		}
		if c.labels != nil {
			fixed += 8
		}
	}
	return fixed, factor
}
