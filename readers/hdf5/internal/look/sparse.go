package look

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

// SparseColumns is where the fields of a sparse matrix say how many columns it has.
const SparseColumns = "sparse_columns"

// sparse notes a group that is a sparse matrix.
func (s *scanner) sparse(g *h5.Object, prefix string, links []h5.Link) error {
	at := slices.IndexFunc(column.MatrixNames, func(n [2]string) bool { return hasLink(links, n[0]) && hasLink(links, n[1]) })
	if at < 0 || !hasLink(links, column.MatrixData) {
		return nil
	}
	names := column.MatrixNames[at]
	m, err := s.tree.File.Matrix(s.ctx, g, prefix, names, hasLink(links, "shape") && hasLink(links, "barcodes"))
	if e := s.ctx.Err(); e != nil {
		return e
	}
	if err != nil {
		s.tree.File.Fault(cmp.Or(prefix, "/"), err)
		m = &column.Matrix{Group: prefix, Indices: names[0], Ends: names[1], Err: err}
	}
	if m == nil {
		return nil
	}
	s.tree.sparse[prefix] = m
	return nil
}

// folded is the tree where data and indices of sparse matrices have their rows: as it is
// seen where rows are the samples.
func (t *Tree) folded() *Tree {
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
		m := t.sparse[naming.Group(o.path)]
		if m == nil {
			continue
		}
		switch base := path.Base(o.path); {
		case m.Err != nil && (base == column.MatrixData || base == m.Indices || base == m.Ends):
			o.note = Reason(m.Err)
		case base == column.MatrixData || base == m.Indices:
			o.matrix, o.dims, o.unlimited, o.unit, o.chunkRows, o.axes = m, []int64{m.Rows}, []bool{false}, 1, 0, nil
		case base == m.Ends:
			o.note = "where the " + m.What + " of a sparse matrix end, kept with its fields"
		case base == "shape" && m.Err == nil:
			o.note = "the shape of a sparse matrix, kept with its fields"
		}
	}
	return &c
}

// note says why a data set is no column wherever its rows are samples.
func (t *Tree) note(o *object) string { return cmp.Or(o.note, t.frameNote(o), t.awkwardNote(o)) }

// largest finds the sparse matrix that holds most values.
func (t *Tree) largest() (best *column.Matrix) {
	for i := range t.objects {
		if m := t.objects[i].matrix; m != nil && (best == nil || m.Stored > best.Stored) {
			best = m
		}
	}
	return best
}

// observations finds the rows of AnnData's X.
func (t *Tree) observations() (int64, bool) {
	for i := range t.objects {
		o := &t.objects[i]
		if t.Kind.anndata && len(o.dims) > 0 && (o.path == "/X" || o.matrix != nil && o.matrix.Group == "/X") {
			return o.dims[0], true
		}
	}
	return 0, false
}

// sparseField makes a field of whole rows one of a sparse matrix.
func (o *object) sparseField(f *shardify.Field) *shardify.Error {
	m := o.matrix
	switch {
	case m.ByColumns:
		return shardify.Unsupported("a sparse matrix stored by columns (csc), whose rows lie apart; adata.X = adata.X.tocsr() in anndata stores it by rows, S = full(S) in MATLAB makes it dense")
	case f.Levels != 0 || len(f.Shape) != 0:
		return shardify.Unsupported("a sparse matrix of other values than numbers")
	case path.Base(o.path) == m.Indices && (f.DType.IsFloat() || f.DType == shardify.Bool):
		return shardify.Unsupported("a sparse matrix whose indices are %s", f.DType)
	}
	f.Levels, f.Counter = 1, m.Counter
	f.Attrs = element.WithAttr(f.Attrs, SparseColumns, strconv.FormatInt(m.Columns, 10))
	return nil
}

// withoutSparse is the way to read what is not in a sparse matrix by columns, if there is any.
func withoutSparse(t *Tree) []format.Way {
	var out []string
	rest := false
	for i := range t.objects {
		switch m := t.objects[i].matrix; {
		case m == nil:
			rest = rest || t.note(&t.objects[i]) == ""
		case m.ByColumns && !slices.Contains(out, "!"+strings.TrimPrefix(m.Group, "/")):
			out = append(out, "!"+strings.TrimPrefix(m.Group, "/"))
		}
	}
	if !rest || out == nil {
		return nil
	}
	return []format.Way{{Columns: out, Makes: "samples without it"}}
}
