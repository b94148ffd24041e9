package hdf5

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cf"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// blob is what readers of a file must know from the survey: which data sets and
// leaves its fields are. It says nothing of sizes or places, so that the files of
// a set share one.
type blob struct {
	Mode   mode   `json:"mode"`
	Parent string `json:"parent,omitempty"`
	Stem   string `json:"stem,omitempty"`
	Number bool   `json:"numbered,omitempty"`
	Why    string `json:"why"`
	// Of data sets that are samples: other names in their group Parent, and the data set
	// that lists the names in order.
	Not     []string     `json:"not,omitempty"`
	Order   string       `json:"order,omitempty"`
	Decoded []string     `json:"decoded,omitempty"` // fields that attributes change, in words
	Objects []blobObject `json:"objects"`
}

// shapeLeaf stands in a blob behind a leaf of numbers whose shape varies, for the
// field that holds the shape. Texts and lists have none.
const shapeLeaf = -1

// blobObject is a data set whose leaves are fields, one after the other.
type blobObject struct {
	Path   string `json:"path"` // in a group that is a sample: below it
	Leaves []int  `json:"leaves"`
	Ragged bool   `json:"ragged,omitempty"`
	Sparse bool   `json:"sparse,omitempty"` // data or indices of a sparse matrix
	Lists  string `json:"lists,omitempty"`  // where the lists of flat values begin
	Wide   bool   `json:"wide,omitempty"`   // leaves are columns of its rows
	Item   bool   `json:"item,omitempty"`   // Path is a group whose data sets are samples
	Bytes  bool   `json:"bytes,omitempty"`  // the whole of a data set is one value of bytes
	Once   bool   `json:"once,omitempty"`   // rank 0: one value for all samples of the file

	How  *array.Order `json:"how,omitempty"`  // in which order its axes are read
	CF   bool         `json:"cf,omitempty"`   // attributes say what its values are
	Of   string       `json:"of,omitempty"`   // the data set whose bounds it holds
	Unit cf.Unit      `json:"unit,omitempty"` // of times
}

// facts describes a file as the choice says.
func (t *tree) facts(ctx context.Context, c *choice, opts *settings) (*rows.Facts, error) {
	why := c.why
	if c.mode != byAxis && c.mode != byFile {
		if err := t.unturned(opts); err != nil {
			return nil, err
		}
	}
	if c.mode == byAxis {
		if t.listErr != nil {
			return nil, t.listErr
		}
		t = t.folded()
		why += t.listWhy()
	}
	f := &factory{tree: t, choice: c, opts: opts, facts: &rows.Facts{Size: t.file.Size, Borders: rows.Borders{Every: 1}},
		blob: blob{Mode: c.mode, Parent: c.parent, Stem: c.stem, Number: c.numbered, Why: why}}
	var err error
	switch c.mode {
	case byAxis:
		err = f.byAxis()
	case byFile:
		err = f.byFile()
	case byItem:
		err = f.byItem()
	default:
		err = f.byGroup(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.facts.Left = append(f.facts.Left, t.left.all()...)
	for i := range t.objects {
		if o := &t.objects[i]; o.chunk > f.facts.PieceBytes && c.left[o.path] == "" {
			f.facts.Piece, f.facts.PieceBytes = "a chunk of "+o.path, o.chunk
		}
	}
	if f.facts.Blob, err = json.Marshal(f.blob); err != nil {
		return nil, err
	}
	return f.facts, nil
}

type factory struct {
	tree   *tree
	choice *choice
	opts   *settings
	facts  *rows.Facts
	blob   blob
}

func (f *factory) byAxis() error {
	n := int64(-1)
	var first *object
	var in []*object
	for i := range f.tree.objects {
		o := &f.tree.objects[i]
		why := cmp.Or(f.choice.left[o.path], f.tree.note(o), f.choice.otherDimension(o))
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
			n = l.rows
		} else if m := f.tree.sparse[groupOf(f.choice.measure)]; m != nil {
			n = m.rows
		} else if a, err := f.tree.file.array(f.choice.measure); err != nil {
			return shardify.Annotate(err, "", "", f.choice.measure)
		} else {
			n = a.Rows
		}
	}
	f.facts.Samples = max(n, 0)
	for _, o := range in {
		if err := f.add(o, o.path, o.inner(), len(o.dims) == 0); err != nil {
			return err
		}
	}
	return f.borders(in)
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
	f.facts.Samples = 1
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

// add makes fields of the leaves of a data set.
func (f *factory) add(o *object, name string, inner []int64, once bool) error {
	b := blobObject{Path: name, How: o.how, Once: once, Sparse: o.matrix != nil}
	if o.lists != nil {
		b.Lists = o.lists.path
	}
	if m := o.matrix; m != nil {
		if n, ok := f.choice.columns[m.group]; ok && n != m.columns {
			return shardify.Annotate(shardify.Mismatch("a sparse matrix of %d columns, elsewhere %d", m.columns, n), "", "", m.group)
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
			l.cf = nil
		}
		if l.cf != nil {
			if _, ok := l.cf.Time(); ok {
				b.Unit = cmp.Or(f.choice.times[o.path], l.cf.Into())
				l.inUnit(b.Unit)
			}
			b.CF, b.Of = true, o.of
		}
	}
	obj, err := f.tree.file.H5.Object(o.addr, o.path)
	foreign := err != nil || obj.Addr != o.addr
	for i := range o.wanted {
		w := &o.wanted[i]
		field, err := w.leaf.field(join(strings.TrimPrefix(name, "/"), w.leaf.name), inner)
		if err == nil && slices.ContainsFunc(inner, func(d int64) bool { return d > math.MaxInt32*1024 }) {
			err = shardify.Unsupported("dimensions %v", inner)
		}
		if err != nil {
			if w.exact {
				return shardify.Annotate(err, "", "", o.path)
			}
			f.tree.leave(join(o.path, w.leaf.name), err)
			continue
		}
		if !foreign {
			field.Attrs = w.leaf.cfAttrs(fieldAttrs(f.tree.file.H5, obj, field.Attrs))
			if f.opts.cf && field.DType.IsInt() && field.Levels == 0 {
				field.Attrs = withFlags(f.tree.file.H5, obj, field.Attrs)
			}
			if f.tree.kind.pytables {
				field.Attrs = f.frameAttrs(&field, obj, o, &w.leaf)
			}
			if p := f.tree.categories[o.path]; p != "" && f.choice.mode == byAxis { // else the names are a field
				field.Attrs = f.tree.file.withNames(field.Attrs, p)
			}
		}
		if o.lists != nil {
			if err := o.listField(&field); err != nil {
				if w.exact {
					return shardify.Annotate(err, "", "", o.path)
				}
				f.tree.leave(join(o.path, w.leaf.name), err)
				continue
			}
		}
		if o.matrix != nil {
			if err := o.sparseField(&field); err != nil {
				return shardify.Annotate(err, "", "", o.matrix.group)
			}
		}
		f.decoded(field.Name, &w.leaf)
		b.Leaves = append(b.Leaves, w.index)
		f.facts.Fields = append(f.facts.Fields, rows.Field{Field: field, Bytes: f.guess(o, &w.leaf)})
	}
	if len(b.Leaves) > 0 {
		f.blob.Objects = append(f.blob.Objects, b)
	}
	return nil
}

// frameAttrs are what a pandas frame says about a field.
func (f *factory) frameAttrs(field *shardify.Field, obj *h5.Object, o *object, l *leaf) map[string]string {
	attrs := field.Attrs
	if l.of == "" && !o.wide {
		names := frameColumns(f.tree.file, obj, o.path, l.name)
		attrs = withColumns(attrs, names, field)
		if len(names) > maxFrameColumns && f.opts.frame == "auto" {
			f.blob.Why += fmt.Sprintf("; %s: %d columns of pandas' frame in one field, --frame columns makes a field of each", field.Name, len(names))
		}
	}
	return withCategories(attrs, f.tree.file.categories(obj, o.path, cmp.Or(l.of, l.name)))
}

// decoded notes what attributes make of a field.
func (f *factory) decoded(name string, l *leaf) {
	if l.cf != nil {
		f.blob.Decoded = append(f.blob.Decoded, name+" "+l.cf.Describe())
	}
	for _, note := range l.notes {
		f.blob.Decoded = append(f.blob.Decoded, name+": "+note)
	}
}

// guess is about how many bytes a varying leaf has in the whole data set.
func (f *factory) guess(o *object, l *leaf) int64 {
	values := o.bytes / max(o.elem, 1) * int64(l.at.Values())
	switch l.kind {
	case numbers:
		if o.matrix != nil || o.lists != nil {
			return values * int64(l.num.DType.Size())
		}
	case texts:
		return values * int64(l.size)
	case varText, varList:
		return min(values*64, f.tree.file.Size)
	}
	return 0
}

// slabBytes bounds what is decoded together; rows of chunks larger than that are
// decoded more than once. Tests make it small.
var slabBytes int64 = 512 << 20

// borders finds where spans may be cut without decoding a chunk twice.
func (f *factory) borders(in []*object) error {
	perRow := int64(0)
	for _, o := range in {
		if len(o.dims) > 0 && o.dims[0] > 0 {
			perRow += o.bytes / o.dims[0]
		}
	}
	perRow = max(perRow, 1)
	order := slices.Clone(in)
	slices.SortStableFunc(order, func(a, b *object) int { return compareBytes(b, a) })
	unit := int64(1)
	for _, o := range order {
		if len(o.dims) == 0 || o.unit <= 1 {
			continue
		}
		joined := lcm(unit, o.unit)
		switch {
		case joined <= 4<<20/perRow, unit == 1:
			unit = joined
		case o.rowBytes()*o.unit > array.KeepRow && joined <= slabBytes/perRow:
			unit = joined
		}
	}
	if unit > f.facts.Samples {
		unit = max(f.facts.Samples, 1)
	}
	f.facts.Borders.Every = unit
	if rows := slabBytes / perRow; unit > rows {
		f.facts.Borders.Inside = max(rows, 1)
		unit = f.facts.Borders.Inside
	}
	var sum int64
	for _, o := range in {
		if err := f.backed(o, max(unit, array.SmallClaim/perRow), &sum); err != nil {
			return shardify.Annotate(err, "", "", o.path)
		}
	}
	return nil
}

func (o *object) rowBytes() int64 {
	if len(o.dims) == 0 {
		return o.bytes
	}
	return o.bytes / max(o.dims[0], 1)
}

func compareBytes(a, b *object) int {
	x, y := a.rowBytes()*a.unit, b.rowBytes()*b.unit
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
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
	a, err := f.tree.file.array(o.path)
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

// lcm is the least common multiple, or a large number.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if a/x > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a / x * b
}
