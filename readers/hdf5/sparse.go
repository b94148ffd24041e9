package hdf5

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// A sparse matrix is a group of three data sets: data holds the values of a row behind
// those of the row before, indices the column of each, indptr where rows begin and, at
// last, where the last one ends.
//
//	AnnData        encoding-type = csr_matrix, shape = rows, columns
//	before 0.7     h5sparse_format = csr, h5sparse_shape
//	10x Genomics   data sets barcodes and shape = features, barcodes: stored by columns,
//	               each of which is a barcode, so that barcodes are the rows here
//
// A row is a sample; data and indices are jagged fields with one counter. A matrix that
// is stored the other way round (csc_matrix) has no rows to read.
type sparse struct {
	group         string
	what          string // of the rows
	rows, columns int64
	stored        int64 // values
	byColumns     bool
	ends          *dataset // indptr
	err           error    // it contradicts itself
}

// The data sets of a sparse matrix.
const (
	sparseData    = "data"
	sparseIndices = "indices"
	sparseEnds    = "indptr"
)

// columnsOfRows is where the fields of a sparse matrix say how many columns it has.
const columnsOfRows = "sparse_columns"

// sparse notes a group that is a sparse matrix.
func (s *scanner) sparse(g *h5.Object, prefix string, links []h5.Link) error {
	if !hasLink(links, sparseData) || !hasLink(links, sparseIndices) || !hasLink(links, sparseEnds) {
		return nil
	}
	m, err := s.tree.file.newSparse(s.ctx, g, prefix, s.rules, hasLink(links, "shape") && hasLink(links, "barcodes"))
	if e := s.ctx.Err(); e != nil {
		return e
	}
	if err != nil {
		s.tree.file.fault(cmp.Or(prefix, "/"), err)
		m = &sparse{group: prefix, err: err}
	}
	if m == nil {
		return nil
	}
	if s.tree.sparse == nil {
		s.tree.sparse = map[string]*sparse{}
	}
	s.tree.sparse[prefix] = m
	return nil
}

// newSparse takes the measures of a sparse matrix, nil if the group is none. tenx: it
// has barcodes and a shape.
func (f *file) newSparse(ctx context.Context, g *h5.Object, group string, rules typeRules, tenx bool) (*sparse, error) {
	list, _ := g.Attributes()
	attrs := attributes(list)
	m := &sparse{group: group, what: "rows"}
	shape := attrs.numbers(f.H5, "shape")
	form := strings.TrimSuffix(attrs.text(f.H5, "encoding-type"), "_matrix")
	if form == "" {
		form, shape = attrs.text(f.H5, "h5sparse_format"), attrs.numbers(f.H5, "h5sparse_shape")
	}
	switch {
	case form == "csr" || form == "csc":
		m.byColumns = form == "csc"
	case form == "" && tenx:
		a, err := f.array(group + "/shape")
		if err != nil || len(a.Dims) != 1 || a.Rows != 2 {
			return nil, err
		}
		shape, m.what = make([]int64, 2), "barcodes"
		if err := a.Usable(); err != nil {
			return nil, err
		}
		if err := a.integers(ctx, &work{}, rules, shape, 0); err != nil {
			return nil, err
		}
		slices.Reverse(shape)
	default:
		return nil, nil
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] < 0 {
		return nil, shardify.Corrupt(-1, "a sparse matrix of shape %v", shape)
	}
	m.rows, m.columns = shape[0], shape[1]
	return m, m.measure(ctx, f, rules)
}

// measure compares the three data sets with each other and the shape. The ends in
// between are checked when they are read.
func (m *sparse) measure(ctx context.Context, f *file, rules typeRules) error {
	var arrays [3]*dataset
	for i, name := range []string{sparseData, sparseIndices, sparseEnds} {
		a, err := f.array(m.group + "/" + name)
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
	m.stored, m.ends = arrays[0].Rows, arrays[2]
	lines := m.rows
	if m.byColumns {
		lines = m.columns
	}
	if arrays[1].Rows != m.stored || m.ends.Rows-1 != lines {
		return shardify.Corrupt(-1, "a sparse matrix of %d x %d with %d data, %d indices and %d indptr", m.rows, m.columns, m.stored, arrays[1].Rows, m.ends.Rows)
	}
	var first, last [1]int64
	var w work
	if err := m.ends.integers(ctx, &w, rules, first[:], 0); err != nil {
		return err
	}
	if err := m.ends.integers(ctx, &w, rules, last[:], lines); err != nil {
		return err
	}
	if first[0] != 0 || last[0] != m.stored {
		return shardify.Corrupt(-1, "a sparse matrix of %d values whose indptr goes from %d to %d", m.stored, first[0], last[0])
	}
	return nil
}

// integers reads whole numbers of one dimension from row lo on.
func (a *dataset) integers(ctx context.Context, w *work, rules typeRules, dst []int64, lo int64) error {
	if !a.whole(rules) {
		return shardify.Mismatch("%s: no whole numbers", a.Path)
	}
	return a.integersOf(ctx, w, rules, 0, dst, lo)
}

// integersOf is integers of leaf k, which holds one whole number.
func (a *dataset) integersOf(ctx context.Context, w *work, rules typeRules, k int, dst []int64, lo int64) error {
	leaves, err := a.leavesBy(rules, nil)
	if err != nil {
		return err
	}
	l := &leaves[k]
	size := l.num.DType.Size()
	if err := a.Backed(int64(len(dst))); err != nil {
		return err
	}
	if err := w.Grow(ctx, &w.raw, int64(len(dst))*a.RowBytes); err != nil {
		return err
	}
	if err := a.Read(ctx, &w.Buffers, w.raw, lo, lo+int64(len(dst))); err != nil {
		return err
	}
	var v [8]byte
	shift := 64 - 8*size
	for i := range dst {
		l.at.Gather(v[:], w.raw[int64(i)*a.RowBytes:], 1, int(a.Elem), size, l.convert)
		if word := le.Uint64(v[:]) << shift; l.num.Signed {
			dst[i] = int64(word) >> shift
		} else {
			dst[i] = int64(word >> shift)
		}
	}
	return nil
}

// groupOf is the group that a data set is in, without a final slash.
func groupOf(p string) string { return strings.TrimSuffix(path.Dir(p), "/") }

// folded is the tree where data and indices of sparse matrices have their rows: as it is
// seen where rows are the samples.
func (t *tree) folded() *tree {
	if len(t.sparse)+len(t.categories)+len(t.lists)+len(t.listNotes) == 0 {
		return t
	}
	names := map[string]bool{}
	for _, p := range t.categories {
		names[p] = true
	}
	c := *t
	c.objects = slices.Clone(t.objects)
	for i := range c.objects {
		o := &c.objects[i]
		if names[o.path] {
			o.note = "the names that codes stand for, kept with them"
			continue
		}
		t.foldLists(o)
		m := t.sparse[groupOf(o.path)]
		if m == nil {
			continue
		}
		switch base := path.Base(o.path); {
		case m.err != nil && (base == sparseData || base == sparseIndices || base == sparseEnds):
			o.note = reason(m.err)
		case base == sparseData || base == sparseIndices:
			o.matrix, o.dims, o.unlimited, o.unit, o.axes = m, []int64{m.rows}, []bool{false}, 1, nil
		case base == sparseEnds:
			o.note = "where the " + m.what + " of a sparse matrix end, kept with its fields"
		case base == "shape" && m.err == nil:
			o.note = "the shape of a sparse matrix, kept with its fields"
		}
	}
	return &c
}

// note says why a data set is no column wherever its rows are samples.
func (t *tree) note(o *object) string { return cmp.Or(o.note, t.frameNote(o)) }

// largest finds the sparse matrix that holds most values.
func (t *tree) largest() (best *sparse) {
	for i := range t.objects {
		if m := t.objects[i].matrix; m != nil && (best == nil || m.stored > best.stored) {
			best = m
		}
	}
	return best
}

// observations finds the rows of AnnData's X.
func (t *tree) observations() (int64, bool) {
	for i := range t.objects {
		o := &t.objects[i]
		if t.kind.anndata && len(o.dims) > 0 && (o.path == "/X" || o.matrix != nil && o.matrix.group == "/X") {
			return o.dims[0], true
		}
	}
	return 0, false
}

// sparseField makes a field of whole rows one of a sparse matrix.
func (o *object) sparseField(f *shardify.Field) error {
	m := o.matrix
	switch {
	case m.byColumns:
		return shardify.Unsupported("a sparse matrix stored by columns (csc), whose rows lie apart; adata.X = adata.X.tocsr() in anndata stores it by rows, --object selects other data sets")
	case f.Levels != 0 || len(f.Shape) != 0:
		return shardify.Unsupported("a sparse matrix of other values than numbers")
	case path.Base(o.path) == sparseIndices && (f.DType.IsFloat() || f.DType == shardify.Bool):
		return shardify.Unsupported("a sparse matrix whose indices are %s", f.DType)
	}
	f.Levels, f.Counter = 1, strings.TrimPrefix(m.group, "/")
	if f.Attrs == nil {
		f.Attrs = map[string]string{}
	}
	f.Attrs[columnsOfRows] = strconv.FormatInt(m.columns, 10)
	return nil
}

// describe says what a sparse matrix is.
func (m *sparse) describe() string {
	if m.err != nil {
		return fmt.Sprintf("%s: a sparse matrix that cannot be read: %s", cmp.Or(m.group, "/"), reason(m.err))
	}
	form := "by rows"
	if m.byColumns {
		form = "by columns (csc), which cannot be read"
	}
	share := 0.0
	if m.rows > 0 && m.columns > 0 {
		share = 100 * float64(m.stored) / float64(m.rows) / float64(m.columns)
	}
	return fmt.Sprintf("%s: a sparse matrix %s: %d %s, %d columns, %d values (%.2g%%)", cmp.Or(m.group, "/"), form, m.rows, m.what, m.columns, m.stored, share)
}
