// Package labels reads tables of labels (CSV, TSV, JSON lines, Parquet) and joins them
// to samples by name.
//
//	t, err := labels.Read(ctx, local.Files, "labels.csv", "file")
//	j, err := t.Join(samples, names)         // names(k, do) gives do the names of sample k
//	col := j.Columns[0].Batch(lo, hi, mem)   // the values of samples [lo, hi)
//
// Types are inferred from all values of a column: whole numbers, numbers, text, in
// this order. What was joined is part of a source's state, so that the bytes that are
// written depend on the labels and not on where they stood.
package labels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// maxFile bounds a table: it is held in memory as a whole.
const maxFile = 2 << 30

// Table is a table of labels.
type Table struct {
	File    string
	Key     string
	Columns []Column // without the key
	// Left names columns that cannot be labels, and why.
	Left []format.Leftover
	keys []string // of each row, as in the file
}

// Column has a value for each row, or, after Join, for each sample.
type Column struct {
	Field   shardify.Field
	ints    []int64 // of whole numbers and booleans
	floats  []float64
	texts   []string
	missing []bool // nil: none
}

// Extensions are those of the files that can be read.
var Extensions = []string{".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}

// IsTable tells whether a name has one of the Extensions.
func IsTable(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	for _, e := range Extensions {
		if ext == e {
			return true
		}
	}
	return false
}

// Read reads a table. key is the column with the names of samples.
func Read(ctx context.Context, fs storage.FS, name, key string) (*Table, error) {
	t, err := read(ctx, fs, name, key)
	if err != nil {
		return nil, shardify.Annotate(err, "read", name, "")
	}
	return t, nil
}

func read(ctx context.Context, fs storage.FS, name, key string) (*Table, error) {
	f, err := fs.Open(ctx, name)
	if errors.Is(err, storage.ErrNotFile) {
		return nil, shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > maxFile {
		return nil, shardify.Unsupported("a table of labels of %s; at most %s are read", shardify.FormatSize(f.Size()), shardify.FormatSize(maxFile))
	}
	in := &whole{f: f}
	t := &Table{File: name, Key: key}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv":
		err = t.separated(ctx, in, ',')
	case ".tsv":
		err = t.separated(ctx, in, '\t')
	case ".jsonl", ".ndjson":
		err = t.jsonLines(ctx, in)
	case ".parquet":
		err = t.parquet(ctx, fs, f.Stamp())
	default:
		err = shardify.Unsupported("labels in a file %s; %s are read", ext, strings.Join(Extensions, ", "))
	}
	if in.err != nil { // not the text is bad
		return nil, in.err
	}
	if err != nil {
		return nil, err
	}
	if len(t.keys) == 0 {
		return nil, shardify.Mismatch("no row of labels")
	}
	if len(t.Columns) == 0 {
		return nil, shardify.Mismatch("no column of labels beside %s%s", key, t.why())
	}
	for i := range t.Columns {
		if err := shardify.ValidName(t.Columns[i].Field.Name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// whole reads a file once, to the end that it had when it was opened, and remembers what
// went wrong: parsers take it for damage of the text, or for its end.
type whole struct {
	f   storage.File
	at  int64
	err error
}

func (w *whole) Read(b []byte) (int, error) {
	left := w.f.Size() - w.at
	if left == 0 || w.err != nil {
		return 0, cmp.Or(w.err, io.EOF)
	}
	n, err := w.f.ReadAt(b[:min(int64(len(b)), left)], w.at)
	at := w.at
	w.at += int64(n)
	switch {
	case int64(n) == min(int64(len(b)), left):
		return n, nil
	case err == nil || err == io.EOF:
		w.err = shardify.Corrupt(w.at, "the file ends here, it had %d bytes", w.f.Size())
	default:
		w.err = &shardify.Error{Sample: -1, Offset: at, Err: err}
	}
	return n, w.err
}

// why says what was left out.
func (t *Table) why() string {
	if len(t.Left) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", t.Left[0].Name, t.Left[0].Reason)
}

// noKey is the error about a key that is none of the columns.
func noKey(key string, columns []string) error {
	const most = 12
	names := strings.Join(columns[:min(len(columns), most)], ", ")
	if len(columns) > most {
		names += ", ..."
	}
	if key == "" {
		return shardify.Mismatch("--key COLUMN must say which column has the names of the samples: %s", names)
	}
	return shardify.Mismatch("no column %q; there is %s", key, names)
}
