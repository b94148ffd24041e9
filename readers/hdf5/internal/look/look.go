package look

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/chunks"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Facts describes a file as the choice says.
func Facts(ctx context.Context, t *tree.Tree, c *Choice, opts *tree.Settings) (*survey.Facts, error) {
	why, all := c.Why, t.All
	if c.Mode != tree.ByAxis && c.Mode != tree.ByFile {
		if err := t.Unturn(opts); err != nil {
			return nil, err
		}
	}
	picked, taken, err := selectParts(ctx, t, c, opts)
	if err != nil {
		return nil, err
	}
	why += taken
	if c.Mode == tree.ByAxis {
		if t.ListErr != nil {
			return nil, t.ListErr
		}
		t = t.Folded()
		why += listWhy(t)
	}
	f := &factory{tree: t, all: all, choice: c, opts: opts, picked: picked, report: &survey.Facts{Size: t.File.Size, Borders: set.Borders{Every: 1}},
		blob: Blob{Mode: c.Mode, Parent: c.Parent, Stem: c.Stem, Number: c.numbered, Each: c.each, Why: why}}
	switch c.Mode {
	case tree.ByAxis:
		err = f.byAxis(ctx)
	case tree.ByFile:
		err = f.byFile()
	case tree.ByItem:
		err = f.byItem()
	default:
		err = f.byGroup(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.report.Left = append(f.report.Left, t.Left...)
	for i := range t.Objects {
		if o := &t.Objects[i]; o.Chunk > f.report.PieceBytes && c.left[o.Path] == "" {
			f.report.Piece, f.report.PieceBytes = "a chunk of "+o.Path, o.Chunk
		}
	}
	if f.report.Blob, err = json.Marshal(f.blob); err != nil {
		return nil, err
	}
	return f.report, nil
}

type factory struct {
	tree   *tree.Tree
	all    *tree.Tree // of all data sets, where the tree is of some
	choice *Choice
	opts   *tree.Settings
	picked grid.Pick // the rows that are taken of the samples' dimension; nil is all
	report *survey.Facts
	blob   Blob
}

func (f *factory) byAxis(ctx context.Context) error {
	n := int64(-1)
	var first *tree.Object
	var in []*tree.Object
	for i := range f.tree.Objects {
		o := &f.tree.Objects[i]
		why := cmp.Or(f.choice.left[o.Path], o.Why(), f.choice.otherDimension(o))
		if f.choice.repeated(o, f.opts) {
			if err := f.backed(o, math.MaxInt64, new(int64)); err != nil {
				return shardify.Annotate(err, "", "", o.Path)
			}
			if err := f.addRows(ctx, o, o.Dims, true); err != nil {
				return err
			}
			continue
		}
		if why == "" && f.opts.Alone && !f.opts.Channels.Has(fieldName(o)) && !(o.Scale && len(o.Dims) == 1) {
			why = "not among --channels; --columns adds it"
		}
		if why != "" {
			if exact(o) {
				return shardify.Annotate(shardify.Mismatch("%s", why), "", "", o.Path)
			}
			f.tree.Omit(o.Path, why)
			continue
		}
		if len(o.Dims) > 0 {
			if n >= 0 && o.Dims[0] != n {
				return shardify.Mismatch("%s has %d rows, %s has %d; --object or --columns selects", first.Path, n, o.Path, o.Dims[0])
			}
			if n < 0 {
				n, first = o.Dims[0], o
			}
		}
		in = append(in, o)
	}
	if n < 0 && len(in) > 0 { // nothing but single values, for each row of others
		if l := f.tree.Lists[f.choice.measure]; l != nil {
			n = l.Rows
		} else if m := f.tree.Sparse[naming.Group(f.choice.measure)]; m != nil {
			n = m.Rows
		} else if a, err := f.tree.File.Dataset(f.choice.measure); err != nil {
			return shardify.Annotate(err, "", "", f.choice.measure)
		} else {
			n = a.Rows
		}
	}
	f.report.Samples = max(n, 0)
	for _, o := range in {
		if err := f.addRows(ctx, o, inner(o), len(o.Dims) == 0); err != nil {
			return err
		}
	}
	return f.borders(ctx, in)
}

func exact(o *tree.Object) bool {
	return slices.ContainsFunc(o.Wanted, func(w tree.Wanted) bool { return w.Exact })
}

func inner(o *tree.Object) []int64 {
	if len(o.Dims) == 0 {
		return nil
	}
	return o.Dims[1:]
}

func (f *factory) byFile() error {
	f.report.Samples = 1
	var sum int64
	for i := range f.tree.Objects {
		o := &f.tree.Objects[i]
		if err := f.backed(o, math.MaxInt64, &sum); err != nil {
			if exact(o) {
				return shardify.Annotate(err, "", "", o.Path)
			}
			f.tree.Leave(o.Path, err)
			continue
		}
		if err := f.add(o, o.Path, o.Dims, false); err != nil {
			return err
		}
	}
	return nil
}

// addRows is add where samples are rows: all inputs must have the same coordinates.
func (f *factory) addRows(ctx context.Context, o *tree.Object, inner []int64, once bool) error {
	first := len(f.report.Fields)
	if err := f.add(o, o.Path, inner, once); err != nil {
		return err
	}
	return f.report.Compare(arrayOf(ctx, f.tree, o, f.choice, f.opts), o.Picks, first, f.opts.Several)
}

// add makes fields of the leaves of a data set.
func (f *factory) add(o *tree.Object, name string, inner []int64, once bool) error {
	b := BlobObject{Path: name, How: o.How, Once: once, Sparse: o.Matrix != nil}
	if o.Lists != nil {
		if b.Lists = o.Lists.Path; o.Lists.By != nil {
			b.By = &o.Lists.By.Rule
		}
	}
	if m := o.Matrix; m != nil {
		if n, ok := f.choice.columns[m.Group]; ok && n != m.Columns {
			return shardify.Annotate(shardify.Mismatch("a sparse matrix of %d columns, elsewhere %d", m.Columns, n), "", "", m.Group)
		}
	}
	if name == o.Path {
		name = cmp.Or(o.As, name)
	}
	if b.Wide = o.Wide; o.Wide {
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	for i := range o.Wanted {
		l := &o.Wanted[i].Leaf
		if o.Matrix != nil { // rows of a sparse matrix are read as they are stored
			l.CF = nil
		}
		if l.CF != nil {
			if _, ok := l.CF.Time(); ok {
				b.Unit = cmp.Or(f.choice.Times[o.Path], l.CF.Into())
				l.InUnit(b.Unit)
			}
			b.CF, b.Of = true, o.Of
		}
	}
	b.Pandas = slices.ContainsFunc(o.Wanted, func(w tree.Wanted) bool { return w.Leaf.Missing != nil })
	obj, err := f.tree.File.H5.Object(o.Addr, o.Path)
	foreign := err != nil || obj.Addr != o.Addr
	for i := range o.Wanted {
		w := &o.Wanted[i]
		field, err := w.Leaf.Field(format.PlainName(naming.Join(strings.TrimPrefix(name, "/"), w.Leaf.Name)), inner)
		if err == nil && slices.ContainsFunc(inner, func(d int64) bool { return d > math.MaxInt32*1024 }) {
			err = shardify.Unsupported("dimensions %v", inner)
		}
		if err == nil && o.Lists != nil {
			err = listField(o, &field)
		}
		if err != nil {
			if w.Exact {
				return shardify.Annotate(err, "", "", o.Path)
			}
			f.tree.Leave(naming.Join(o.Path, w.Leaf.Name), err)
			continue
		}
		if !foreign {
			f.blob.Why += f.tree.FieldAttrs(&field, obj, o, &w.Leaf, f.opts, f.choice.Mode == tree.ByAxis)
		}
		if o.Matrix != nil {
			if err := sparseField(o, &field); err != nil {
				return shardify.Annotate(format.Cure(err, withoutSparse(f.tree)...), "", "", o.Matrix.Group)
			}
		}
		if n := len(inner); n > 0 && len(o.Axes) >= n && o.Lists == nil {
			var names []string
			for _, a := range o.Axes[len(o.Axes)-n:] {
				names = append(names, a.Name)
			}
			field.NameDims(names)
		}
		f.decoded(field.Name, &w.Leaf)
		b.Leaves = append(b.Leaves, w.Index)
		f.report.Fields = append(f.report.Fields, survey.Field{Field: field, Bytes: f.guess(o, &w.Leaf)})
	}
	if len(b.Leaves) > 0 {
		f.blob.Objects = append(f.blob.Objects, b)
	}
	return nil
}

// decoded notes what attributes make of a field.
func (f *factory) decoded(name string, l *element.Leaf) {
	if l.Media != "" {
		f.opts.Used.Mark(format.OptText.Name)
	}
	if l.CF != nil {
		f.blob.Decoded = append(f.blob.Decoded, name+" "+l.CF.Describe())
	}
	for _, note := range l.Notes {
		f.blob.Decoded = append(f.blob.Decoded, name+": "+note)
	}
}

// guess is about how many bytes a varying leaf has in the whole data set.
func (f *factory) guess(o *tree.Object, l *element.Leaf) int64 {
	values := o.Bytes / max(o.Elem, 1) * int64(l.At.Values())
	switch l.Kind {
	case element.Numbers:
		if o.Matrix != nil || o.Lists != nil {
			return values * int64(l.Num.DType.Size())
		}
	case element.Texts:
		return values * int64(l.Size)
	case element.VarText, element.VarList:
		return min(values*64, f.tree.File.Size)
	}
	return 0
}

// SlabBytes bounds what is decoded together; rows of chunks larger than that are
// decoded more than once. Tests make it small.
var SlabBytes int64 = 512 << 20

// borders finds where spans may be cut without decoding a chunk twice.
func (f *factory) borders(ctx context.Context, in []*tree.Object) error {
	var units []set.Unit
	for _, o := range in {
		if len(o.Dims) > 0 {
			units = append(units, set.Unit{RowBytes: rowBytes(o), Rows: o.Unit})
		}
	}
	picked, n := f.picked, f.report.Samples
	if picked != nil { // units are of stored rows
		n = math.MaxInt64
	}
	f.report.Borders = set.JoinUnits(units, n, SlabBytes, array.KeepRow)
	unit, perRow := f.report.Borders.Every, set.PerRow(units)
	if picked != nil && unit > 1 {
		f.report.Borders = set.Borders{At: picked.Borders(unit), Inside: f.report.Borders.Inside}
	}
	if f.opts.Chunked {
		if err := f.chunks(ctx); err != nil {
			return err
		}
	}
	if f.report.Borders.Inside > 0 {
		unit = f.report.Borders.Inside
	}
	var sum int64
	for _, o := range in {
		if err := f.backed(o, max(unit, array.SmallClaim/perRow), &sum); err != nil {
			return shardify.Annotate(err, "", "", o.Path)
		}
	}
	return nil
}

// chunks finds the chunks whose rows make samples, whatever columns are wanted.
func (f *factory) chunks(ctx context.Context) error {
	t := f.tree
	if f.all != nil {
		if _, _, err := selectParts(ctx, f.all, f.choice, f.opts); err != nil {
			return err
		}
		t = f.all.Folded()
	}
	var arrays []chunks.Array
	for i := range t.Objects {
		o := &t.Objects[i]
		if o.ChunkRows > 0 && cmp.Or(f.choice.left[o.Path], o.Why(), f.choice.otherDimension(o)) == "" {
			arrays = append(arrays, chunks.Array{Name: fieldName(o), RowBytes: rowBytes(o), Rows: o.ChunkRows})
		}
	}
	dim := ""
	if len(f.choice.dimension) > 0 {
		dim = f.choice.dimension[0]
	}
	size, notes, err := chunks.Of(arrays, f.picked, dim)
	if err != nil {
		return err
	}
	f.blob.Chunk, f.blob.Why = size, strings.Join(append([]string{f.blob.Why}, notes...), "; ")
	return nil
}

func rowBytes(o *tree.Object) int64 {
	if len(o.Dims) == 0 {
		return o.Bytes
	}
	return o.Bytes / max(o.Dims[0], 1)
}

// backed refuses claims of memory without bytes behind them, of n rows or all.
func (f *factory) backed(o *tree.Object, n int64, sum *int64) error {
	n = min(n, rowCount(o))
	if o.Matrix != nil || o.Lists != nil { // a span shows when it is read
		return nil
	}
	if rowBytes(o) == 0 || n <= array.SmallClaim/rowBytes(o) {
		return nil
	}
	a, err := f.tree.File.Dataset(o.Path)
	if err != nil {
		return err
	}
	return a.Claim(n, sum)
}

func rowCount(o *tree.Object) int64 {
	if len(o.Dims) == 0 {
		return 1
	}
	return o.Dims[0]
}

// sparseColumns is where the fields of a sparse matrix say how many columns it has.
const sparseColumns = "sparse_columns"

// sparseField makes a field of whole rows one of a sparse matrix.
func sparseField(o *tree.Object, f *shardify.Field) *shardify.Error {
	m := o.Matrix
	switch {
	case m.ByColumns:
		return shardify.Unsupported("a sparse matrix stored by columns (csc), whose rows lie apart; adata.X = adata.X.tocsr() in anndata stores it by rows, S = full(S) in MATLAB makes it dense")
	case f.Levels != 0 || len(f.Shape) != 0:
		return shardify.Unsupported("a sparse matrix of other values than numbers")
	case path.Base(o.Path) == m.Indices && (f.DType.IsFloat() || f.DType == shardify.Bool):
		return shardify.Unsupported("a sparse matrix whose indices are %s", f.DType)
	}
	f.Levels, f.Counter = 1, m.Counter
	f.Attrs = element.WithAttr(f.Attrs, sparseColumns, strconv.FormatInt(m.Columns, 10))
	return nil
}

// withoutSparse is the way to read what is not in a sparse matrix by columns, if there is any.
func withoutSparse(t *tree.Tree) []format.Way {
	var out []string
	rest := false
	for i := range t.Objects {
		switch m := t.Objects[i].Matrix; {
		case m == nil:
			rest = rest || t.Objects[i].Why() == ""
		case m.ByColumns && !slices.Contains(out, "!"+strings.TrimPrefix(m.Group, "/")):
			out = append(out, "!"+strings.TrimPrefix(m.Group, "/"))
		}
	}
	if !rest || out == nil {
		return nil
	}
	return []format.Way{{Columns: out, Makes: "samples without it"}}
}

// listField makes a field of flat values one of lists.
func listField(o *tree.Object, f *shardify.Field) error {
	if o.Lists.Of != "" {
		return shardify.Unsupported("lists of lists, by %s and %s; --lists off --sample file reads the arrays as they are", o.Lists.Of, o.Lists.Path)
	}
	if f.Levels != 0 {
		return shardify.Unsupported("texts, or lists, in lists by %s", o.Lists.Path)
	}
	f.Levels, f.Counter = 1, o.Lists.Counter
	return nil
}

// listWhy says which data sets are lists.
func listWhy(t *tree.Tree) string {
	by := map[string][]string{}
	var order []string
	for i := range t.Objects {
		if l := t.Objects[i].Lists; l != nil && l.Of == "" {
			if by[l.Path] == nil {
				order = append(order, l.Path)
			}
			by[l.Path] = append(by[l.Path], t.Objects[i].Path)
		}
	}
	text := ""
	for _, p := range order {
		names := by[p]
		what := strings.Join(names[:min(len(names), 4)], ", ")
		if len(names) > 4 {
			what += fmt.Sprintf(" and %d more", len(names)-4)
		}
		text += fmt.Sprintf("; %s: lists by %s", what, p)
	}
	return text
}
