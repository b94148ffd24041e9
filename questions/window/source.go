package window

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// Source is the windows of the rows of another source, for shards that have no rows to point at.
// Operations are done to the rows. The windows are those of the view that a set of the same rows
// has.
type Source struct {
	format.Around
	table  *format.Table
	spec   view.Spec
	flow   *flow.Flow
	axis   axisValues
	column int // of the axis in the rows, -1 without
	made   int // of the axis in the rows as operations leave them
	schema []shardify.Field
	sets   []rowSet
	inputs []inputRows
}

// rowSet is the rows of a split, in order.
type rowSet struct {
	view.Numbered
	samples *view.Samples
	units   []unit
	rows    int64
}

// unit is rows that are read at once.
type unit struct {
	span shardify.Span
	at   int64 // first row in the set
	all  int64 // first row among all
}

func (u *unit) end() int64 { return u.at + u.span.Samples() }

// inputRows are the rows of an input.
type inputRows struct {
	input     uint32
	set       int
	at, rows  int64 // in the set
	first, n  int64 // windows with an anchor in this input: number of the first one in the set, how many
	from, end int   // units in the set
}

// axisValues are the values of the axis of all rows, as the inputs have them.
type axisValues struct {
	data  []byte
	valid []byte // nil: all rows have a value
	rows  int64
}

// Open makes windows of the rows of a source, which it takes over unless there is an error. Of
// the plan it looks at what says how rows become windows; without a State, open opens the inputs
// for the axis alone.
func Open(ctx context.Context, rows shardify.Source, p *plan.Plan, compile flow.Compile, pool *shardify.Pool, open func(columns []string) (shardify.Source, error)) (*Source, error) {
	specs, err := view.ParseAll([]string{p.Asked.Windowing.Window})
	if err != nil {
		return nil, err
	}
	s := &Source{Around: format.Around{Rows: rows}, table: p.In.Table, spec: specs[0], column: -1, made: -1}
	if format.HasFiles(rows) {
		return nil, shardify.Unsupported("--window %s: the samples are files with names, and no rows in order", s.spec.Text)
	}
	if err := s.operations(p, compile); err != nil {
		return nil, err
	}
	if err := s.spec.Fits(s.flow.Schema); err != nil {
		return nil, err
	}
	if err := s.units(ctx, p.Splits.Rule); err != nil {
		return nil, err
	}
	if err := s.findAxis(ctx, p, pool, open); err != nil {
		return nil, err
	}
	return s, s.build()
}

// Look finds how many windows the rows of a plan without operations have, which a set is to keep
// as a view. open is that of Open.
func Look(ctx context.Context, rows shardify.Source, p *plan.Plan, spec view.Spec, pool *shardify.Pool, open func(columns []string) (shardify.Source, error)) (view.Found, error) {
	s := &Source{Around: format.Around{Rows: rows}, table: p.In.Table, spec: spec, column: -1, made: -1}
	err := s.operations(p, nil)
	if err == nil {
		err = spec.Fits(s.flow.Schema)
	}
	if err == nil {
		err = s.units(ctx, p.Splits.Rule)
	}
	if err == nil {
		err = s.findAxis(ctx, p, pool, open)
	}
	if err != nil {
		return view.Found{}, err
	}
	_, found, err := s.find()
	return found, err
}

// operations makes what is done to rows.
func (s *Source) operations(p *plan.Plan, compile flow.Compile) (err error) {
	keyed := false
	if k, ok := s.Rows.(format.Keyer); ok {
		keyed = k.Keyed()
	}
	of := &plan.Plan{Steps: plan.Steps{Ops: plan.OfRows(p.Steps.Ops), Helpers: p.Steps.Helpers}, Seed: p.Seed, Splits: plan.Splits{Rule: p.Splits.Rule}, In: plan.Inputs{Table: p.In.Table}, Sample: plan.Sample{Schema: s.Rows.Schema(), Keyed: keyed}}
	if s.flow, err = flow.New(of, compile); err != nil {
		return err
	}
	if err := s.flow.Chain(0); err != nil {
		return err
	}
	if s.flow.Surveys() || s.flow.Packer != nil || s.flow.MostCopies() > 1 {
		return shardify.Misuse("--window %s: operations that look at all samples first, or make several of one", s.spec.Text)
	}
	return nil
}

// units lists the rows, split by split.
func (s *Source) units(ctx context.Context, split *splits.Rule) error {
	s.sets = make([]rowSet, len(s.flow.Splits))
	all := int64(0)
	for sp, err := range s.Rows.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return err
		}
		if n := len(s.inputs); n == 0 || s.inputs[n-1].input != sp.Input {
			k := 0
			if split != nil {
				in := split.Inputs
				i := sort.Search(len(in), func(i int) bool { return in[i].Holds(shardify.ID{Input: sp.Input}) })
				if i == len(in) {
					return shardify.Mismatch("input %s belongs to no split", s.table.Name(int(sp.Input)))
				}
				if k = in[i].Part; k == splits.NoList {
					return shardify.Unsupported("--window with lists of names: %s is in none of them", s.table.Name(int(sp.Input)))
				}
			}
			s.inputs = append(s.inputs, inputRows{input: sp.Input, set: k, at: s.sets[k].rows, from: len(s.sets[k].units)})
		}
		in := &s.inputs[len(s.inputs)-1]
		set := &s.sets[in.set]
		set.units = append(set.units, unit{span: sp, at: set.rows, all: all})
		set.rows += sp.Samples()
		in.rows += sp.Samples()
		in.end = len(set.units)
		all += sp.Samples()
	}
	s.axis.rows = all
	return nil
}

// findAxis has the values of the axis from the plan, or else from the inputs.
func (s *Source) findAxis(ctx context.Context, p *plan.Plan, pool *shardify.Pool, open func([]string) (shardify.Source, error)) error {
	name := s.spec.Axis
	if name == "" {
		return s.restore(p.In.State, 0)
	}
	if s.column = shardify.FieldIndex(s.Rows.Schema(), name); s.column < 0 {
		return shardify.Misuse("--window %s: the inputs have no field %s; a field that operations make is not known before the rows are read", s.spec.Text, name)
	}
	s.made = shardify.FieldIndex(s.flow.Schema, name)
	f, as := s.Rows.Schema()[s.column], s.flow.Schema[s.made]
	if f.DType != as.DType || f.Attrs["time"] != as.Attrs["time"] {
		return s.changes()
	}
	if p.In.State != nil {
		return s.restore(p.In.State, f.DType.Size())
	}
	src, err := open([]string{name})
	if err != nil {
		return err
	}
	defer src.Close()
	c := shardify.FieldIndex(src.Schema(), name)
	if c < 0 || src.Schema()[c].DType != f.DType {
		return fmt.Errorf("field %s of the inputs alone is another one: %w", name, shardify.ErrChanged)
	}
	a := &s.axis
	rows := int64(0)
	err = key.ReadEach(ctx, src, plan.SpanBytes, pool, func(b *shardify.Batch) error {
		col := &b.Columns[c]
		if col.Valid != nil && a.valid == nil {
			a.valid = slices.Repeat([]byte{1}, int(rows))
		}
		switch {
		case col.Valid != nil:
			a.valid = append(a.valid, col.Valid...)
		case a.valid != nil:
			a.valid = append(a.valid, slices.Repeat([]byte{1}, b.Samples)...)
		}
		a.data = append(a.data, col.Data...)
		rows += int64(b.Samples)
		return nil
	})
	if err != nil {
		return s.table.Locate(err)
	}
	if rows != a.rows {
		return fmt.Errorf("%d values of %s for %d rows: %w", rows, name, a.rows, shardify.ErrChanged)
	}
	return nil
}

// changes refuses an axis that operations change.
func (s *Source) changes() error {
	return shardify.Misuse("--window %s: operations change field %s, by whose values windows are found before rows are read", s.spec.Text, s.spec.Axis)
}

// build makes samples of the windows of each split, and numbers them by input.
func (s *Source) build() error {
	views, found, err := s.find()
	if err != nil {
		return err
	}
	rows := int64(0)
	for k := range s.sets {
		set := &s.sets[k]
		set.Numbered = view.NewNumbered(views[k])
		if set.samples, err = view.NewSamples(s.flow.Schema, views[k]); err != nil {
			return err
		}
		rows += set.rows
	}
	s.schema = s.sets[0].samples.Schema
	for i := range s.inputs {
		in := &s.inputs[i]
		set := &s.sets[in.set]
		in.first = set.Below(in.at)
		in.n = set.Below(in.at+in.rows) - in.first
	}
	s.Says = append(s.Says, found.Note(&s.spec), s.sets[0].samples.Note(found.Windows, rows))
	return nil
}

// find finds the windows of each split, and what they are together.
func (s *Source) find() (views []*index.View, all view.Found, err error) {
	borders := make([][]int64, len(s.sets))
	for i := range s.inputs {
		if in := &s.inputs[i]; in.at > 0 {
			borders[in.set] = append(borders[in.set], in.at)
		}
	}
	for k := range s.sets {
		set := &s.sets[k]
		r := view.Rows{N: set.rows, Borders: borders[k]}
		if s.column >= 0 {
			f := s.flow.Schema[s.made]
			data, valid := s.axis.data, s.axis.valid
			if len(s.sets) > 1 {
				data, valid = s.axis.of(set, f.DType.Size())
			}
			r.Borders = nil
			r.Values, r.Nanos = view.Values(&f, data, valid)
		}
		v, found, err := s.spec.Build(r)
		if err != nil {
			return nil, all, err
		}
		views = append(views, v)
		all.Windows, all.ByPosition, all.Gaps = all.Windows+found.Windows, all.ByPosition+found.ByPosition, all.Gaps+found.Gaps
	}
	return views, all, nil
}

// of are the values of the rows of a split.
func (a *axisValues) of(set *rowSet, size int) (data, valid []byte) {
	for i := range set.units {
		u := &set.units[i]
		lo, hi := u.all, u.all+u.span.Samples()
		data = append(data, a.data[lo*int64(size):hi*int64(size)]...)
		if a.valid != nil {
			valid = append(valid, a.valid[lo:hi]...)
		}
	}
	return data, valid
}

// Schema implements shardify.Source.
func (s *Source) Schema() []shardify.Field { return slices.Clone(s.schema) }

// Spans implements shardify.Source: windows by the input that their anchor is in. Those of a
// stream of rows are a run as it is.
func (s *Source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	each := s.sets[0].samples.Bytes()
	step := max(target/max(each, 1), 1)
	return func(yield func(shardify.Span, error) bool) {
		for i := range s.inputs {
			in := &s.inputs[i]
			set := &s.sets[in.set]
			for lo := int64(0); lo < in.n; {
				hi := min(lo+step, in.n)
				run, until := set.run(in.first + lo)
				if run > 0 {
					hi = min(hi, max(set.Below(until)-in.first, lo+1))
				}
				if err := ctx.Err(); err != nil {
					yield(shardify.Span{}, err)
					return
				}
				if !yield(shardify.Span{Input: in.input, Run: run, Lo: lo, Hi: hi, Bytes: (hi - lo) * each}, nil) {
					return
				}
				lo = hi
			}
		}
	}
}

// unitAt is the unit that a row is in.
func (set *rowSet) unitAt(row int64) int {
	return sort.Search(len(set.units), func(k int) bool { return set.units[k].end() > row })
}

// run is the run that the anchor of a window is in, and the row behind the unit with it.
func (set *rowSet) run(window int64) (run uint32, until int64) {
	var one [1]int64
	u := &set.units[set.unitAt(set.Rows(one[:0], window, window+1)[0])]
	return u.span.Run, u.end()
}

const stateVersion = 1

// State implements format.Stater: the values of the axis, from which all else follows. Those of
// most axes rise evenly.
func (s *Source) State() ([]byte, error) {
	inner, err := s.InnerState()
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint([]byte{stateVersion}, uint64(len(inner)))
	b = append(b, inner...)
	b = binary.AppendUvarint(b, uint64(s.axis.rows))
	if s.column < 0 {
		return b, nil
	}
	b = binary.AppendUvarint(b, uint64(len(s.axis.valid)))
	b = append(b, s.axis.valid...)
	size := s.Rows.Schema()[s.column].DType.Size()
	var last, step uint64
	for i := 0; i < len(s.axis.data); i += size {
		x := word(s.axis.data[i : i+size])
		b = binary.AppendVarint(b, int64(x-last-step))
		last, step = x, x-last
	}
	return b, nil
}

// word is a number of up to eight bytes.
func word(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// Inner is the state of the rows in one of windows; nil without one.
func Inner(state []byte) ([]byte, error) {
	r := stateReader(state)
	inner := r.Bytes(r.U())
	if r.Bad || len(state) == 0 || state[0] != stateVersion {
		return nil, shardify.Corrupt(-1, "the plan has no state of windows")
	}
	if len(inner) == 0 {
		return nil, nil
	}
	return inner, nil
}

func stateReader(state []byte) varint.Reader { return varint.Reader{B: state[min(1, len(state)):]} }

// restore reads the values of the axis.
func (s *Source) restore(state []byte, size int) error {
	if state == nil {
		return nil
	}
	if _, err := Inner(state); err != nil {
		return err
	}
	r := stateReader(state)
	r.Bytes(r.U())
	a := &s.axis
	if rows := r.U(); rows != uint64(a.rows) || r.Bad {
		return fmt.Errorf("%d rows, and %d when the plan was made: %w", a.rows, rows, shardify.ErrChanged)
	}
	if size == 0 {
		return nil
	}
	a.valid = r.Bytes(r.U())
	if n := int64(len(a.valid)); n != 0 && n != a.rows || a.rows > int64(len(r.B)) {
		return shardify.Corrupt(-1, "the state of windows is cut off")
	}
	if len(a.valid) == 0 {
		a.valid = nil
	}
	a.data = make([]byte, a.rows*int64(size))
	var last, step uint64
	var w [8]byte
	for i := 0; i < len(a.data); i += size {
		x := last + step + uint64(r.I())
		binary.LittleEndian.PutUint64(w[:], x)
		copy(a.data[i:i+size], w[:size])
		last, step = word(w[:size]), word(w[:size])-last
	}
	if r.Bad || len(r.B) > 0 {
		return shardify.Corrupt(-1, "the state of windows is cut off")
	}
	return nil
}

// Close implements shardify.Source.
func (s *Source) Close() error { return s.Rows.Close() }
