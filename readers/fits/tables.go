package fits

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/hdu"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// source is the tables of many files as one.
type source struct {
	*set.Table[*table]
	fs   storage.FS
	o    format.Options
	want *columns.Wanted
	used *format.Used
}

// table is the table of an open file.
type table struct {
	*contents
	*hdu.Table
	file  storage.File
	text  bool     // an ASCII table
	given []string // the names of its columns in the file
}

func (t *table) Close() error { return t.file.Close() }

func (s *source) open(ctx context.Context, a format.OpenArgs, f survey.Format) error {
	all, err := survey.Open(ctx, a, f)
	if err != nil {
		return err
	}
	s.Table = set.NewTable(all, func(_ context.Context, f storage.File, in *set.Input) (*table, error) {
		t, err := s.read(f, in.Blob)
		if err != nil {
			return nil, err
		}
		if t.Rows != in.Samples {
			return nil, errChanged
		}
		if x := t.chosen[0]; s.o[optSums] != "off" && x.Summed() && !t.Packed {
			if err := x.SumData(t.file); err != nil {
				return nil, shardify.Annotate(err, "read", "", x.String())
			}
		}
		return t, nil
	}, func() shardify.Reader { return set.NewReader(s.Table, &worker{s: s}) })
	return nil
}

var errChanged = fmt.Errorf("%w: it has another table", shardify.ErrChanged)

// read finds the table of a file; blob is the number of its HDU in a plan, nil before.
func (s *source) read(f storage.File, blob []byte) (*table, error) {
	c, err := newContents(f, f.Size())
	if err != nil {
		return nil, err
	}
	if blob == nil {
		err = c.choose(s.o)
	} else if n, k := binary.Uvarint(blob); k != len(blob) || n >= uint64(len(c.HDUs)) {
		err = errChanged
	} else {
		c.chosen = []*hdu.HDU{&c.HDUs[n]}
	}
	if err != nil {
		return nil, err
	}
	x := c.chosen[0]
	if !isTable(x) {
		return nil, shardify.Unsupported("%s, where other files have a table", describe(x))
	}
	t := &table{contents: c, file: f, text: x.Kind == hdu.Texts}
	if t.Table, err = x.Table(); err != nil {
		return nil, shardify.Annotate(err, "", "", x.String())
	}
	for i := range t.Columns {
		f := &t.Columns[i].Field
		if f.Media == "txt" && s.o[format.OptText.Name] == "bytes" {
			f.Media = "bin"
		}
		t.given = append(t.given, f.Name)
		f.Name = format.PlainName(f.Name)
	}
	return t, nil
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := s.read(f, nil)
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: t.Rows, Size: f.Size(), Borders: set.Borders{Every: 1}, Blob: binary.AppendUvarint(nil, uint64(t.chosen[0].Index)), Lines: []string{describe(t.chosen[0])}}
	if len(t.Notes) > 0 {
		facts.Remark = t.Notes[0]
	}
	if t.Packed {
		facts.Borders = set.Borders{}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if hit, _ := want.Match(t.given[i]); !hit {
			continue
		}
		if c.Left != "" {
			facts.Left = append(facts.Left, format.Leftover{Name: c.Field.Name, Reason: c.Left})
			continue
		}
		if c.Field.Media == "bin" {
			s.used.Mark(format.OptText.Name)
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: c.Field, Bytes: c.Bytes})
	}
	return facts, nil
}

// worker reads the spans of one reader.
type worker struct {
	s       *source
	t       *table
	columns []*hdu.Column // by column of the schema; nil where nothing is read
	parts   []part
	block   []byte
	data    io.ReaderAt // of the file; nil before it is unpacked
	scratch shardify.Scratch
}

// part gathers a column whose values vary in length.
type part struct {
	data []byte
	ends [2][]int64
}

// Close implements set.Worker.
func (w *worker) Close() { w.scratch.Close() }

// Drop implements set.Worker.
func (w *worker) Drop() { w.t, w.data, w.columns = nil, nil, nil }

// Take implements set.Worker.
func (w *worker) Take(t *table, in *set.Input, b *shardify.Batch) error {
	w.t, w.columns, w.parts = t, make([]*hdu.Column, len(b.Columns)), make([]part, len(b.Columns))
	for i := range b.Columns {
		if in.Field(i) < 0 {
			continue
		}
		for k := range t.Columns {
			if c := &t.Columns[k]; c.Field.Name == b.Columns[i].Name && c.Left == "" {
				w.columns[i] = c
			}
		}
		c, want := w.columns[i], &b.Columns[i]
		if c == nil || c.Field.DType != want.DType || c.Field.Levels != want.Levels || c.Field.ElemBytes() != want.ElemBytes() {
			return errChanged
		}
	}
	return nil
}

// rowsAtOnce is about how many bytes of rows are read at once; they stay in the cache.
const rowsAtOnce = 256 << 10

// Read implements set.Worker.
func (w *worker) Read(ctx context.Context, _ *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) (err error) {
	t := w.t
	if w.data == nil {
		if w.data, err = t.Plain(func(n int64) error { return w.scratch.Hold(ctx, mem, n) }); err != nil {
			return err
		}
		if t.Packed && w.s.o[optSums] != "off" && t.chosen[0].Summed() {
			if err := t.chosen[0].SumData(w.data); err != nil {
				return err
			}
		}
	}
	step := max(rowsAtOnce/max(t.Width, 1), 1)
	if need := min(step, sp.Samples()) * t.Width; int64(len(w.block)) < need {
		w.block = make([]byte, need)
	}
	for i, c := range w.columns {
		if c == nil {
			continue
		}
		if w.parts[i].reset(); c.Field.Levels == 0 {
			b.Columns[i].Data = mem.Alloc(b.Samples * c.Field.ElemBytes())
			if c.Field.Nullable {
				b.Columns[i].Valid = mem.Alloc(b.Samples)
			}
		}
	}
	for lo := sp.Lo; lo < sp.Hi; lo += step {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(step, sp.Hi-lo)
		block := w.block[:n*t.Width]
		if err := readat.Full(w.data, block, t.RowsAt(lo)); err != nil {
			return err
		}
		for i, c := range w.columns {
			if c == nil {
				continue
			}
			if err := w.column(c, &b.Columns[i], &w.parts[i], block, int(n), lo, int(lo-sp.Lo)); err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Field = c.Field.Name })
			}
		}
	}
	for i, c := range w.columns {
		if c != nil && c.Field.Levels > 0 {
			w.parts[i].give(&b.Columns[i], mem)
			if err := rows.CheckText(&b.Columns[i], sp.Lo); err != nil {
				return err
			}
		}
	}
	return nil
}

// column reads n rows of a column, of which the first is row lo of the file and row at of the batch.
func (w *worker) column(c *hdu.Column, to *shardify.Column, p *part, block []byte, n int, lo int64, at int) error {
	v := hdu.Values{Fill: format.FillsItems(w.s.o), Ints: func(n int) []int64 { return make([]int64, n) }}
	if c.Field.Levels > 0 {
		v.Alloc = func(n int) []byte { return make([]byte, n) }
	} else {
		size := c.Field.ElemBytes()
		v.Data = to.Data[at*size : (at+n)*size]
		if to.Valid != nil {
			v.Valid = to.Valid[at : at+n]
		}
	}
	var err error
	if w.t.text {
		err = w.t.ReadText(c, block, n, lo, &v)
	} else {
		err = w.t.Table.Read(w.data, c, block, n, lo, &v)
	}
	if err == nil && c.Field.Levels > 0 {
		p.add(&v)
	}
	return err
}

func (p *part) reset() {
	p.data = p.data[:0]
	for i := range p.ends {
		p.ends[i] = append(p.ends[i][:0], 0)
	}
}

// add appends the values of some rows.
func (p *part) add(v *hdu.Values) {
	p.data = append(p.data, v.Data...)
	for level, ends := range v.Offsets {
		base := p.ends[level][len(p.ends[level])-1]
		for _, e := range ends[1:] {
			p.ends[level] = append(p.ends[level], base+e)
		}
	}
}

// give makes a column of what was gathered.
func (p *part) give(c *shardify.Column, mem *shardify.Arena) {
	c.Data = mem.Alloc(len(p.data))
	copy(c.Data, p.data)
	c.Offsets = make([][]int64, c.Levels)
	for level := range c.Offsets {
		c.Offsets[level] = mem.Int64s(len(p.ends[level]))
		copy(c.Offsets[level], p.ends[level])
	}
}
