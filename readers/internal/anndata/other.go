package anndata

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Turner is a Tree that can read arrays by columns. Loom has a column for each cell.
type Turner interface {
	// Turn makes the columns of an array of two axes its rows.
	Turn(path string)
}

// layout is how a file says which cells it has.
type layout int

const (
	none layout = iota
	annData
	tenx // of 10x Genomics: a matrix for each genome, by barcodes
	loom // a column for each cell
)

// layoutOf knows what a group is.
func layoutOf(t Tree, root string) layout {
	if text(t, root, "encoding-type") != "" {
		return none
	}
	if len(matrices(t, root)) > 0 {
		return tenx
	}
	_, turns := t.(Turner)
	names, _ := t.Members(root)
	for _, name := range []string{"col_attrs", "matrix", "row_attrs"} {
		if _, ok := slices.BinarySearch(names, name); !ok {
			return none
		}
	}
	if a, err := t.Array(join(root, "matrix")); !turns || err == nil && (a == nil || len(a.Shape) != 2) {
		return none
	}
	return loom
}

// mostGroups are looked at for matrices of 10x Genomics.
const mostGroups = 64

// matrices are the groups of 10x Genomics at a path: itself, or those in it.
func matrices(t Tree, root string) (out []string) {
	matrix := func(p string) bool {
		if a, err := t.Array(p + "/barcodes"); a == nil && err == nil {
			return false
		}
		names, ok := t.Members(p)
		for _, name := range []string{"barcodes", "data", "indices", "indptr", "shape"} {
			_, there := slices.BinarySearch(names, name)
			ok = ok && there
		}
		return ok && text(t, p, "encoding-type") == "" && text(t, p, "h5sparse_format") == ""
	}
	if root != "" && matrix(root) {
		return []string{root}
	}
	names, _ := t.Members(root)
	for _, name := range names[:min(len(names), mostGroups)] {
		if p := join(root, name); matrix(p) {
			out = append(out, p)
		}
	}
	return out
}

// tenx finds the matrix of barcodes. Its fields have the names that they have in the file.
func (m *model) tenx() error {
	groups := matrices(m.tree, m.root)
	groups = slices.DeleteFunc(groups, func(p string) bool { return len(groups) > 1 && len(m.c.Objects) > 0 && !m.wants(p) })
	if len(groups) != 1 {
		for i, p := range groups {
			groups[i] = "FILE:" + p
		}
		return shardify.Unsupported("%d genomes, each with cells and genes of its own; name one: %s", len(groups), strings.Join(groups, ", "))
	}
	p := groups[0]
	m.root, m.main, m.cells, m.vars = "", p, p+"/barcodes", p+"/features/id"
	var err error
	if m.rows, err = m.lengthOf(m.cells); err != nil {
		return err
	}
	rest := []string{"features/name", "features/feature_type", "features/genome"}
	if !has(m.tree, p, "features") {
		m.vars, rest = p+"/genes", []string{"gene_names"}
	}
	if m.genes, m.known, err = m.list(m.vars); err != nil {
		return err
	}
	if !m.known {
		m.leave(m.vars, "genes have no names without it", true)
	}
	for _, name := range rest {
		m.leaveGenes(p + "/" + name)
	}
	m.column(p, "barcodes", m.cells)
	if m.wants(p) || m.wants(p+"/data") || m.wants(p+"/indices") {
		if err := m.csr(p, p, int64(len(m.genes)), m.known); err != nil {
			m.refuse(p, err)
		}
	}
	m.others("of the whole file, not of cells", false, strings.Split(p, "/")[0])
	for i := range m.left {
		if l := &m.left[i]; !strings.Contains(l.Name, "/") && has(m.tree, l.Name, "barcodes") {
			l.Reason = "another genome"
		}
	}
	return nil
}

// loom finds the columns of Loom's matrices. Its fields have the names that they have in the file.
func (m *model) loom() error {
	turn := m.tree.(Turner).Turn
	if _, err := m.tree.Array(m.at("matrix")); err != nil {
		return shardify.Annotate(err, "", "", m.at("matrix"))
	}
	m.main, m.cells, m.vars = "matrix", "matrix", "row_attrs"
	turn(m.at("matrix"))
	a, err := m.tree.Array(m.at("matrix"))
	if err != nil || a == nil || len(a.Shape) != 2 {
		return shardify.Annotate(err, "", "", m.at("matrix"))
	}
	m.rows = a.Shape[0]
	n := a.Shape[1]
	named := []string{"Gene", "var_names", "Accession", "gene_names"} // as anndata.read_loom
	for _, name := range named {
		if !has(m.tree, m.at("row_attrs"), name) {
			continue
		}
		if m.genes, m.known, err = m.list(m.at("row_attrs/" + name)); err != nil {
			return err
		}
		m.vars = "row_attrs/" + name
		break
	}
	if !m.known {
		m.leave("row_attrs/"+named[0], "genes have no names without it, "+strings.Join(named[1:], ", "), true)
	}
	m.node("matrix", "matrix", n, true)
	if m.known && int64(len(m.genes)) != n {
		m.fields = nil
		m.refuse("matrix", shardify.Corrupt(-1, "%d rows in matrix, %d genes in %s", n, len(m.genes), m.vars))
	}
	for _, name := range m.parts("layers") {
		p := "layers/" + name
		b, err := m.tree.Array(m.at(p))
		if err == nil && b != nil && len(b.Shape) == 2 {
			turn(m.at(p))
		}
		m.node(p, p, n, true)
	}
	for _, name := range m.parts("col_attrs") {
		m.column("col_attrs", name, "col_attrs/"+name)
	}
	for _, name := range m.parts("row_attrs") {
		m.leaveGenes("row_attrs/" + name)
		if b, err := m.tree.Array(m.at("row_attrs/" + name)); err == nil && b != nil && len(b.Shape) > 0 && b.Shape[0] != n {
			m.refuse("matrix", shardify.Corrupt(-1, "%d values in row_attrs/%s, %d rows in matrix", b.Shape[0], name, n))
		}
	}
	for _, group := range []string{"col_graphs", "row_graphs"} {
		for _, name := range m.members(group) {
			m.leave(group+"/"+name, "its columns are the numbers of cells or genes, which mean others in a set", false)
		}
	}
	m.others("no part of Loom", true, "matrix", "layers", "col_attrs", "row_attrs", "col_graphs", "row_graphs")
	return nil
}

// others leaves out what else is in the root.
func (m *model) others(why string, unreadable bool, known ...string) {
	names, _ := m.tree.Members(m.root)
	for _, name := range names {
		if !slices.Contains(known, name) && name != "attrs" {
			m.leave(name, why, unreadable)
		}
	}
}

// ofGenes is why columns of genes are no fields.
const ofGenes = "of genes, not of cells; --static stores it once"

// leaveGenes leaves out an array with a value for each gene.
func (m *model) leaveGenes(p string) {
	if a, err := m.tree.Array(m.at(p)); err == nil && a != nil {
		m.perGene = append(m.perGene, p)
		m.leave(p, ofGenes, false)
	}
}

// lengthOf is the number of values of an array at a path of the tree.
func (m *model) lengthOf(p string) (int64, error) {
	a, err := m.tree.Array(p)
	if err == nil && (a == nil || len(a.Shape) != 1) {
		err = shardify.Corrupt(-1, "no list of values")
	}
	if err != nil {
		return 0, shardify.Annotate(err, "", "", p)
	}
	return a.Shape[0], nil
}

// list reads the names of genes; known is false where they are not there.
func (m *model) list(p string) (names []string, known bool, err error) {
	a, err := m.tree.Array(p)
	if err != nil || a == nil {
		return nil, false, shardify.Annotate(err, "", "", p)
	}
	if len(a.Shape) != 1 {
		return nil, false, shardify.Corrupt(-1, "%s: names of genes of shape %v", p, a.Shape)
	}
	err = m.each(p, a, func(_ int64, name string) error {
		names = append(names, strings.Clone(name))
		return nil
	})
	return names, true, err
}

// shape is that of a sparse matrix: an attribute, or with 10x Genomics an array of features and barcodes.
func (m *model) shape(p string) ([]int64, error) {
	for _, name := range []string{"shape", "h5sparse_shape"} {
		if shape := whole(m.tree, p, name); shape != nil {
			return shape, nil
		}
	}
	a, err := m.tree.Array(p + "/shape")
	if err != nil || a == nil || len(a.Shape) != 1 || a.Shape[0] != 2 || !a.DType.IsInt() {
		return nil, err
	}
	shape, err := m.integers(p+"/shape", a.DType, 0, 2)
	if err == nil {
		slices.Reverse(shape)
	}
	return shape, err
}

// What the layouts are called.
func (l layout) String() string {
	return map[layout]string{annData: "the observations of AnnData", tenx: "the barcodes of 10x Genomics", loom: "the columns of Loom"}[l]
}
