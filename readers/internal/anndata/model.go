package anndata

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// kind is where the values of a field come from.
type kind int

const (
	plain   kind = iota // an array of numbers
	texts               // an array of texts
	codes               // codes of categories
	marked              // values beside a mask
	data                // of a sparse matrix
	indices             // of a sparse matrix
	refused             // it cannot be read: err
)

// field is a field of the cells.
type field struct {
	shardify.Field
	kind   kind
	path   string   // of the values
	mask   string   // of marked ones
	many   int64    // categories
	names  []string // of those, where inputs are to have one table
	to     []int32  // their codes in that table; nil: they stay
	stored shardify.DType
	matrix *matrix  // of data and indices
	wide   bool     // dense, a column for each gene of var
	also   []string // other names that users may write
	bytes  int64
	err    error // why it cannot be read
}

// matrix is a sparse matrix, by rows unless entries gives its values in another order.
type matrix struct {
	path, name            string
	rows, columns, stored int64
	index, value          shardify.DType
	genes                 bool // its columns are those of var
	entries               func(ctx context.Context, add Add) error
}

// model is what an AnnData holds.
type model struct {
	tree   Tree
	c      *Container
	ctx    context.Context
	read   Reader
	root   string
	used   *format.Used
	layout layout
	main   string // the matrix whose columns have the names of genes
	cells  string // what has a value for each cell
	vars   string // what has one for each gene
	rows   int64
	genes  []string // of var, in order
	known  bool     // there are names of genes
	fields []field
	left   []format.Leftover
	// perGene are arrays with a value for each gene, of files that are no AnnData.
	perGene []string
	units   []unit
}

// unit is rows that are decoded together, and the bytes of one.
type unit struct {
	bytes, rows int64
	about       bool // chunks of so many rows do not end where rows do
}

// borders are where spans may end. A chunk that ends within a row is decoded for the next rows, too: so several of
// these are read together, up to joinedBytes.
func (m *model) borders() set.Borders {
	var units []set.Unit
	for _, u := range m.units {
		units = append(units, set.Unit{RowBytes: u.bytes, Rows: max(u.rows, 1)})
	}
	for i, u := range m.units {
		if u.about {
			units[i].Rows = max(u.rows*min(8, joinedBytes/set.PerRow(units)/units[i].Rows), 1)
		}
	}
	return set.JoinUnits(units, m.rows, slabBytes, keepBytes)
}

// build looks at a tree.
func build(ctx context.Context, t Tree, c *Container, used *format.Used) (m *model, err error) {
	root, ok := Root(t, c.Objects)
	m = &model{tree: t, c: c, ctx: ctx, read: t.Reader(), root: root, used: used}
	defer m.read.Close()
	if root != "" {
		used.MarkPart("object", c.Objects[0])
	}
	if !ok {
		return nil, shardify.Mismatch("no AnnData, as other inputs are")
	}
	if _, ok := t.Members(root); !ok {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "what is in it cannot be read"), "", "", "/"+root)
	}
	switch m.layout = layoutOf(t, root); m.layout {
	case tenx:
		return m, cmp.Or(m.tenx(), context.Cause(ctx))
	case loom:
		return m, cmp.Or(m.loom(), context.Cause(ctx))
	}
	m.layout, m.main, m.cells, m.vars = annData, "X", "obs", "var"
	switch text(t, root, "encoding-type") {
	case encMuData:
		var names []string
		mods, _ := t.Members(join(root, "mod"))
		for _, name := range mods {
			names = append(names, "FILE:"+join(root, "mod/"+name))
		}
		return nil, shardify.Unsupported("MuData: several AnnData, each with cells of its own; name one: %s", strings.Join(names, ", "))
	case encCollection:
		var names []string
		parts, _ := t.Members(root)
		for _, name := range parts {
			names = append(names, "FILE:"+join(root, name))
		}
		return nil, shardify.Unsupported("a collection of %d AnnData in one store; name them as inputs: %s", len(parts), strings.Join(names[:min(len(names), 3)], ", "))
	}
	if m.rows, err = m.length("obs"); err != nil {
		return nil, err
	}
	if err := m.names(); err != nil {
		return nil, err
	}
	m.node("X", "X", int64(len(m.genes)), m.known)
	for _, group := range []string{"layers", "obsm"} {
		for _, name := range m.parts(group) {
			p := group + "/" + name
			m.node(p, p, int64(len(m.genes)), m.known && group == "layers")
		}
	}
	m.frame("obs", "obs")
	m.raw()
	for _, x := range [][2]string{{"obsp", "its columns are the numbers of cells, which mean other cells in a set"}, {"varm", "of genes, not of cells"}, {"varp", "of genes, not of cells"}, {"uns", "of the whole file, not of cells"}} {
		for _, name := range m.members(x[0]) {
			m.leave(x[0]+"/"+name, x[1], false)
		}
	}
	index, _ := m.indexOf("var")
	for _, name := range m.members("var") {
		if !strings.HasPrefix(name, "_") && name != index {
			m.leave("var/"+name, ofGenes, false)
		}
	}
	for _, name := range m.members("") {
		if !slices.Contains(partsOfAnnData, name) {
			m.leave(name, "no part of an AnnData", true)
		}
	}
	return m, cmp.Or(t.Damage(), context.Cause(ctx))
}

// partsOfAnnData are the members of its group, also of older ones.
var partsOfAnnData = []string{"X", "layers", "obs", "obsm", "obsp", "var", "varm", "varp", "uns", "raw", "raw.X", "raw.var", "raw.varm"}

func (m *model) at(p string) string { return join(m.root, p) }

func (m *model) members(group string) []string {
	names, _ := m.tree.Members(m.at(group))
	return names
}

// parts are the members of a group, which is damaged if it is there and they are not.
func (m *model) parts(group string) []string {
	names, ok := m.tree.Members(m.at(group))
	if !ok && has(m.tree, m.root, group) {
		m.refuse(group, shardify.Corrupt(-1, "%s: what is in it cannot be read", group))
	}
	return names
}

func (m *model) leave(name, why string, unreadable bool) {
	m.left = append(m.left, format.Leftover{Name: name, Reason: why, Unreadable: unreadable})
}

// refuse notes what cannot be read: an error where it is wanted.
func (m *model) refuse(name string, err error) {
	if m.wants(name) {
		m.fields = append(m.fields, field{Field: shardify.Field{Name: name}, kind: refused, err: err, also: []string{name + "/data", name + "/indices", name + "/codes"}})
	}
}

// raw finds raw/X, of the same cells and other genes.
func (m *model) raw() {
	p := "raw"
	switch {
	case has(m.tree, m.root, "raw.X"):
		p = "raw."
	case !has(m.tree, m.at(p), "X"):
		return
	default:
		p = "raw/"
	}
	names, known, err := m.namesOf(p + "var")
	if err != nil {
		m.refuse("raw/X", err)
		return
	}
	m.node(p+"X", "raw/X", int64(len(names)), known)
	for i := range m.fields {
		if f := &m.fields[i]; known && (f.Name == "raw/X" && f.kind == plain || f.Name == "raw/X/indices") {
			f.Attrs = withColumns(f.Attrs, names)
		}
		if f := &m.fields[i]; f.matrix != nil && f.matrix.name == "raw/X" {
			f.matrix.genes = false
		}
	}
}

// node adds what a matrix or a frame at a path has for each cell. wide: it has a column for each
// of n genes.
func (m *model) node(path, name string, n int64, wide bool) {
	p := m.at(path)
	if !m.wants(name) {
		return
	}
	enc, version := text(m.tree, p, "encoding-type"), text(m.tree, p, "encoding-version")
	if form := text(m.tree, p, "h5sparse_format"); enc == "" && form != "" {
		enc = form + "_matrix"
	}
	parent, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		parent, base = path[:i], path[i+1:]
	}
	a, err := m.tree.Array(p)
	switch {
	case err != nil:
		m.refuse(name, err)
	case enc == "null":
	case a != nil && (enc == "" || enc == "array" || enc == "string-array"):
		m.dense(a, path, name, n, wide)
	case a != nil:
		m.refuse(name, shardify.Unsupported("%s: unknown encoding-type %s", name, enc))
	case enc == "csr_matrix" && version != "" && version != "0.1.0":
		m.refuse(name, shardify.Unsupported("%s: %s of the unknown version %s", name, enc, version))
	case enc == "csr_matrix":
		if err := m.csr(path, name, n, wide); err != nil {
			m.refuse(name, err)
		}
	case enc == Listed:
		if err := m.listed(path, name, n); err != nil {
			m.refuse(name, err)
		}
	case enc == "csc_matrix" && m.c.transpose:
		if err := m.csc(path, name, n, wide); err != nil {
			m.refuse(name, err)
		}
	case enc == "csc_matrix":
		m.refuse(name, format.Cure(shardify.Unsupported("%s is stored by columns (csc), so a row is not in one place; --csc transpose brings rows together in scratch files, or in Python:\n    adata = anndata.read_h5ad(FILE)  # or read_zarr\n    %s = %s.tocsr(); adata.write_h5ad(OTHER)", name, pythonName(name), pythonName(name)), format.With("csc", "transpose", "rows, by way of scratch files"), format.Way{Columns: []string{"!" + name}, Makes: "samples without it"}))
	case enc == "dataframe":
		if rows, err := m.length(path); err != nil {
			m.refuse(name, err)
		} else if rows != m.rows {
			m.refuse(name, shardify.Corrupt(-1, "%d rows in %s, %d cells in %s", rows, name, m.rows, m.cells))
		} else {
			m.frame(path, name)
		}
	case enc == "awkward-array":
		m.leave(name, "an awkward array, which is not read", true)
	case enc != "":
		m.refuse(name, shardify.Unsupported("%s: unknown encoding-type %s", name, enc))
	case has(m.tree, p, "indptr"):
		m.refuse(name, shardify.Corrupt(-1, "%s has the parts of a sparse matrix, and no encoding-type", name))
	case has(m.tree, m.at(parent), base):
		m.leave(name, "neither an array nor a matrix", true)
	}
}

// pythonName is how Python names a matrix.
func pythonName(name string) string {
	group, rest, ok := strings.Cut(name, "/")
	if !ok || group == "raw" {
		return "adata." + strings.ReplaceAll(name, "/", ".")
	}
	return "adata." + group + "[" + strconv.Quote(rest) + "]"
}

// dense adds an array with a row for each cell.
func (m *model) dense(a *Array, path, name string, n int64, wide bool) {
	f := field{Field: shardify.Field{Name: name, DType: a.DType}, path: m.at(path), wide: wide && name != "raw/X"}
	size := int64(a.DType.Size())
	switch {
	case a.Text || len(a.Shape) == 0:
		m.leave(name, "no array of numbers", true)
		return
	case a.Shape[0] != m.rows:
		m.refuse(name, shardify.Corrupt(-1, "%d rows in %s, %d cells in %s", a.Shape[0], name, m.rows, m.cells))
		return
	case wide && (len(a.Shape) != 2 || a.Shape[1] != n):
		m.refuse(name, shardify.Corrupt(-1, "%v columns in %s, %d genes in %s", a.Shape[1:], name, n, m.vars))
		return
	}
	for _, d := range a.Shape[1:] {
		if d < 0 || d > 1<<40 {
			m.refuse(name, shardify.Unsupported("%s of shape %v", name, a.Shape))
			return
		}
		f.Shape, size = append(f.Shape, int(d)), size*max(d, 1)
	}
	if wide && name == m.main {
		f.Attrs = withColumns(f.Attrs, m.genes)
	}
	if err := f.Validate(); err != nil {
		m.refuse(name, err)
		return
	}
	m.units = append(m.units, unit{size, a.Unit, false})
	m.fields = append(m.fields, f)
}

// arrays finds the three arrays of a sparse matrix, and its shape.
func (m *model) arrays(x *matrix) (a [3]*Array, err error) {
	shape, err := m.shape(x.path)
	if err != nil {
		return a, err
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] < 0 {
		return a, shardify.Corrupt(-1, "%s: a sparse matrix without a shape of two numbers", x.name)
	}
	for i, part := range []string{"data", "indices", "indptr"} {
		if a[i], err = m.tree.Array(x.path + "/" + part); err != nil {
			return a, err
		}
		if a[i] == nil || len(a[i].Shape) != 1 || a[i].Text {
			return a, shardify.Corrupt(-1, "%s: a sparse matrix whose %s is no array of numbers", x.name, part)
		}
		if i > 0 && !a[i].DType.IsInt() {
			return a, shardify.Corrupt(-1, "%s: a sparse matrix whose %s are %s, no whole numbers", x.name, part, a[i].DType)
		}
	}
	x.rows, x.columns, x.stored, x.index, x.value = shape[0], shape[1], a[0].Shape[0], a[1].DType, a[0].DType
	lost, err := m.tree.Missing(m.ctx, x.path+"/data")
	if err == nil && lost != "" && !m.c.Filled {
		return a, format.Cure(shardify.Corrupt(-1, "%s/data: %s; --missing-chunks fill takes zeros", x.name, lost), format.With("missing-chunks", "fill", "zeros where chunks are missing"))
	}
	return a, err
}

// csr adds a sparse matrix by rows, after a look at what must fit together in it.
func (m *model) csr(path, name string, n int64, wide bool) error {
	x := &matrix{path: m.at(path), name: name, genes: wide}
	a, err := m.arrays(x)
	if err != nil {
		return err
	}
	if err := x.check(m, a[1].Shape[0], x.rows, a[2].Shape[0], n, wide); err != nil {
		return err
	}
	if err := m.ends(x, a[2].DType, x.rows); err != nil {
		return err
	}
	u := unit{x.stored / max(x.rows, 1) * 8, 1, true}
	if chunk := max(a[0].Unit, a[1].Unit); chunk > 1 && x.rows > 0 {
		u.rows = max(chunk/max(x.stored/x.rows, 1), 1)
	}
	m.units = append(m.units, u)
	return m.sparse(x, wide)
}

// ends compares the first and the last number of indptr with what there is.
func (m *model) ends(x *matrix, t shardify.DType, lines int64) error {
	begin, err := m.integers(x.path+"/indptr", t, 0, 1)
	if err != nil {
		return err
	}
	last, err := m.integers(x.path+"/indptr", t, lines, lines+1)
	if err != nil {
		return err
	}
	switch {
	case begin[0] != 0:
		return shardify.Corrupt(-1, "%s: indptr begins at %d, not 0", x.name, begin[0])
	case last[0] != x.stored:
		return shardify.Corrupt(-1, "%s: indptr ends at %d, there are %d values", x.name, last[0], x.stored)
	}
	return nil
}

// sparse adds the two fields of a sparse matrix.
func (m *model) sparse(x *matrix, wide bool) error {
	attrs := map[string]string{"sparse_columns": strconv.FormatInt(x.columns, 10)}
	for i, part := range []string{"data", "indices"} {
		t := []shardify.DType{x.value, x.index}[i]
		f := field{Field: shardify.Field{Name: x.name + "/" + part, DType: t, Levels: 1, Counter: x.name, Attrs: attrs}, kind: data + kind(i), path: x.path + "/" + part, matrix: x, bytes: x.stored * int64(t.Size())}
		if i == 1 && wide && x.name == m.main {
			f.Attrs = withColumns(attrs, m.genes)
		}
		if err := f.Validate(); err != nil {
			return err
		}
		m.fields = append(m.fields, f)
	}
	return nil
}

// check compares the numbers that a sparse matrix gives of itself with each other and those of obs and var.
func (x *matrix) check(m *model, indices, lines, ends, genes int64, wide bool) error {
	switch {
	case ends-1 != lines:
		return shardify.Corrupt(-1, "%s: %d %s need %d numbers in indptr, it has %d", x.name, lines, map[bool]string{true: "columns", false: "rows"}[x.entries != nil], lines+1, ends)
	case indices != x.stored:
		return shardify.Corrupt(-1, "%s: %d data, %d indices", x.name, x.stored, indices)
	case x.rows != m.rows:
		return shardify.Corrupt(-1, "%d rows in %s, %d cells in %s", x.rows, x.name, m.rows, m.cells)
	case wide && x.columns != genes:
		return shardify.Corrupt(-1, "%d columns in %s, %d genes in %s", x.columns, x.name, genes, m.vars)
	}
	return nil
}

// find is the field with a name, nil without one.
func (m *model) find(name string) *field {
	if i := slices.IndexFunc(m.fields, func(f field) bool { return f.Name == name && f.kind != refused }); i >= 0 {
		return &m.fields[i]
	}
	return nil
}
