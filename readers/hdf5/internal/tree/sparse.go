package tree

import (
	"cmp"
	"path"
	"slices"

	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

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
	s.tree.Sparse[prefix] = m
	return nil
}

// Folded is the tree where data and indices of sparse matrices have their rows: as it is
// seen where rows are the samples.
func (t *Tree) Folded() *Tree {
	if len(t.Sparse)+len(t.categories)+len(t.Lists)+len(t.listNotes) == 0 {
		return t
	}
	names := map[string]bool{}
	for _, p := range t.categories {
		names[p] = true
	}
	c := *t
	c.Objects = slices.Clone(t.Objects)
	for i := range c.Objects {
		o := &c.Objects[i]
		if names[o.Path] {
			o.Note = "the names that codes stand for, kept with them"
			continue
		}
		t.foldLists(o)
		m := t.Sparse[naming.Group(o.Path)]
		if m == nil {
			continue
		}
		switch base := path.Base(o.Path); {
		case m.Err != nil && (base == column.MatrixData || base == m.Indices || base == m.Ends):
			o.Note = Reason(m.Err)
		case base == column.MatrixData || base == m.Indices:
			o.Matrix, o.Dims, o.Unlimited, o.Unit, o.ChunkRows, o.Axes = m, []int64{m.Rows}, []bool{false}, 1, 0, nil
		case base == m.Ends:
			o.Note = "where the " + m.What + " of a sparse matrix end, kept with its fields"
		case base == "shape" && m.Err == nil:
			o.Note = "the shape of a sparse matrix, kept with its fields"
		}
	}
	return &c
}

// foldLists gives an object of a folded tree its lists.
func (t *Tree) foldLists(o *Object) {
	if note := t.listNotes[o.Path]; note != "" {
		o.Note = note
		return
	}
	if l := t.Lists[o.Path]; l != nil {
		o.Lists, o.Dims = l, append([]int64{l.Rows}, o.Dims[1:]...)
		o.Unlimited, o.Unit, o.ChunkRows, o.Axes = make([]bool, len(o.Dims)), 1, 0, nil
	}
}
