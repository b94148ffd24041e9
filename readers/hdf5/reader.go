package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// input is an open file with the places of the set's fields in it.
type input struct {
	*file
	blob    blob
	rules   typeRules
	fields  []place // by field of the file
	samples int64
	groups  func() ([]string, error) // the sample groups, in order
}

// place is where a field comes from.
type place struct {
	object int // in the blob
	leaf   int // of the object's leaves; of a ragged field's shape, -1
}

// openInput implements the handles' open. The blob may come from a damaged plan.
func (s *source) openInput(ctx context.Context, osf *os.File, in *rows.Input) (*input, error) {
	f, err := newFile(osf, in.Size, in.Path(), s.opts.external)
	if err != nil {
		return nil, err
	}
	i := &input{file: f, samples: in.Samples, rules: typeRules{media: s.opts.media, refSize: f.h5.RefSize()}}
	if err := json.Unmarshal(in.Blob, &i.blob); err != nil {
		return nil, shardify.Corrupt(-1, "state of HDF5 inputs: %v", err)
	}
	root, err := f.h5.Object(f.h5.Root, "/")
	if err != nil {
		return nil, err
	}
	kind := conventionOf(f, root)
	i.rules.pytables = kind.pytables
	for k, o := range i.blob.Objects {
		for _, leaf := range o.Leaves {
			i.fields = append(i.fields, place{k, leaf})
			if o.Ragged {
				i.fields = append(i.fields, place{k, -1})
			}
		}
	}
	i.groups = sync.OnceValues(i.listGroups)
	return i, nil
}

// listGroups finds the sample groups again, in natural order.
func (i *input) listGroups() ([]string, error) {
	b := &i.blob
	found, err := i.h5.Lookup(cmpPath(b.Parent))
	if err != nil {
		return nil, err
	}
	o, err := i.h5.Object(found.Addr, b.Parent)
	if err != nil {
		return nil, err
	}
	links, err := o.Children()
	if err != nil {
		return nil, err
	}
	var names []string
	for k := range links {
		stem, numbered := stemOf(links[k].Name)
		if links[k].Kind == h5.HardLink && links[k].Err == nil && (!b.Number || numbered && stem == b.Stem) {
			names = append(names, links[k].Name)
		}
	}
	if int64(len(names)) != i.samples && len(b.Objects) > 0 { // others stand among them
		names = slices.DeleteFunc(names, func(name string) bool {
			_, err := i.h5.Lookup(b.Parent + "/" + name + "/" + b.Objects[0].Path)
			return err != nil
		})
	}
	if int64(len(names)) != i.samples {
		return nil, errChanged("%d sample groups, had %d", len(names), i.samples)
	}
	slices.SortFunc(names, natural)
	return names, nil
}

func errChanged(format string, args ...any) error {
	return fmt.Errorf("changed since the plan: it has %s", fmt.Sprintf(format, args...))
}

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("hdf5: there is no run %d", run)
	}
	return &reader{src: s}, nil
}

type reader struct {
	src    *source
	work   work
	data   [][]byte // the columns' buffers, from the current sample on
	closed bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.closed = true
	r.work = work{}
	return nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("hdf5: Read after Close")
	}
	in, b, err := r.src.Begin(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	h, err := r.src.handles.Acquire(ctx, &in)
	if err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	defer h.Release()
	j := spanRead{reader: r, in: h.Value, span: sp, batch: b, mem: mem}
	if err := j.read(ctx, &in); err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return r.src.Finish(&in, b, mem)
}

// spanRead is the reading of one span.
type spanRead struct {
	*reader
	in    *input
	span  shardify.Span
	batch *shardify.Batch
	mem   *shardify.Arena
}

// read reads the span object by object.
func (j *spanRead) read(ctx context.Context, in *rows.Input) error {
	n := len(j.batch.Columns)
	if len(j.data) != n {
		j.data, j.work.vary = make([][]byte, n), make([]varying, n)
	}
	cols := make([][]colPlace, len(j.in.blob.Objects))
	for i := range n {
		f := in.Field(i)
		if f < 0 {
			continue
		}
		if f >= len(j.in.fields) {
			return shardify.Corrupt(-1, "state of HDF5 inputs: no field %d", f)
		}
		p := j.in.fields[f]
		cols[p.object] = append(cols[p.object], colPlace{i, p.leaf})
	}
	for k := range cols {
		if len(cols[k]) == 0 {
			continue
		}
		o := &j.in.blob.Objects[k]
		var err error
		if j.in.blob.Mode == byGroup {
			err = j.groups(ctx, o, cols[k])
		} else {
			err = j.object(ctx, o, cols[k])
		}
		if err != nil {
			return j.annotate(err, o.Path)
		}
	}
	return nil
}

type colPlace struct{ column, leaf int }

// annotate turns a sample that counts in its array into one of the input.
func (j *spanRead) annotate(err error, object string) error {
	var re *rowError
	if !errors.As(err, &re) {
		return shardify.Annotate(err, "read", "", object)
	}
	var e *shardify.Error
	if !errors.As(re.err, &e) {
		e = &shardify.Error{Sample: -1, Offset: -1, Err: re.err}
	}
	c := *e
	c.Sample = re.sample
	return shardify.Annotate(&c, "read", "", object)
}

// object reads columns of one data set.
func (j *spanRead) object(ctx context.Context, o *blobObject, cols []colPlace) error {
	a, err := j.in.array(o.Path)
	if err != nil {
		return err
	}
	s := stretch{a: a, lo: j.span.Lo, hi: j.span.Hi, per: 1}
	inner, repeat := a.inner(), int64(1)
	switch {
	case j.in.blob.Mode == byFile:
		s.lo, s.hi, s.per, inner = 0, a.rows, a.rows, a.dims
	case o.Once:
		s.lo, s.hi, repeat = 0, 1, j.span.Samples()
	case a.rows != j.in.samples:
		return errChanged("%d rows, had %d", a.rows, j.in.samples)
	}
	if o.Once && len(a.dims) > 0 {
		return errChanged("dimensions %v", a.dims)
	}
	if err := j.parts(&s, cols, inner); err != nil {
		return err
	}
	samples := j.span.Samples()
	for _, p := range s.parts {
		j.work.vary[p.column].reset()
		if c := &j.batch.Columns[p.column]; p.leaf.kind == numbers {
			c.Data = j.mem.Alloc(int(samples) * c.ElemBytes())
			j.data[p.column] = c.Data
		}
	}
	if err := s.read(ctx, &j.work, j.data); err != nil {
		return err
	}
	for _, p := range s.parts {
		c := &j.batch.Columns[p.column]
		switch {
		case p.leaf.kind != numbers:
			j.work.vary[p.column].column(c, j.mem, repeat)
		case repeat > 1:
			fill(c.Data, c.Data[:c.ElemBytes()])
		}
	}
	return nil
}

// parts finds the leaves of the columns and makes sure that they are what the
// survey found.
func (j *spanRead) parts(s *stretch, cols []colPlace, inner []int64) error {
	leaves := s.a.leavesBy(j.in.rules)
	for _, c := range cols {
		if c.leaf < 0 || c.leaf >= len(leaves) || leaves[c.leaf].err != nil {
			return errChanged("another type")
		}
		l := &leaves[c.leaf]
		f, err := l.field("x", inner)
		want := &j.batch.Columns[c.column]
		if err != nil || f.DType != want.DType || f.Levels != want.Levels || !slices.Equal(f.Shape, want.Shape) {
			return errChanged("%s %v in %d levels, had %s %v in %d", f.DType, f.Shape, f.Levels, want.DType, want.Shape, want.Levels)
		}
		s.parts = append(s.parts, part{column: c.column, leaf: l, two: f.Levels == 2})
	}
	return nil
}

// leavesBy are the leaves of the array's type, found once.
func (a *array) leavesBy(r typeRules) []leaf {
	a.typeOnce.Do(func() { a.leaves = r.leaves(a.set.Type) })
	return a.leaves
}

// groups reads one member of the sample groups of the span.
func (j *spanRead) groups(ctx context.Context, o *blobObject, cols []colPlace) error {
	names, err := j.in.groups()
	if err != nil {
		return err
	}
	fixed := make([]int, len(cols)) // bytes of one sample of a fixed column
	for k, c := range cols {
		col := &j.batch.Columns[c.column]
		j.work.vary[c.column].reset()
		if col.Levels == 0 && !(o.Ragged && c.leaf < 0) {
			fixed[k] = col.ElemBytes()
			col.Data = j.mem.Alloc(int(j.span.Samples()) * fixed[k])
			j.data[c.column] = col.Data
		}
	}
	for i := j.span.Lo; i < j.span.Hi; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := j.in.blob.Parent + "/" + names[i] + "/" + o.Path
		if err := j.group(ctx, p, o, cols); err != nil {
			e := &rowError{i, err}
			return j.annotate(e, strings.TrimPrefix(p, "/"))
		}
		for k, c := range cols {
			j.data[c.column] = j.data[c.column][fixed[k]:]
		}
	}
	for _, c := range cols {
		col := &j.batch.Columns[c.column]
		v := &j.work.vary[c.column]
		switch {
		case c.leaf < 0:
			col.Data = j.mem.Alloc(len(v.outer) * 8)
			for i, d := range v.outer {
				le.PutUint64(col.Data[8*i:], uint64(d))
			}
		case col.Levels > 0:
			v.column(col, j.mem, 1)
		}
	}
	return nil
}

// group reads one member of one sample group.
func (j *spanRead) group(ctx context.Context, p string, o *blobObject, cols []colPlace) error {
	j.in.mu.Lock()
	a, err := j.in.open(p)
	j.in.mu.Unlock()
	if err != nil {
		return err
	}
	if err := a.usable(); err != nil {
		return err
	}
	if err := a.backed(a.rows); err != nil {
		return err
	}
	s := stretch{a: a, lo: 0, hi: a.rows, per: a.rows}
	if !o.Ragged {
		if err := j.parts(&s, cols, a.dims); err != nil {
			return err
		}
		return s.read(ctx, &j.work, j.data)
	}
	return j.ragged(ctx, &s, cols)
}

// ragged appends values of any shape, and the shape.
func (j *spanRead) ragged(ctx context.Context, s *stretch, cols []colPlace) error {
	leaves := s.a.leavesBy(j.in.rules)
	for _, c := range cols {
		k := c.leaf
		v := &j.work.vary[c.column]
		if k < 0 {
			k = j.shapeOf(c.column, cols)
		}
		if k < 0 || k >= len(leaves) || leaves[k].err != nil {
			return errChanged("another type")
		}
		l := &leaves[k]
		f, err := l.field("x", s.a.dims)
		want := &j.batch.Columns[c.column]
		switch {
		case err != nil:
			return err
		case c.leaf < 0:
			if len(want.Shape) != 1 || want.Shape[0] != len(f.Shape) {
				return errChanged("rank %d", len(f.Shape))
			}
			for _, d := range f.Shape {
				v.outer = append(v.outer, int64(d))
			}
			continue
		case f.DType != want.DType || l.kind == numbers && want.Levels != 1 || l.kind != numbers && want.Levels != f.Levels:
			return errChanged("%s %v", f.DType, f.Shape)
		}
		s.parts = append(s.parts, part{column: c.column, leaf: l, two: f.Levels == 2})
		if l.kind == numbers {
			at, size := len(v.data), f.ElemBytes()
			v.data = slices.Grow(v.data, size)[:at+size]
			j.data[c.column] = v.data[at:]
			v.outer = append(v.outer, int64(len(v.data)/f.DType.Size()))
		}
	}
	if len(s.parts) == 0 {
		return nil
	}
	return s.read(ctx, &j.work, j.data)
}

// shapeOf is the leaf whose shape a companion column has.
func (j *spanRead) shapeOf(column int, cols []colPlace) int {
	name := strings.TrimSuffix(j.batch.Columns[column].Name, shardify.ShapeSuffix)
	for _, c := range cols {
		if c.leaf >= 0 && j.batch.Columns[c.column].Name == name {
			return c.leaf
		}
	}
	return -1
}
