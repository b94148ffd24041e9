package load

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/cost"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
)

// All is all samples.
func (s *Shards) All() (runs []Run) {
	const step = 64 << 10
	for _, sh := range s.Shards {
		for lo := int64(0); lo < sh.Record.Samples; lo += step {
			runs = append(runs, Run{Sh: sh, Lo: lo, Hi: min(lo+step, sh.Record.Samples), Row: sh.Lo + lo})
		}
	}
	return runs
}

// IsLabel reports a scalar field of whole numbers, each sample with one.
func IsLabel(f *shardify.Field) bool {
	return f.Levels == 0 && f.Elem() == 1 && len(f.Shape) == 0 && !f.Nullable && (f.DType.IsInt() || f.DType == shardify.Bool)
}

// one opens the shards of some sets for one field.
func one(sets []*dataset.Set, f *shardify.Field, verify Verify) (*Reader, *Table, error) {
	layout, err := index.NewLayout([]shardify.Field{*f}, false)
	if err != nil {
		return nil, nil, err
	}
	s, err := NewShards(sets, layout, verify)
	if err != nil {
		return nil, nil, err
	}
	return &Reader{Shards: s, Crew: NewCrew(min(runtime.GOMAXPROCS(0), 16) - 1)}, NewTable(layout, HostMemory{}, nil), nil
}

// ReadFixed reads a field of fixed size of some runs, and which rows have a value: nil is all.
func ReadFixed(sets []*dataset.Set, f *shardify.Field, runs func(*Shards) []Run, rows int64, verify Verify) (values, valid []byte, err error) {
	l, t, err := one(sets, f, verify)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	defer t.Close()
	if err := l.Load(context.Background(), t, rows, runs(l.Shards)); err != nil {
		return nil, nil, err
	}
	c := &l.Layout.Columns[0]
	if c.Valid >= 0 {
		valid = slices.Clone(t.Bytes(c.Valid))
	}
	return slices.Clone(t.Bytes(c.Values)), valid, nil
}

// lengthRows is of how many samples lengths are read at a time, several runs at once.
const lengthRows = 4 << 20

// ReadLengths gives do what a cost is of each sample, in order. A field counts the elements of a list, the bytes
// of a text, or the value of a label.
func ReadLengths(sets []*dataset.Set, c *cost.Cost, do func([]int64)) error {
	readers, tables, all := make([]*Reader, len(c.Fields)), make([]*Table, len(c.Fields)), make([][]Run, len(c.Fields))
	for k := range c.Fields {
		f := &c.Fields[k]
		if f.Levels == 0 && !IsLabel(f) {
			return shardify.Mismatch("budget: field %s is neither a list, nor a text, nor a scalar integer without missing values", f.Name)
		}
		l, t, err := one(sets, f, VerifyNone)
		if err != nil {
			return err
		}
		defer l.Close()
		defer t.Close()
		readers[k], tables[k], all[k] = l, t, l.All()
	}
	lists, costs := make([][]int64, len(c.Fields)), []int64(nil)
	for at, from := 0, int64(0); at < len(all[0]); {
		n, rows := at, int64(0)
		for n < len(all[0]) && rows < lengthRows {
			for k := range all { // all fields have the same runs
				all[k][n].Row = rows
			}
			rows += all[0][n].Hi - all[0][n].Lo
			n++
		}
		for k := range lists {
			var err error
			if lists[k], err = readers[k].lengthsOf(tables[k], &c.Fields[k], rows, all[k][at:n]); err != nil {
				return err
			}
			for i, v := range lists[k] {
				if v < 0 || v == math.MaxInt64 {
					return shardify.Mismatch("budget: sample %d has %d of %s: want 0 or more", from+int64(i), v, c.Fields[k].Name)
				}
			}
		}
		costs = slices.Grow(costs[:0], int(rows))[:rows]
		if i := c.Of(costs, lists); i >= 0 {
			return shardify.Mismatch("budget: sample %d has 2^63 or more of %s", from+int64(i), c.Text)
		}
		do(costs)
		at, from = n, from+rows
	}
	return nil
}

func (l *Reader) lengthsOf(t *Table, f *shardify.Field, rows int64, runs []Run) ([]int64, error) {
	c := &l.Layout.Columns[0]
	if f.Levels == 0 {
		if err := l.Load(context.Background(), t, rows, runs); err != nil {
			return nil, err
		}
		return view.Ints(t.Bytes(c.Values), f.DType), nil
	}
	if err := l.measure(context.Background(), t, rows, runs); err != nil {
		return nil, err
	}
	list := t.Int64s(c.Offsets)
	for k := range rows { // in place: offsets become lengths
		list[k] = list[k+1] - list[k]
	}
	return list[:rows], nil
}
