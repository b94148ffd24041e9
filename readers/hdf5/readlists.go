package hdf5

import (
	"context"
	"path"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

// known is what readers of a file find once; the first one finds it for all.
func known[T any](i *input, have map[string]*T, p string, find func() (*T, error)) (*T, error) {
	i.found.Lock()
	v := have[p]
	i.found.Unlock()
	if v != nil {
		return v, nil
	}
	v, err := find()
	if err != nil {
		return nil, err
	}
	i.found.Lock()
	defer i.found.Unlock()
	have[p] = v
	return v, nil
}

// matrix finds a sparse matrix again.
func (i *input) matrix(ctx context.Context, group string) (*column.Matrix, error) {
	found, err := i.H5.Lookup(naming.Rooted(group))
	if err != nil {
		return nil, err
	}
	if found.External {
		return nil, errChanged("a link in place of a sparse matrix")
	}
	g, err := i.H5.Object(found.Addr, group)
	if err != nil {
		return nil, err
	}
	m, err := i.Matrix(ctx, g, group, column.MatrixNames[0], true)
	if err != nil {
		return nil, err
	}
	if m == nil || m.ByColumns || m.Rows != i.samples {
		return nil, errChanged("another sparse matrix")
	}
	return m, nil
}

// lists finds the lists of a data set with so many rows again.
func (i *input) lists(ctx context.Context, o *look.BlobObject, stored int64) (l *column.Lists, err error) {
	if o.By != nil {
		l, err = i.File.ListsBy(ctx, o.By, stored)
	} else {
		var a *column.Dataset
		if a, err = i.Dataset(o.Lists); err == nil {
			l = column.NewLists(o.Lists, a)
		}
	}
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errChanged("no offsets")
	}
	if l.Rows != i.samples {
		return nil, errChanged("%d lists, had %d", l.Rows, i.samples)
	}
	return l, nil
}

// rowEnds are the offsets of the span's lists, which its columns share.
func (j *spanRead) rowEnds(ctx context.Context, l *column.Lists, stored int64) (*column.RowEnds, error) {
	if e := j.ends[l.Path]; e != nil && e.Stored == stored {
		return e, nil
	}
	e, err := l.Ends(ctx, &j.work, j.mem, j.span.Lo, j.span.Hi, stored)
	if err != nil {
		return nil, err
	}
	if j.ends == nil {
		j.ends = map[string]*column.RowEnds{}
	}
	j.ends[l.Path] = e
	return e, nil
}

// jagged reads columns of flat values: of lists, or of a sparse matrix.
func (j *spanRead) jagged(ctx context.Context, o *look.BlobObject, cols []colPlace) error {
	a, err := j.in.Dataset(o.Path)
	if err != nil {
		return err
	}
	var m *column.Matrix
	var l *column.Lists
	if o.Sparse {
		group := naming.Group(o.Path)
		if m, err = known(j.in, j.in.matrices, group, func() (*column.Matrix, error) { return j.in.matrix(ctx, group) }); err != nil {
			return err
		}
		if l = &m.Lists; len(a.Dims) != 1 || a.Rows != m.Stored {
			return errChanged("%v values", a.Dims)
		}
	} else if l, err = known(j.in, j.in.flat, o.Lists, func() (*column.Lists, error) { return j.in.lists(ctx, o, a.Rows) }); err != nil {
		return err
	}
	e, err := j.rowEnds(ctx, l, a.Rows)
	if err != nil {
		return err
	}
	s, err := e.Values(a)
	if err != nil {
		return err
	}
	leaves, err := a.Leaves(&o.Decode)
	if err != nil {
		return err
	}
	for _, c := range cols {
		if c.leaf < 0 || c.leaf >= len(leaves) || leaves[c.leaf].Err != nil || leaves[c.leaf].Kind != element.Numbers {
			return errChanged("another type")
		}
		col := &j.batch.Columns[c.column]
		f, err := leaves[c.leaf].Field("x", a.Inner())
		if err != nil || f.DType != col.DType || col.Levels != 1 || !slices.Equal(f.Shape, col.Shape) {
			return errChanged("%s %v", f.DType, f.Shape)
		}
		s.Parts = append(s.Parts, column.Part{Column: c.column, Leaf: &leaves[c.leaf]})
		col.Data = j.mem.Alloc(int(s.Hi-s.Lo) * col.ElemBytes())
		col.Offsets = [][]int64{e.Offsets}
		j.data[c.column] = col.Data
	}
	if s.Hi == s.Lo {
		return nil
	}
	s.A.Announce(&j.work.Buffers, s.Lo, s.Hi)
	if err := s.Read(ctx, &j.work, j.data); err != nil || m == nil || path.Base(o.Path) != m.Indices {
		return err
	}
	for _, c := range cols {
		if at := column.FirstOutside(&j.batch.Columns[c.column], m.Columns); at >= 0 {
			row := 0
			for e.Offsets[row+1] <= int64(at) {
				row++
			}
			return &array.RowError{Row: j.span.Lo + int64(row), Err: shardify.Corrupt(-1, "a sparse matrix of %d columns with an index outside of them", m.Columns)}
		}
	}
	return nil
}
