package hdf5

import (
	"context"
	"path"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
)

// matrix finds a sparse matrix again, once for all readers of the file.
func (i *input) matrix(ctx context.Context, group string) (*sparse, error) {
	i.mu.Lock()
	m := i.sparse[group]
	i.mu.Unlock()
	if m != nil {
		return m, nil
	}
	found, err := i.H5.Lookup(cmpPath(group))
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
	if m, err = i.newSparse(ctx, g, group, i.rules, true); err != nil {
		return nil, err
	}
	if m == nil || m.byColumns || m.rows != i.samples {
		return nil, errChanged("another sparse matrix")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.sparse == nil {
		i.sparse = map[string]*sparse{}
	}
	i.sparse[group] = m
	return m, nil
}

// rowEnds are the offsets of the span's rows in the matrix, which its columns share, and
// where its first row begins.
type rowEnds struct {
	of      *sparse
	stored  int64 // of flat lists
	first   int64
	offsets []int64
}

// rows reads where the rows of the span end, and checks it.
func (j *spanRead) rows(ctx context.Context, m *sparse) (*rowEnds, error) {
	e := &j.ends
	if e.of == m {
		return e, nil
	}
	if err := m.ends.Backed(j.span.Samples() + 1); err != nil {
		return nil, err
	}
	e.of, e.offsets = nil, j.mem.Int64s(int(j.span.Samples())+1)
	if err := m.ends.integers(ctx, &j.work, j.in.rules, e.offsets, j.span.Lo); err != nil {
		return nil, err
	}
	err := e.relative(j.span.Lo, m.rows, m.stored, func(row, from, to int64) error {
		return shardify.Corrupt(-1, "a sparse matrix of %d values whose row %d goes from %d to %d", m.stored, row, from, to)
	})
	if err != nil {
		return nil, err
	}
	e.of = m
	return e, nil
}

// relative checks the offsets of rows from lo on, of a table of `rows` rows with `stored`
// values, and makes them those of the span. damage is the error about one row.
func (e *rowEnds) relative(lo, rows, stored int64, damage func(row, from, to int64) error) error {
	e.first = e.offsets[0]
	last := e.first
	for i, end := range e.offsets {
		if end < last || end > stored || end < 0 || lo == 0 && e.first != 0 || lo+int64(i) == rows && end != stored {
			row := max(lo+int64(i)-1, 0)
			return &array.RowError{Row: row, Err: damage(row, last, end)}
		}
		last = end
	}
	for i := range e.offsets {
		e.offsets[i] -= e.first
	}
	return nil
}

// values is the stretch of a data set that the rows of the span take, without its parts.
func (e *rowEnds) values(a *dataset) (stretch, error) {
	n := e.offsets[len(e.offsets)-1]
	return stretch{a: a, lo: e.first, hi: e.first + n, per: 1}, a.Backed(n)
}

// jagged makes a column of the batch one that the stretch fills with a leaf's values.
func (j *spanRead) jagged(s *stretch, column int, l *leaf, e *rowEnds) {
	col := &j.batch.Columns[column]
	s.parts = append(s.parts, part{column: column, leaf: l})
	col.Data = j.mem.Alloc(int(s.hi-s.lo) * col.ElemBytes())
	col.Offsets = [][]int64{e.offsets}
	j.data[column] = col.Data
}

// sparse reads columns of data or indices of a sparse matrix.
func (j *spanRead) sparse(ctx context.Context, o *blobObject, cols []colPlace) error {
	m, err := j.in.matrix(ctx, groupOf(o.Path))
	if err != nil {
		return err
	}
	a, err := j.in.array(o.Path)
	if err != nil {
		return err
	}
	if len(a.Dims) != 1 || a.Rows != m.stored {
		return errChanged("%v values", a.Dims)
	}
	e, err := j.rows(ctx, m)
	if err != nil {
		return err
	}
	s, err := e.values(a)
	if err != nil {
		return err
	}
	leaves, _ := a.leavesBy(j.in.rules, nil)
	for _, c := range cols {
		if c.leaf != 0 || len(leaves) != 1 || leaves[0].err != nil || leaves[0].kind != numbers || leaves[0].at.Values() != 1 {
			return errChanged("another type")
		}
		col := &j.batch.Columns[c.column]
		if f, err := leaves[0].field("x", nil); err != nil || f.DType != col.DType || col.Levels != 1 || len(col.Shape) != 0 || len(f.Shape) != 0 {
			return errChanged("%s %v", f.DType, f.Shape)
		}
		j.jagged(&s, c.column, &leaves[0], e)
	}
	if err := s.read(ctx, &j.work, j.data); err != nil {
		return err
	}
	if path.Base(o.Path) != sparseIndices {
		return nil
	}
	for _, c := range cols {
		if at := outside(&j.batch.Columns[c.column], m.columns); at >= 0 {
			row := 0
			for e.offsets[row+1] <= int64(at) {
				row++
			}
			return &array.RowError{Row: j.span.Lo + int64(row), Err: shardify.Corrupt(-1, "a sparse matrix of %d columns with an index that is none of them", m.columns)}
		}
	}
	return nil
}

// outside is the place of the first value that is not below n, or is negative; -1 if there
// is none.
func outside(c *shardify.Column, n int64) int {
	switch c.DType {
	case shardify.I8:
		return firstOutside(shardify.View[int8](c.Data), n)
	case shardify.U8:
		return firstOutside(shardify.View[uint8](c.Data), n)
	case shardify.I16:
		return firstOutside(shardify.View[int16](c.Data), n)
	case shardify.U16:
		return firstOutside(shardify.View[uint16](c.Data), n)
	case shardify.I32:
		return firstOutside(shardify.View[int32](c.Data), n)
	case shardify.U32:
		return firstOutside(shardify.View[uint32](c.Data), n)
	case shardify.I64:
		return firstOutside(shardify.View[int64](c.Data), n)
	}
	return firstOutside(shardify.View[uint64](c.Data), n)
}

func firstOutside[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](v []T, n int64) int {
	for i, x := range v {
		// A negative number, and one above the largest int64, becomes one above n.
		if uint64(int64(x)) >= uint64(n) {
			return i
		}
	}
	return -1
}
