// Package arrow writes IPC files and streams of Apache Arrow, which Hugging Face datasets, pyarrow, polars
// and DuckDB map into memory: their buffers begin at multiples of 64 bytes and are not compressed. A row
// is a sample.
//
//	layout.go  the parts of a file around its batches
//	column.go  the buffers of a column
//	sink.go    batches, one after the other
//	finish.go  what loaders want beside the files
//	verify.go  the check of a file
//	move.go    files that move into another set
//
// Package table has the types of columns, and index/arrow the messages.
package arrow

import (
	"fmt"
	"path"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/writers/table"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: "arrow", Words: []string{"feather", "ipc"},
	Help: "Arrow IPC: tables that datasets, pyarrow and polars map into memory",
	Ext:  ext,
	Options: []format.Option{
		{Name: optForm, Idle: format.Always, Kind: format.KindEnum, Default: "file", Values: []string{"file", "stream"}, Help: "Arrow files, or streams as datasets.load_from_disk and Dataset.from_file want them"},
	},
	Check: func(schema []shardify.Field, keyed bool, _ format.Options) error {
		_, err := table.Plan(title, schema, keyed)
		return shardify.Annotate(err, "write arrow", "", "")
	},
	SampleBytes:  sampleBytes,
	New:          newSink,
	Finish:       finish,
	FinishSplits: finishSplits,
	Move:         move,
	Verify:       verify,
	Owns: func(name string) bool {
		base := path.Base(name)
		return base == table.CardName || base == stateName || base == infoName || base == dictName
	},
	Hint: func(folder string, quote func(string) string) string {
		return "python3 -c " + quote(fmt.Sprintf("import datasets; ds = datasets.load_dataset(%q); print(ds)", folder))
	},
}

const (
	ext     = ".arrow"
	optForm = "arrow-form"
	title   = "Arrow"
)

// sampleBytes: places of texts and lists, and marks of what is missing.
func sampleBytes(schema []shardify.Field, keyed bool) (fixed int64, factor float64) {
	cols, err := table.Plan(title, schema, keyed)
	if err != nil {
		return 0, 1
	}
	for i := range cols {
		c := &cols[i]
		if fixed++; c.Size == 0 {
			fixed += 4
		}
		if c.File {
			fixed += 5
		}
		if c.Labels != nil {
			fixed += 8
		}
	}
	return fixed, 1
}
