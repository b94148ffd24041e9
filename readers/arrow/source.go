package arrow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for Arrow.
var Format = format.Input{
	Name: "arrow", Words: []string{"feather", "ipc"},
	Help:    "Arrow IPC files and streams, Feather version 2, data sets of Hugging Face on disk",
	Sniff:   sniff,
	StandIn: func(string) string { return "" }, // the folder of a set, for its manifest
	Options: options,
	Open:    open,
}

const (
	optText = "text"
	optEnd  = "end-mark"
)

var options = []format.Option{
	format.OptText,
	{Name: optEnd, Idle: format.Permission, Kind: format.KindEnum, Default: "any", Values: []string{"any", "required"}, Quiet: true,
		Help: "streams of Arrow without an end mark, as where a writer was stopped: read what there is, and say so, or refuse"},
	format.NullItems,
	survey.Option,
}

// setFormat is the format of sets of ours.
const setFormat = "arrow"

var ours = dataset.Sniffer(setFormat)

func sniff(head []byte, name string) bool {
	if ours(head, name) || strings.HasPrefix(string(head), magic) || strings.HasPrefix(string(head), "FEA1") {
		return true
	}
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".arrow" || ext == ".arrows" || ext == ".feather" || ext == ".ipc"
}

// source is many inputs as one table.
type source struct {
	*set.Table[*file]
	fs    storage.FS
	want  *columns.Wanted
	fill  bool
	bytes bool // texts are bytes
	ended bool // streams must have an end mark
	used  *format.Used
}

var errState = errors.New("the plan does not fit the file: other columns than at the survey")

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), fill: format.FillsItems(opts), bytes: opts[optText] == "bytes", ended: opts[optEnd] == "required", used: a.Used}
	if s.want, err = columns.New(a.Columns); err != nil {
		return nil, err
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: "Arrow", Look: s.look, Key: "1\x00" + opts[format.NullItems.Name] + "\x00" + opts[optText]})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := (&dataset.Besides{Format: setFormat}).Whole(ctx, a.Table); err != nil {
			return nil, err
		}
	}
	s.Table = set.NewTable(all, func(ctx context.Context, f storage.File, in *set.Input) (*file, error) {
		x, err := openFile(ctx, f)
		if err == nil && x.rows != in.Samples {
			return nil, errState
		}
		return x, err
	}, func() shardify.Reader { return set.NewReader(s.Table, &reader{s: s}) })
	return s, nil
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := openFile(ctx, f)
	if err != nil {
		return nil, err
	}
	found := s.choose(x, want)
	facts := &survey.Facts{Samples: x.rows, Size: f.Size(), Left: found.left, Void: found.void, Lines: x.describe()}
	if x.unended && s.ended {
		return nil, shardify.Corrupt(f.Size(), "the stream has no end mark behind its %d rows (--end-mark required)", x.rows)
	}
	if x.unended {
		facts.Remark = "no end mark, as where the writer of a stream was stopped (--end-mark required refuses it)"
	}
	nullable, bytes, packed, err := x.sizes(ctx, found.leaves)
	if err != nil {
		return nil, err
	}
	var coded []string
	for i := range found.leaves {
		f := found.leaves[i].field
		f.Nullable = nullable[i]
		if found.leaves[i].last().dict != nil && f.Media == "txt" && f.Levels == 1 {
			coded = append(coded, f.Name)
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: f, Bytes: bytes[i]})
	}
	if coded != nil {
		facts.Lines = append(facts.Lines, fmt.Sprintf("texts with a dictionary: %s; --encode FIELD makes codes with names of one", strings.Join(coded[:min(len(coded), 8)], ", ")))
	}
	for i := range x.batches {
		facts.Borders.At = append(facts.Borders.At, x.batches[i].first+x.batches[i].rows)
	}
	if !packed {
		facts.Borders.Inside = 1 // a compressed batch is decoded whole
	}
	return facts, nil
}

// choose finds the fields of a file that are wanted.
func (s *source) choose(f *file, want *columns.Wanted) fields {
	x := f.choose(func(name string) bool { hit, _ := want.Match(name); return hit })
	for i := range x.leaves {
		if l := &x.leaves[i]; s.bytes && l.field.Media == "txt" && l.form != decimalTextForm {
			l.field.Media = "bin"
			s.used.Mark(optText)
		}
	}
	return x
}

// sizes looks into the heads of batches: which fields have missing values, and about how many
// bytes they take.
func (f *file) sizes(ctx context.Context, leaves []leaf) (nullable []bool, bytes []int64, packed bool, err error) {
	nullable, bytes = make([]bool, len(leaves)), make([]int64, len(leaves))
	for i := range f.batches {
		if ctx.Err() != nil {
			return nil, nil, false, context.Cause(ctx)
		}
		b, err := f.open(&f.batches[i], f.fields, nil)
		if err != nil {
			return nil, nil, false, err
		}
		packed = packed || b.packed != packedNot
		for k := range leaves {
			l := &leaves[k]
			inner := false
			for _, c := range l.chain {
				p := b.places[c]
				if !inner {
					nullable[k] = nullable[k] || b.nodes[p.node].nulls > 0
				}
				last := p.buf + 2
				if c == l.last() {
					if last += p.views; l.form == textForm || l.form == largeForm {
						last++
					}
				}
				for n := p.buf + 1; n < min(last, len(b.bufs)) && c.kind != tStruct && c.kind != tFixedList; n++ {
					if b.packed == packedNot {
						bytes[k] += b.bufs[n].len
					} else {
						bytes[k] += 4 * b.bufs[n].len
					}
				}
				inner = inner || c.kind == tList || c.kind == tLargeList || c.kind == tMap || c.kind == tFixedList
			}
		}
	}
	return nullable, bytes, packed, nil
}

// reader reads spans. It keeps the batch that a span ends in for the next one.
type reader struct {
	s       *source
	file    *file
	leaves  []*leaf // by column of the schema; nil where nothing is read
	sinks   []sink
	batch   *batch
	number  int // of the batch in the file
	scratch shardify.Scratch
	extra   int64 // beside the batch and the sinks, of the current span
}

// Close implements set.Worker.
func (r *reader) Close() { r.scratch.Close() }

// Drop implements set.Worker.
func (r *reader) Drop() { r.file, r.leaves, r.sinks, r.batch = nil, nil, nil, nil }

func (r *reader) held() int64 {
	n := r.extra
	for i := range r.sinks {
		n += r.sinks[i].held()
	}
	if r.batch != nil {
		n += r.batch.bytes
	}
	return n
}

// Take implements set.Worker.
func (r *reader) Take(f *file, in *set.Input, b *shardify.Batch) error {
	r.file = f
	found := r.s.choose(f, r.s.want)
	r.leaves, r.sinks = make([]*leaf, len(b.Columns)), make([]sink, len(b.Columns))
	for i := range b.Columns {
		k, c := in.Field(i), &b.Columns[i]
		if k < 0 {
			continue
		}
		if k >= len(found.leaves) {
			return errState
		}
		if f := &found.leaves[k].field; f.Name != c.Name || f.DType != c.DType || f.Levels != c.Levels || !slices.Equal(f.Shape, c.Shape) {
			return errState
		}
		r.leaves[i] = &found.leaves[k]
	}
	return nil
}

// Read implements set.Worker.
func (r *reader) Read(ctx context.Context, _ *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	f := r.file
	r.extra = 0
	for i := range r.sinks {
		r.sinks[i].reset()
	}
	grow := func(more int64) error {
		r.extra += more
		return r.scratch.Hold(ctx, mem, r.held())
	}
	at := func(err error, i int) error {
		return shardify.Amend(err, func(e *shardify.Error) {
			if e.Field == "" {
				e.Field = b.Columns[i].Name
			}
		})
	}
	k := sort.Search(len(f.batches), func(k int) bool { return f.batches[k].first+f.batches[k].rows > sp.Lo })
	for row := sp.Lo; row < sp.Hi; k++ {
		if k == len(f.batches) {
			return errState
		}
		m := &f.batches[k]
		hi := min(sp.Hi, m.first+m.rows)
		if hi <= row {
			continue
		}
		if r.batch == nil || r.number != k {
			r.batch = nil
			x, err := f.open(m, f.fields, nil)
			if err != nil {
				return err
			}
			x.dicts = m.dicts
			r.batch, r.number = x, k
		}
		r.batch.grow = grow
		for i, l := range r.leaves {
			if l == nil {
				continue
			}
			if err := context.Cause(ctx); err != nil {
				return err
			}
			s := &r.sinks[i]
			if s.to == nil && s.rows == 0 && l.field.Levels == 0 {
				if err := r.batch.enough(l, hi-m.first); err != nil {
					return at(err, i)
				}
				s.to = mem.Alloc(b.Samples * b.Columns[i].ElemBytes())
			}
			if err := r.batch.read(l, row-m.first, hi-m.first, r.s.fill, s); err != nil {
				return at(err, i)
			}
		}
		row = hi
	}
	if err := r.finish(sp, b, mem); err != nil {
		return err
	}
	if r.extra = 0; r.held() > r.scratch.Share() { // decoded again, if need be
		r.batch = nil
	}
	return r.scratch.Hold(ctx, mem, r.held())
}

// enough refuses a column that has not the bytes for its rows, before memory is taken for them.
func (b *batch) enough(l *leaf, rows int64) error {
	p := b.places[l.last()]
	size, err := b.size(p.buf + 1)
	if err != nil {
		return err
	}
	per := int64(1)
	if l.last().dict == nil && l.form != boolForm {
		per = int64(l.width)
	} else if l.last().dict == nil {
		size *= 8
	}
	if rows*int64(l.elem) > size/per {
		return shardify.Corrupt(b.bufs[p.buf+1].off, "a buffer of %d bytes for %d rows", size, rows)
	}
	return nil
}

// finish makes columns of what was gathered.
func (r *reader) finish(sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	shared := map[string][]int64{}
	for i, l := range r.leaves {
		if l == nil {
			continue
		}
		c, s := &b.Columns[i], &r.sinks[i]
		if s.to != nil {
			if s.done != len(s.to) {
				return errState
			}
			c.Data = s.to
		} else {
			c.Data = mem.Alloc(len(s.data))
			copy(c.Data, s.data)
		}
		c.Offsets = make([][]int64, c.Levels)
		for v := range c.Offsets {
			o := shared[c.Counter]
			if v > 0 || c.Counter == "" || o == nil {
				o = mem.Int64s(len(s.ends[v]))
				copy(o, s.ends[v])
			} else if !slices.Equal(o, s.ends[0]) {
				e := shardify.Corrupt(-1, "its lists are not as long as those beside it")
				e.Field = c.Name
				return e
			}
			if c.Offsets[v] = o; v == 0 && c.Counter != "" {
				shared[c.Counter] = o
			}
		}
		if hasZero(s.valid) {
			if !c.Nullable {
				return errState
			}
			c.Valid = mem.Alloc(b.Samples)
			copy(c.Valid, s.valid)
		}
		if err := rows.CheckText(c, sp.Lo); err != nil {
			return err
		}
		s.to = nil
	}
	return nil
}
