package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// input is an open file with the places of the set's fields in it.
type input struct {
	*file
	blob    blob
	want    *rows.Wanted
	rules   typeRules
	fields  []place // by field of the file
	samples int64
	groups  func() ([]sampleGroup, error) // in order
	items   func() (*items, error)
}

// sampleGroup is a group that is a sample.
type sampleGroup struct {
	name string
	addr int64
}

// place is where a field comes from.
type place struct {
	object int // in the blob
	leaf   int // of the object's leaves, or shapeLeaf
}

// openInput implements the handles' open. The blob may come from a damaged plan.
func (s *source) openInput(ctx context.Context, at storage.File, in *rows.Input) (*input, error) {
	f, err := newFile(storages.Of(s.table), at, in.Path(), s.opts.external)
	if err != nil {
		return nil, err
	}
	i := &input{file: f, want: s.want, samples: in.Samples, rules: typeRules{media: s.opts.media, refSize: f.H5.RefSize(), cf: s.opts.cf}}
	if err := json.Unmarshal(in.Blob, &i.blob); err != nil {
		return nil, shardify.Corrupt(-1, "state of HDF5 inputs: %v", err)
	}
	root, err := f.H5.Object(f.H5.Root, "/")
	if err != nil {
		return nil, err
	}
	kind := conventionOf(f, root)
	i.rules.pytables = kind.pytables
	for k, o := range i.blob.Objects {
		if o.How != nil {
			if len(o.How.Perm) == 0 {
				return nil, shardify.Corrupt(-1, "state of HDF5 inputs: no axes of %s", o.Path)
			}
			f.SetOrder(o.Path, o.How)
		}
		for _, leaf := range o.Leaves {
			i.fields = append(i.fields, place{k, leaf})
		}
	}
	i.groups, i.items = sync.OnceValues(i.listGroups), sync.OnceValues(i.listItems)
	return i, nil
}

func errChanged(format string, args ...any) error {
	return shardify.Mismatch("changed since the plan, or damaged: it has %s", fmt.Sprintf(format, args...))
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
	r.work.Close()
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
	sp.Lo, sp.Hi = sp.Lo-in.First, sp.Hi-in.First
	j := spanRead{reader: r, in: h.Value, first: in.First, span: sp, batch: b, mem: mem}
	if err = r.work.Begin(ctx, mem, &r.work); err == nil {
		err = j.read(ctx, &in)
		if err == nil && h.Value.blob.Mode == byItem {
			b.Keys, err = j.keys(r.src.keyPrefix(in.Index))
		}
		if e := r.work.End(ctx); err == nil {
			err = e
		}
	}
	if err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	if b, err = r.src.Finish(&in, b, mem); err != nil {
		return nil, err
	}
	if err := r.src.named.Finish(b, in.Index, mem); err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return b, nil
}

// spanRead is the reading of one span.
type spanRead struct {
	*reader
	in    *input
	first int64         // the number of the part's first sample
	span  shardify.Span // of samples of the part
	batch *shardify.Batch
	mem   *shardify.Arena
	ends  rowEnds             // of the sparse matrix read last
	flat  map[string]*rowEnds // of lists, by the path of their offsets
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
		switch {
		case j.in.blob.Mode == byGroup || o.Item:
			err = j.groups(ctx, o, cols[k])
		case o.Lists != "":
			err = j.list(ctx, o, cols[k])
		case o.Sparse:
			err = j.sparse(ctx, o, cols[k])
		default:
			err = j.object(ctx, o, cols[k])
		}
		if err != nil {
			return j.annotate(err, o.Path)
		}
	}
	return nil
}

type colPlace struct{ column, leaf int }

// annotate adds the sample, if the error knows the row, and the data set.
func (j *spanRead) annotate(err error, object string) error {
	var re *array.RowError
	var e *shardify.Error
	if !errors.As(err, &re) {
		return shardify.Annotate(err, "read", "", object)
	}
	if !errors.As(err, &e) {
		e = &shardify.Error{Sample: -1, Offset: -1, Err: err}
	}
	c := *e
	if c.Sample = j.first + re.Row; j.in.blob.Mode == byFile {
		c.Sample = j.first
	}
	return shardify.Annotate(&c, "read", "", object)
}

// object reads columns of one data set.
func (j *spanRead) object(ctx context.Context, o *blobObject, cols []colPlace) error {
	a, err := j.in.array(o.Path)
	if err != nil {
		return err
	}
	s := stretch{a: a, lo: j.span.Lo, hi: j.span.Hi, per: 1}
	inner, repeat := a.Inner(), int64(1)
	switch {
	case j.in.blob.Mode == byFile:
		s.lo, s.hi, s.per, inner = 0, a.Rows, a.Rows, a.Dims
	case o.Once:
		s.lo, s.hi, repeat = 0, 1, j.span.Samples()
	case a.Rows != j.in.samples:
		return errChanged("%d rows, had %d", a.Rows, j.in.samples)
	}
	if o.Once && len(a.Dims) > 0 {
		return errChanged("dimensions %v", a.Dims)
	}
	if err := j.parts(o, &s, cols, inner); err != nil {
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
			array.Fill(c.Data, c.Data[:c.ElemBytes()])
		}
	}
	return nil
}

// parts finds the leaves of the columns and makes sure that they are what the
// survey found.
func (j *spanRead) parts(o *blobObject, s *stretch, cols []colPlace, inner []int64) error {
	leaves, err := s.a.leavesBy(j.in.rules, o)
	if err != nil {
		return err
	}
	if o.Wide {
		leaves, inner, s.wide = s.a.wideLeaves(leaves), inner[:max(len(inner)-1, 0)], true
	}
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

// leavesBy are the leaves of the array's type, with what its attributes make of them,
// found once.
func (a *dataset) leavesBy(r typeRules, o *blobObject) ([]leaf, error) {
	a.once.Do(func() {
		if a.Order != nil && a.Order.Text {
			a.leaves = []leaf{a.codeText(r.media)}
			return
		}
		a.leaves = r.leaves(a.Set.Type)
		if !r.cf || o == nil || !o.CF {
			return
		}
		if a.err = a.decodeLeaves(a.leaves, o.Of); a.err == nil {
			for i := range a.leaves {
				a.leaves[i].inUnit(o.Unit)
			}
		}
	})
	return a.leaves, a.err
}
