package lmdb

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/lmdb/entries"
	"github.com/shardify/shardify/readers/lmdb/mdb"
	"github.com/shardify/shardify/readers/lmdb/values"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
)

var errState = shardify.Corrupt(-1, "survey of the plan: fields")

func (s *source) openFile(_ context.Context, f storage.File, in *set.Input) (*open1, error) {
	state, own, err := made.Cut(in.Blob)
	if err != nil {
		return nil, err
	}
	o := &open1{File: f}
	if o.plan, err = entries.Decode(state); err != nil {
		return nil, err
	}
	if json.Unmarshal(own, &o.own) != nil || o.plan.Samples() != in.Samples {
		return nil, errState
	}
	o.db, err = mdb.Open(f, f.Size())
	return o, err
}

// worker reads the spans of a reader.
type worker struct {
	open    *open1
	walk    *entries.Walker
	sinks   []sink
	scratch shardify.Scratch
}

// sink is where a field goes.
type sink struct {
	leaf
	column int
	lines.Collector
}

// Take implements set.Worker.
func (w *worker) Take(o *open1, in *set.Input, b *shardify.Batch) (err error) {
	w.open = o
	if w.walk, err = o.plan.NewWalker(o.db); err != nil {
		return err
	}
	w.sinks = w.sinks[:0]
	for i := range b.Columns {
		k := in.Field(i)
		if k < 0 {
			continue
		}
		if k >= len(o.own) || !o.own[k].fits(&b.Columns[i], len(o.plan.Parts)) {
			return errState
		}
		w.sinks = append(w.sinks, sink{leaf: o.own[k], column: i})
	}
	slices.SortStableFunc(w.sinks, func(a, b sink) int { return a.Part - b.Part })
	return nil
}

// fits reports whether a leaf of the plan is one that a survey makes for a column.
func (l *leaf) fits(c *shardify.Column, parts int) bool {
	if l.Part >= parts || l.Part < -1 || l.Part >= 0 && l.Kind == nil {
		return false
	}
	return l.DType == c.DType && l.Levels == c.Levels && l.Media == c.Media && slices.Equal(l.Shape, c.Shape) && l.Levels <= 1
}

// Drop implements set.Worker.
func (w *worker) Drop() { w.open, w.walk = nil, nil }

// Close implements set.Worker.
func (w *worker) Close() { w.scratch.Close() }

// Read implements set.Worker.
func (w *worker) Read(ctx context.Context, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	for i := range w.sinks {
		w.sinks[i].Reset()
	}
	for n := sp.Lo; n < sp.Hi; n++ {
		if n%256 == 0 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		if err := w.sample(n); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample = n })
		}
	}
	held := w.walk.Held()
	for i := range w.sinks {
		k := &w.sinks[i]
		c := &b.Columns[k.column]
		held += k.Held()
		data, ends := k.Move(mem)
		if c.Data = data; k.Levels > 0 {
			size := int64(c.ElemBytes())
			for i := range ends {
				ends[i] /= size
			}
			c.Offsets = [][]int64{ends}
		}
		if k.Media == "txt" {
			if err := rows.CheckText(c, sp.Lo); err != nil {
				return err
			}
		}
	}
	if err := w.scratch.Hold(ctx, mem, held); err != nil {
		return err
	}
	return w.walk.Unchanged()
}

// sample reads the entries of a sample.
func (w *worker) sample(n int64) error {
	part := -2
	var v []byte
	var datum values.ADatum
	for i := range w.sinks {
		k := &w.sinks[i]
		if at := max(k.Part, 0); at != part {
			if err := w.walk.To(n, at); err != nil {
				return err
			}
			part, v, datum = at, nil, values.ADatum{}
		}
		if k.Part < 0 {
			w.key(k, n)
			continue
		}
		var err error
		if k.Kind.Is == values.Bytes || k.Kind.Is == values.Text { // nothing to look at
			if k.Data, err = w.walk.Append(k.Data); err != nil {
				return err
			}
			k.End()
			continue
		}
		if v == nil {
			if v, err = w.walk.Load(); err != nil {
				return err
			}
		}
		if err := k.put(v, &datum); err != nil {
			return shardify.Amend(fmt.Errorf("%s: %w", w.walk.Describe(), err), func(e *shardify.Error) { e.Field = k.Name })
		}
		k.End()
	}
	return nil
}

func (w *worker) key(k *sink, n int64) {
	switch {
	case w.open.plan.Integer > 0:
		k.Data = binary.LittleEndian.AppendUint64(k.Data, entries.Int(w.walk.Key))
	case k.Levels == 0:
		k.Data = binary.LittleEndian.AppendUint64(k.Data, uint64(w.walk.Number(n)))
	case utf8.Valid(w.walk.Key):
		k.Data = append(k.Data, w.walk.Key...)
	default:
		k.Data = hex.AppendEncode(k.Data, w.walk.Key)
	}
	k.End()
}

// put stores a value, which must be what the plan found.
func (k *sink) put(v []byte, datum *values.ADatum) error {
	switch k.Kind.Is {
	case values.Numbers:
		if size := k.DType.Size(); len(v)%size != 0 || k.Levels == 0 && len(v) != k.ElemBytes() {
			return shardify.Mismatch("%d bytes, which are no %s%v", len(v), k.DType, k.Shape)
		}
	case values.Image, values.File:
		f := filekind.Of(v)
		if f == nil || k.Kind.Is == values.Image && !f.Image || k.Kind.Ext != "" && k.Kind.Ext != f.Exts[0] {
			return shardify.Mismatch("the value is %s, where the first ones are %s files; --value-type image takes images of any kind, --value-type bytes all", filekind.NameOf(v), k.Kind)
		}
	case values.Datum:
		if datum.Dims == [3]int{} && datum.Data == nil {
			var err error
			if *datum, err = values.ParseDatum(v); err != nil {
				return err
			}
			if got := datum.Kind(); got.Join(k.Kind) == nil {
				return shardify.Mismatch("the value is %s, where the first ones are %s; --value-type bytes takes all", got, k.Kind)
			}
		}
		if k.Of == "label" {
			k.Data = binary.LittleEndian.AppendUint64(k.Data, uint64(datum.Label))
			return nil
		}
		if v = datum.Data; len(datum.Floats) > 0 {
			v = datum.Floats
		}
	}
	k.Data = append(k.Data, v...)
	return nil
}
