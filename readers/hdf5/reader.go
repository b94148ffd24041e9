package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// input is an open file with the places of the set's fields in it.
type input struct {
	*column.File
	blob    look.Blob
	want    *columns.Wanted
	fields  []place // by field of the file
	samples int64
	groups  func() ([]sampleGroup, error) // in order
	ends    []int64                       // of groups whose rows are samples: behind the last, from groups on
	items   func() (*items, error)

	found    sync.Mutex                // guards what readers find once
	matrices map[string]*column.Matrix // sparse ones, by group
	flat     map[string]*column.Lists  // by the path of their offsets
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
func (s *source) openInput(ctx context.Context, at storage.File, in *set.Input) (*input, error) {
	f, err := column.Open(storages.Of(s.table), at, in.Path(), s.opts.External)
	if err != nil {
		return nil, err
	}
	i := &input{File: f, want: s.want, samples: in.Samples, matrices: map[string]*column.Matrix{}, flat: map[string]*column.Lists{}}
	if err := json.Unmarshal(in.Blob, &i.blob); err != nil {
		return nil, shardify.Corrupt(-1, "state of HDF5 inputs: %v", err)
	}
	root, err := f.H5.Object(f.H5.Root, "/")
	if err != nil {
		return nil, err
	}
	f.Rules = tree.RulesOf(f, s.opts, tree.ConventionOf(f, root))
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

type reader struct {
	src    *source
	work   column.Work
	data   [][]byte // the columns' buffers, from the current sample on
	closed bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.closed = true
	r.work.Close()
	r.work = column.Work{}
	return nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("hdf5: Read after Close")
	}
	var at uint32
	name := ""
	b, err := r.src.ReadSpan(ctx, sp, mem, func(x *input, in *set.Input, b *shardify.Batch) error {
		sp.Lo, sp.Hi = sp.Lo-in.First, sp.Hi-in.First
		j := spanRead{reader: r, in: x, first: in.First, span: sp, batch: b, mem: mem}
		err := r.work.Begin(ctx, mem, &r.work)
		if err != nil {
			return err
		}
		err = j.read(ctx, in)
		if err == nil && x.blob.Mode == tree.ByItem {
			b.Keys, err = j.keys(r.src.keyPrefix(in.Index))
		}
		if e := r.work.End(ctx); err == nil {
			err = e
		}
		at, name = in.Index, in.Name()
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.src.named.Finish(b, at, mem); err != nil {
		return nil, shardify.Annotate(err, "read", name, "")
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
	ends  map[string]*column.RowEnds // of lists, by the path of their offsets
}

// read reads the span object by object.
func (j *spanRead) read(ctx context.Context, in *set.Input) error {
	n := len(j.batch.Columns)
	if len(j.data) != n {
		j.data, j.work.Vary = make([][]byte, n), make([]column.Varying, n)
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
	j.announce(cols)
	for k := range cols {
		if len(cols[k]) == 0 {
			continue
		}
		o := &j.in.blob.Objects[k]
		var err error
		switch {
		case j.in.blob.Mode == tree.ByGroup || o.Item:
			err = j.groups(ctx, o, cols[k])
		case o.Lists != "" || o.Sparse:
			err = j.jagged(ctx, o, cols[k])
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

// announce passes to the file where the rows of all wanted data sets are, as far as that is
// known before something is read.
func (j *spanRead) announce(cols [][]colPlace) {
	for k := range cols {
		o := &j.in.blob.Objects[k]
		if len(cols[k]) == 0 || j.in.blob.Mode == tree.ByGroup || o.Item || o.Lists != "" || o.Sparse || o.Once {
			continue
		}
		if a, err := j.in.Dataset(o.Path); err == nil { // else object returns the error
			lo, hi := j.span.Lo, j.span.Hi
			if j.in.blob.Mode == tree.ByFile {
				lo, hi = 0, a.Rows
			}
			a.Announce(&j.work.Buffers, max(lo, 0), min(hi, a.Rows))
		}
	}
}

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
	if c.Sample = j.first + re.Row; j.in.blob.Mode == tree.ByFile {
		c.Sample = j.first
	}
	return shardify.Annotate(&c, "read", "", object)
}

// object reads columns of one data set.
func (j *spanRead) object(ctx context.Context, o *look.BlobObject, cols []colPlace) error {
	a, err := j.in.Dataset(o.Path)
	if err != nil {
		return err
	}
	s := column.Stretch{A: a, Lo: j.span.Lo, Hi: j.span.Hi, Per: 1}
	inner, repeat := a.Inner(), int64(1)
	switch {
	case j.in.blob.Mode == tree.ByFile:
		s.Lo, s.Hi, s.Per, inner = 0, a.Rows, a.Rows, a.Dims
	case o.Once:
		s.Lo, s.Hi, s.Per, s.Kept, inner, repeat = 0, a.Rows, a.Rows, true, a.Dims, j.span.Samples()
	case a.Rows != j.in.samples:
		return errChanged("%d rows, had %d", a.Rows, j.in.samples)
	}
	if err := j.parts(o, &s, cols, inner); err != nil {
		return err
	}
	samples := j.span.Samples()
	for _, p := range s.Parts {
		j.work.Vary[p.Column].Reset()
		if c := &j.batch.Columns[p.Column]; p.Leaf.Kind == element.Numbers {
			c.Data = j.mem.Alloc(int(samples) * c.ElemBytes())
			j.data[p.Column] = c.Data
		}
	}
	if err := s.Read(ctx, &j.work, j.data); err != nil {
		return err
	}
	for _, p := range s.Parts {
		c := &j.batch.Columns[p.Column]
		switch {
		case p.Leaf.Kind != element.Numbers:
			j.work.Vary[p.Column].Column(c, j.mem, repeat)
		case repeat > 1:
			array.Fill(c.Data, c.Data[:c.ElemBytes()])
		}
	}
	return nil
}

// parts finds the leaves of the columns and makes sure that they are what the
// survey found.
func (j *spanRead) parts(o *look.BlobObject, s *column.Stretch, cols []colPlace, inner []int64) error {
	leaves, err := s.A.Leaves(&o.Decode)
	if err != nil {
		return err
	}
	if o.Wide {
		leaves, inner, s.Wide = s.A.WideLeaves(leaves), inner[:max(len(inner)-1, 0)], true
	}
	for _, c := range cols {
		if c.leaf < 0 || c.leaf >= len(leaves) || leaves[c.leaf].Err != nil {
			return errChanged("another type")
		}
		l := &leaves[c.leaf]
		f, err := l.Field("x", inner)
		want := &j.batch.Columns[c.column]
		if err != nil || f.DType != want.DType || f.Levels != want.Levels || !slices.Equal(f.Shape, want.Shape) {
			return errChanged("%s %v in %d levels, had %s %v in %d", f.DType, f.Shape, f.Levels, want.DType, want.Shape, want.Levels)
		}
		s.Parts = append(s.Parts, column.Part{Column: c.column, Leaf: l, Two: f.Levels == 2})
	}
	return nil
}
