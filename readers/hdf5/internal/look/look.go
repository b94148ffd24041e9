package look

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/internal/chunks"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Facts describes a file as the choice says.
func (t *Tree) Facts(ctx context.Context, c *Choice, opts *Settings) (*survey.Facts, error) {
	why, all := c.Why, t.All
	if c.Mode != ByAxis && c.Mode != ByFile {
		if err := t.unturned(opts); err != nil {
			return nil, err
		}
	}
	taken, err := t.selectParts(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	why += taken
	if c.Mode == ByAxis {
		if t.listErr != nil {
			return nil, t.listErr
		}
		t = t.folded()
		why += t.listWhy()
	}
	f := &factory{tree: t, all: all, choice: c, opts: opts, report: &survey.Facts{Size: t.File.Size, Borders: set.Borders{Every: 1}},
		blob: Blob{Mode: c.Mode, Parent: c.parent, Stem: c.stem, Number: c.numbered, Why: why}}
	switch c.Mode {
	case ByAxis:
		err = f.byAxis(ctx)
	case ByFile:
		err = f.byFile()
	case ByItem:
		err = f.byItem()
	default:
		err = f.byGroup(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.report.Left = append(f.report.Left, t.left.list...)
	for i := range t.objects {
		if o := &t.objects[i]; o.chunk > f.report.PieceBytes && c.left[o.path] == "" {
			f.report.Piece, f.report.PieceBytes = "a chunk of "+o.path, o.chunk
		}
	}
	if f.report.Blob, err = json.Marshal(f.blob); err != nil {
		return nil, err
	}
	return f.report, nil
}

type factory struct {
	tree   *Tree
	all    *Tree // of all data sets, where the tree is of some
	choice *Choice
	opts   *Settings
	report *survey.Facts
	blob   Blob
}

func (f *factory) byAxis(ctx context.Context) error {
	n := int64(-1)
	var first *object
	var in []*object
	for i := range f.tree.objects {
		o := &f.tree.objects[i]
		why := cmp.Or(f.choice.left[o.path], f.tree.note(o), f.choice.otherDimension(o))
		if f.choice.repeated(o, f.opts) {
			if err := f.backed(o, math.MaxInt64, new(int64)); err != nil {
				return shardify.Annotate(err, "", "", o.path)
			}
			if err := f.addRows(ctx, o, o.dims, true); err != nil {
				return err
			}
			continue
		}
		if why == "" && f.opts.Alone && !f.opts.Channels.Has(o.field()) && !(o.scale && len(o.dims) == 1) {
			why = "not among --channels; --columns adds it"
		}
		if why != "" {
			if o.exact() {
				return shardify.Annotate(shardify.Mismatch("%s", why), "", "", o.path)
			}
			f.tree.left.note(o.path, why)
			continue
		}
		if len(o.dims) > 0 {
			if n >= 0 && o.dims[0] != n {
				return shardify.Mismatch("%s has %d rows, %s has %d; --object or --columns selects", first.path, n, o.path, o.dims[0])
			}
			if n < 0 {
				n, first = o.dims[0], o
			}
		}
		in = append(in, o)
	}
	if n < 0 && len(in) > 0 { // nothing but single values, for each row of others
		if l := f.tree.lists[f.choice.measure]; l != nil {
			n = l.Rows
		} else if m := f.tree.sparse[naming.Group(f.choice.measure)]; m != nil {
			n = m.Rows
		} else if a, err := f.tree.File.Dataset(f.choice.measure); err != nil {
			return shardify.Annotate(err, "", "", f.choice.measure)
		} else {
			n = a.Rows
		}
	}
	f.report.Samples = max(n, 0)
	for _, o := range in {
		if err := f.addRows(ctx, o, o.inner(), len(o.dims) == 0); err != nil {
			return err
		}
	}
	return f.borders(ctx, in)
}

func (o *object) exact() bool {
	return slices.ContainsFunc(o.wanted, func(w wantedLeaf) bool { return w.exact })
}

func (o *object) inner() []int64 {
	if len(o.dims) == 0 {
		return nil
	}
	return o.dims[1:]
}

func (f *factory) byFile() error {
	f.report.Samples = 1
	var sum int64
	for i := range f.tree.objects {
		o := &f.tree.objects[i]
		if err := f.backed(o, math.MaxInt64, &sum); err != nil {
			if o.exact() {
				return shardify.Annotate(err, "", "", o.path)
			}
			f.tree.leave(o.path, err)
			continue
		}
		if err := f.add(o, o.path, o.dims, false); err != nil {
			return err
		}
	}
	return nil
}

// addRows is add where samples are rows: all inputs must have the same coordinates.
func (f *factory) addRows(ctx context.Context, o *object, inner []int64, once bool) error {
	first := len(f.report.Fields)
	if err := f.add(o, o.path, inner, once); err != nil {
		return err
	}
	return f.report.Compare(f.tree.arrayOf(ctx, o, f.choice, f.opts), o.picks, first, f.opts.Several)
}

// add makes fields of the leaves of a data set.
func (f *factory) add(o *object, name string, inner []int64, once bool) error {
	b := BlobObject{Path: name, How: o.how, Once: once, Sparse: o.matrix != nil}
	if o.lists != nil {
		b.Lists = o.lists.Path
	}
	if m := o.matrix; m != nil {
		if n, ok := f.choice.columns[m.Group]; ok && n != m.Columns {
			return shardify.Annotate(shardify.Mismatch("a sparse matrix of %d columns, elsewhere %d", m.Columns, n), "", "", m.Group)
		}
	}
	if name == o.path {
		name = cmp.Or(o.as, name)
	}
	if b.Wide = o.wide; o.wide {
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	for i := range o.wanted {
		l := &o.wanted[i].leaf
		if o.matrix != nil { // rows of a sparse matrix are read as they are stored
			l.CF = nil
		}
		if l.CF != nil {
			if _, ok := l.CF.Time(); ok {
				b.Unit = cmp.Or(f.choice.Times[o.path], l.CF.Into())
				l.InUnit(b.Unit)
			}
			b.CF, b.Of = true, o.of
		}
	}
	b.Pandas = slices.ContainsFunc(o.wanted, func(w wantedLeaf) bool { return w.leaf.Missing != nil })
	obj, err := f.tree.File.H5.Object(o.addr, o.path)
	foreign := err != nil || obj.Addr != o.addr
	for i := range o.wanted {
		w := &o.wanted[i]
		field, err := w.leaf.Field(format.PlainName(naming.Join(strings.TrimPrefix(name, "/"), w.leaf.Name)), inner)
		if err == nil && slices.ContainsFunc(inner, func(d int64) bool { return d > math.MaxInt32*1024 }) {
			err = shardify.Unsupported("dimensions %v", inner)
		}
		if err == nil && o.lists != nil {
			err = o.listField(&field)
		}
		if err != nil {
			if w.exact {
				return shardify.Annotate(err, "", "", o.path)
			}
			f.tree.leave(naming.Join(o.path, w.leaf.Name), err)
			continue
		}
		if !foreign {
			f.attributes(&field, obj, o, &w.leaf)
		}
		if o.matrix != nil {
			if err := o.sparseField(&field); err != nil {
				return shardify.Annotate(format.Cure(err, withoutSparse(f.tree)...), "", "", o.matrix.Group)
			}
		}
		if n := len(inner); n > 0 && len(o.axes) >= n && o.lists == nil {
			var names []string
			for _, a := range o.axes[len(o.axes)-n:] {
				names = append(names, a.name)
			}
			field.NameDims(names)
		}
		f.decoded(field.Name, &w.leaf)
		b.Leaves = append(b.Leaves, w.index)
		f.report.Fields = append(f.report.Fields, survey.Field{Field: field, Bytes: f.guess(o, &w.leaf)})
	}
	if len(b.Leaves) > 0 {
		f.blob.Objects = append(f.blob.Objects, b)
	}
	return nil
}

// attributes are what the file says about a field.
func (f *factory) attributes(field *shardify.Field, obj *h5.Object, o *object, l *element.Leaf) {
	file := f.tree.File
	attrs := l.CFAttrs(element.FieldAttrs(file.H5, obj, field.Attrs))
	if f.opts.cf && field.DType.IsInt() && (field.Levels == 0 || o.lists != nil) {
		attrs = element.WithFlags(file.H5, obj, attrs)
	}
	if f.tree.Kind.Pytables && l.Of == "" && !o.wide {
		names := frameColumns(file, obj, o.path, l.Name)
		attrs = element.WithColumns(attrs, names, field)
		if len(names) > maxFrameColumns && f.opts.frame == "auto" {
			f.blob.Why += fmt.Sprintf("; %s: %d columns of pandas' frame in one field, --frame columns makes a field of each", field.Name, len(names))
		}
	}
	if f.tree.Kind.Pytables {
		attrs = element.WithCategories(attrs, categories(file, obj, o.path, cmp.Or(l.Of, l.Name)))
		if field.DType == shardify.I64 {
			attrs = withTimes(attrs, file, obj, cmp.Or(l.Of, l.Name))
		}
	}
	if p := f.tree.categories[o.path]; p != "" && f.choice.Mode == ByAxis { // else the names are a field
		attrs = withNames(file, attrs, p)
	}
	field.Attrs = attrs
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
func (f *factory) guess(o *object, l *element.Leaf) int64 {
	values := o.bytes / max(o.elem, 1) * int64(l.At.Values())
	switch l.Kind {
	case element.Numbers:
		if o.matrix != nil || o.lists != nil {
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
func (f *factory) borders(ctx context.Context, in []*object) error {
	var units []set.Unit
	for _, o := range in {
		if len(o.dims) > 0 {
			units = append(units, set.Unit{RowBytes: o.rowBytes(), Rows: o.unit})
		}
	}
	picked, n := f.tree.rows, f.report.Samples
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
			return shardify.Annotate(err, "", "", o.path)
		}
	}
	return nil
}

// chunks finds the chunks whose rows make samples, whatever columns are wanted.
func (f *factory) chunks(ctx context.Context) error {
	t := f.tree
	if f.all != nil {
		if _, err := f.all.selectParts(ctx, f.choice, f.opts); err != nil {
			return err
		}
		t = f.all.folded()
	}
	var arrays []chunks.Array
	for i := range t.objects {
		o := &t.objects[i]
		if o.chunkRows > 0 && cmp.Or(f.choice.left[o.path], t.note(o), f.choice.otherDimension(o)) == "" {
			arrays = append(arrays, chunks.Array{Name: o.field(), RowBytes: o.rowBytes(), Rows: o.chunkRows})
		}
	}
	dim := ""
	if len(f.choice.dimension) > 0 {
		dim = f.choice.dimension[0]
	}
	size, notes, err := chunks.Of(arrays, f.tree.rows, dim)
	if err != nil {
		return err
	}
	f.blob.Chunk, f.blob.Why = size, strings.Join(append([]string{f.blob.Why}, notes...), "; ")
	return nil
}

func (o *object) rowBytes() int64 {
	if len(o.dims) == 0 {
		return o.bytes
	}
	return o.bytes / max(o.dims[0], 1)
}

// backed refuses claims of memory without bytes behind them, of n rows or all.
func (f *factory) backed(o *object, n int64, sum *int64) error {
	n = min(n, o.rowCount())
	if o.matrix != nil || o.lists != nil { // a span shows when it is read
		return nil
	}
	if o.rowBytes() == 0 || n <= array.SmallClaim/o.rowBytes() {
		return nil
	}
	a, err := f.tree.File.Dataset(o.path)
	if err != nil {
		return err
	}
	return a.Claim(n, sum)
}

func (o *object) rowCount() int64 {
	if len(o.dims) == 0 {
		return 1
	}
	return o.dims[0]
}
