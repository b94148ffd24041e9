package column

import (
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// Matrix is a sparse matrix: a group of three data sets. data holds the values of a row
// behind those of the row before, indices the column of each value, indptr where rows
// begin and, at last, where the last one ends.
//
//	AnnData        encoding-type = csr_matrix, shape = rows, columns
//	before 0.7     h5sparse_format = csr, h5sparse_shape
//	10x Genomics   data sets barcodes and shape = features, barcodes: stored by columns,
//	               each of which is a barcode, so that barcodes are the rows here
//
//	MATLAB 7.3     MATLAB_sparse = rows; ir, jc for indices, indptr: stored by columns
//
// A row is a sample. A matrix that is stored by columns (csc_matrix) has no rows to read.
type Matrix struct {
	Lists     // the rows
	Group     string
	What      string // a row is
	Columns   int64
	ByColumns bool
	// Indices and Ends are the data sets beside MatrixData.
	Indices, Ends string
	Err           error // it contradicts itself
}

// MatrixData is the values of a sparse matrix, MatrixNames its indices and ends.
const MatrixData = "data"

// MatrixNames are those of NumPy, and those of MATLAB.
var MatrixNames = [][2]string{{"indices", "indptr"}, {"ir", "jc"}}

// Matrix takes the measures of a sparse matrix, nil if the group is not one. names: of
// MatrixNames; tenx: it has barcodes and a shape.
func (f *File) Matrix(ctx context.Context, g *h5.Object, group string, names [2]string, tenx bool) (*Matrix, error) {
	list, _ := g.Attributes()
	attrs := element.Attributes(list)
	m := &Matrix{Group: group, What: "rows", Indices: names[0], Ends: names[1], Lists: Lists{Path: group + "/" + names[1], Counter: strings.TrimPrefix(group, "/"), start: -1, matrix: true}}
	shape := attrs.Numbers(f.H5, "shape")
	form := strings.TrimSuffix(attrs.Text(f.H5, "encoding-type"), "_matrix")
	if form == "" {
		form, shape = attrs.Text(f.H5, "h5sparse_format"), attrs.Numbers(f.H5, "h5sparse_shape")
	}
	switch {
	case names != MatrixNames[0]:
		rows := attrs.Numbers(f.H5, "MATLAB_sparse")
		if len(rows) != 1 || form != "" {
			return nil, nil
		}
		ends, err := f.Dataset(group + "/" + m.Ends)
		if err != nil {
			return nil, err
		}
		shape, m.ByColumns = []int64{rows[0], ends.Rows - 1}, true
	case form == "csr" || form == "csc":
		m.ByColumns = form == "csc"
	case form == "" && tenx:
		a, err := f.Dataset(group + "/shape")
		if err != nil || len(a.Dims) != 1 || a.Rows != 2 {
			return nil, err
		}
		shape, m.What = make([]int64, 2), "barcodes"
		if err := a.Usable(); err != nil {
			return nil, err
		}
		if err := a.Integers(ctx, &Work{}, shape, 0); err != nil {
			return nil, err
		}
		slices.Reverse(shape)
	default:
		return nil, nil
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] < 0 {
		return nil, shardify.Corrupt(-1, "a sparse matrix of shape %v", shape)
	}
	m.Rows, m.Columns = shape[0], shape[1]
	return m, m.measure(ctx, f)
}

// measure compares the three data sets with each other and the shape. The ends in
// between are checked when they are read.
func (m *Matrix) measure(ctx context.Context, f *File) error {
	var arrays [3]*Dataset
	for i, name := range []string{MatrixData, m.Indices, m.Ends} {
		a, err := f.Dataset(m.Group + "/" + name)
		if err == nil {
			err = a.Usable()
		}
		if err != nil {
			return err
		}
		if len(a.Dims) != 1 {
			return shardify.Corrupt(-1, "a sparse matrix whose %s have dimensions %v", name, a.Dims)
		}
		arrays[i] = a
	}
	m.Stored, m.From = arrays[0].Rows, arrays[2]
	lines := m.Rows
	if m.ByColumns {
		lines = m.Columns
	}
	if arrays[1].Rows != m.Stored || m.From.Rows-1 != lines {
		return shardify.Corrupt(-1, "a sparse matrix of %d x %d with %d data, %d indices and %d indptr", m.Rows, m.Columns, m.Stored, arrays[1].Rows, m.From.Rows)
	}
	var first, last [1]int64
	var w Work
	if err := m.From.Integers(ctx, &w, first[:], 0); err != nil {
		return err
	}
	if err := m.From.Integers(ctx, &w, last[:], lines); err != nil {
		return err
	}
	if first[0] != 0 || last[0] != m.Stored {
		return shardify.Corrupt(-1, "a sparse matrix of %d values whose indptr goes from %d to %d", m.Stored, first[0], last[0])
	}
	return nil
}
