package load

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
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

// ReadLengths gives do what a field counts of each sample, in order: the elements of a list, the bytes
// of a text, or the value of a label.
func ReadLengths(sets []*dataset.Set, f *shardify.Field, do func([]int64)) error {
	if f.Levels == 0 && !IsLabel(f) {
		return shardify.Mismatch("budget: field %s is neither a list, nor a text, nor a scalar integer without missing values", f.Name)
	}
	l, t, err := one(sets, f, VerifyNone)
	if err != nil {
		return err
	}
	defer l.Close()
	defer t.Close()
	for runs, from := l.All(), int64(0); len(runs) > 0; {
		n, rows := 0, int64(0)
		for n < len(runs) && rows < lengthRows {
			runs[n].Row = rows
			rows += runs[n].Hi - runs[n].Lo
			n++
		}
		list, err := l.lengthsOf(t, f, rows, runs[:n])
		if err != nil {
			return err
		}
		for k, v := range list {
			if v < 0 || v == math.MaxInt64 {
				return shardify.Mismatch("budget: sample %d has %d of %s: want 0 or more", from+int64(k), v, f.Name)
			}
		}
		do(list)
		runs, from = runs[n:], from+rows
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
