package rows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// The format of the example: a line of JSON, then the values of one field after the
// other; before the values of a jagged one the i64 ends of its lists.
type header struct {
	Samples int64
	Every   int64 // samples of a chunk
	Fields  []shardify.Field
	At      []int64 // byte of each field, counted from behind the line
	Bytes   []int64
}

// file is an open file; the readers of a source share it.
type file struct {
	storage.File
	header
	start int64
}

func openFile(f storage.File) (*file, error) {
	line := make([]byte, 1<<12)
	n, err := f.ReadAt(line, 0)
	end := bytes.IndexByte(line[:n], '\n')
	if end < 0 {
		return nil, shardify.Corrupt(0, "no header: %v", err)
	}
	x := &file{File: f, start: int64(end) + 1}
	if err := json.Unmarshal(line[:end], &x.header); err != nil {
		return nil, shardify.Corrupt(0, "header: %v", err)
	}
	return x, nil
}

// look is the survey of one file.
func look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, local.Files, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := openFile(f)
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: x.Samples, Size: f.Size(), Borders: set.Borders{Every: x.Every}}
	var places []int // in the file, of the wanted fields
	for i := range x.Fields {
		name := x.Fields[i].Name // a companion is wanted if its field is
		if hit, _ := want.Match(name, strings.TrimSuffix(name, shardify.ShapeSuffix)); hit {
			facts.Fields = append(facts.Fields, survey.Field{Field: x.Fields[i], Bytes: x.Bytes[i]})
			places = append(places, i)
		}
	}
	facts.Blob, err = json.Marshal(places)
	return facts, err
}

func open(ctx context.Context, a format.OpenArgs, f survey.Format) (shardify.Source, error) {
	var err error
	if a.Options, err = format.CheckOptions([]format.Option{survey.Option}, a.Options); err != nil {
		return nil, err
	}
	f.Name, f.Look = "example", look
	all, err := survey.Open(ctx, a, f)
	if err != nil {
		return nil, err
	}
	var t *set.Table[*file] // the whole Source
	t = set.NewTable(all, func(_ context.Context, f storage.File, _ *set.Input) (*file, error) { return openFile(f) },
		func() shardify.Reader { return set.NewReader(t, &worker{}) })
	return t, nil
}

// worker reads the spans of a Reader.
type worker struct {
	file   *file
	places []int
}

func (w *worker) Take(f *file, in *set.Input, _ *shardify.Batch) error {
	w.file = f
	if err := json.Unmarshal(in.Blob, &w.places); err != nil {
		return shardify.Corrupt(-1, "survey of the plan: %v", err)
	}
	return nil
}

func (w *worker) Drop()  { *w = worker{} }
func (w *worker) Close() {}

func (w *worker) Read(_ context.Context, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	for i := range b.Columns {
		k := in.Field(i)
		if k < 0 {
			continue // Finish makes it
		}
		if k >= len(w.places) || w.places[k] >= len(w.file.Fields) {
			return shardify.Corrupt(-1, "survey of the plan: field %d", k)
		}
		if err := w.file.read(w.places[k], sp, &b.Columns[i], mem); err != nil {
			return shardify.Annotate(err, "read", in.Name(), b.Columns[i].Name)
		}
	}
	return nil
}

// read fills a column with samples [sp.Lo, sp.Hi) of a field.
func (f *file) read(field int, sp shardify.Span, c *shardify.Column, mem *shardify.Arena) error {
	at, lo, hi := f.start+f.At[field], sp.Lo, sp.Hi
	if c.Levels > 0 {
		ends := mem.Int64s(int(hi-lo) + 1)
		if ends[0] = 0; lo > 0 {
			if _, err := f.ReadAt(shardify.Bytes(ends[:1]), at+(lo-1)*8); err != nil {
				return err
			}
		}
		if _, err := f.ReadAt(shardify.Bytes(ends[1:]), at+lo*8); err != nil {
			return err
		}
		at += f.Samples * 8
		lo, hi = ends[0], ends[hi-lo]
		for i := range ends {
			ends[i] -= lo
		}
		c.Offsets = [][]int64{ends}
	}
	size := int64(c.ElemBytes())
	c.Data = mem.Alloc(int((hi - lo) * size))
	_, err := f.ReadAt(c.Data, at+lo*size)
	if err == io.EOF {
		return shardify.Corrupt(at, "the file ends within field %s", c.Name)
	}
	return err
}

func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	table := &format.Table{Roots: []string{dir}}
	for i, d := range []shardify.DType{shardify.F32, shardify.F64} {
		x := shardify.Field{Name: "x", DType: d}
		n := writeFile(filepath.Join(dir, fmt.Sprint(i)), header{Samples: 4, Every: 2, Fields: []shardify.Field{x}}, 1)
		table.Append(0, fmt.Sprint(i), n, 0)
	}
	src, err := open(context.Background(), format.OpenArgs{Table: table}, survey.Format{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	fmt.Println(src.(format.Describer).Describe()[0])
	r, _ := src.Reader(0)
	for sp, err := range src.Spans(context.Background(), 16) {
		mem := shardify.NewPool(1 << 20).Overdraft()
		b, errRead := r.Read(context.Background(), sp, mem)
		if err != nil || errRead != nil {
			fmt.Println(err, errRead)
			return
		}
		fmt.Printf("input %d samples [%d, %d): %v\n", sp.Input, sp.Lo, sp.Hi, shardify.View[float64](b.Columns[0].Data))
		mem.Release()
	}
	// Output:
	// field x is widened to f64: f32 in 1 input (0), f64 in 1 input (1)
	// input 0 samples [0, 2): [1 2]
	// input 0 samples [2, 4): [3 4]
	// input 1 samples [0, 2): [1 2]
	// input 1 samples [2, 4): [3 4]
}
