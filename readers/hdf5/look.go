package hdf5

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
)

// blob is what readers of a file must know from the survey: which data sets and
// leaves its fields are. It says nothing of sizes or places, so that the files of
// a set share one.
type blob struct {
	Mode    mode         `json:"mode"`
	Parent  string       `json:"parent,omitempty"`
	Stem    string       `json:"stem,omitempty"`
	Number  bool         `json:"numbered,omitempty"`
	Why     string       `json:"why"`
	Objects []blobObject `json:"objects"`
}

// blobObject is a data set whose leaves are fields, one after the other; a ragged
// leaf is two, its values and its shape.
type blobObject struct {
	Path   string `json:"path"` // in a group that is a sample: below it
	Leaves []int  `json:"leaves"`
	Ragged bool   `json:"ragged,omitempty"`
	Once   bool   `json:"once,omitempty"` // rank 0: one value for all samples of the file
}

// facts describes a file as the choice says.
func (t *tree) facts(ctx context.Context, c *choice, opts *settings) (*rows.Facts, error) {
	f := &factory{tree: t, choice: c, opts: opts, facts: &rows.Facts{Size: t.file.size, Borders: rows.Borders{Every: 1}},
		blob: blob{Mode: c.mode, Parent: c.parent, Stem: c.stem, Number: c.numbered, Why: c.why}}
	var err error
	switch c.mode {
	case byAxis:
		err = f.byAxis()
	case byFile:
		err = f.byFile()
	default:
		err = f.byGroup(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.facts.Left = append(f.facts.Left, t.left.all()...)
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
		why := f.choice.left[o.path]
		if why == "" {
			why = f.tree.frameNote(o)
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
	f.facts.Samples = max(n, 0)
	if n < 0 && len(in) > 0 { // nothing but single values: one sample
		f.facts.Samples = 1
	}
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
	for i := range f.tree.objects {
		o := &f.tree.objects[i]
		if err := f.backed(o, 0, true); err != nil {
			f.tree.left.add(o.path, err)
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
	b := blobObject{Path: name, Once: once}
	obj, err := f.tree.file.h5.Object(o.addr, o.path)
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
			f.tree.left.add(join(o.path, w.leaf.name), err)
			continue
		}
		if !foreign {
			field.Attrs = fieldAttrs(f.tree.file.h5, obj, field.Attrs)
		}
		b.Leaves = append(b.Leaves, w.index)
		f.facts.Fields = append(f.facts.Fields, rows.Field{Field: field, Bytes: f.guess(o, &w.leaf)})
	}
	if len(b.Leaves) > 0 {
		f.blob.Objects = append(f.blob.Objects, b)
	}
	return nil
}

// guess is about how many bytes a varying leaf has in the whole data set.
func (f *factory) guess(o *object, l *leaf) int64 {
	values := o.bytes / max(o.elem, 1) * int64(l.at.values())
	switch l.kind {
	case texts:
		return values * int64(l.size)
	case varText, varList:
		return min(values*64, f.tree.file.size)
	}
	return 0
}

const (
	// slabBytes bounds what is decoded together; rows of chunks larger than that
	// are decoded more than once.
	slabBytes = 512 << 20
	// smallRow is a row of chunks that readers keep when spans use parts of it.
	smallRow = keepRow
)

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
		case o.rowBytes()*o.unit > smallRow && joined <= slabBytes/perRow:
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
	for _, o := range in {
		if err := f.backed(o, max(unit, largeClaim/perRow), false); err != nil {
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

// backed refuses claims of memory without bytes behind them.
func (f *factory) backed(o *object, n int64, whole bool) error {
	if len(o.dims) == 0 || whole {
		n = max(o.rowCount(), 1)
	}
	n = min(n, max(o.rowCount(), 1))
	if o.rowBytes() == 0 || n <= largeClaim/o.rowBytes() {
		return nil
	}
	a, err := f.tree.file.array(o.path)
	if err != nil {
		return err
	}
	return a.backed(n)
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

// byGroup makes fields of the members that all sample groups have.
func (f *factory) byGroup(ctx context.Context) error {
	g, err := f.groups()
	if err != nil {
		return err
	}
	if g == nil {
		return nil
	}
	f.facts.Samples = int64(len(g.names))
	in := make(map[int]bool, len(g.names)*len(g.members))
	for _, first := range g.first {
		for m := range g.members {
			in[first+m] = true
		}
	}
	for i := range f.tree.objects {
		if !in[i] {
			f.tree.left.note(f.tree.objects[i].path, fmt.Sprintf("not in one of the groups %s/%s*", f.choice.parent, f.choice.stem))
		}
	}
	for m, name := range g.members {
		if err := f.member(g, m, name); err != nil {
			return err
		}
	}
	return nil
}

// groups finds the sample groups of this file; nil if it has none.
func (f *factory) groups() (*groupSet, error) {
	for _, g := range f.tree.groupSets(f.choice.numbered) {
		if g.parent != f.choice.parent || g.stem != f.choice.stem {
			continue
		}
		if g.bad != "" {
			return nil, shardify.Mismatch("in %s/ %s", g.parent, g.bad)
		}
		return g, nil
	}
	return nil, nil
}

// member makes fields of member m of every group.
func (f *factory) member(g *groupSet, m int, name string) error {
	head := &f.tree.objects[g.first[0]+m]
	ragged, total := false, int64(0)
	for i, first := range g.first {
		o := &f.tree.objects[first+m]
		if why := head.differs(o); why != "" {
			if head.exact() {
				return shardify.Annotate(shardify.Mismatch("%s", why), "", "", o.path)
			}
			f.tree.left.note(name, fmt.Sprintf("%s in %s", why, g.names[i]))
			return nil
		}
		ragged = ragged || !slices.Equal(head.dims, o.dims)
		total += o.bytes
	}
	before := len(f.facts.Fields)
	if err := f.add(head, name, head.dims, false); err != nil {
		return err
	}
	added := f.facts.Fields[before:]
	if !ragged || len(added) == 0 {
		for i := range added {
			added[i].Bytes *= int64(len(g.names))
		}
		return nil
	}
	f.blob.Objects[len(f.blob.Objects)-1].Ragged = true
	fields := slices.Clone(added)
	f.facts.Fields = f.facts.Fields[:before]
	for _, x := range fields {
		x.Bytes = total
		if x.Levels > 0 {
			f.facts.Fields = append(f.facts.Fields, x)
			continue
		}
		shape := shardify.Field{Name: x.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{len(x.Shape)}}
		x.Shape, x.Levels, x.Ragged = nil, 1, true
		f.facts.Fields = append(f.facts.Fields, x, rows.Field{Field: shape})
	}
	return nil
}

// differs says why two data sets cannot be one field, "" if they can.
func (o *object) differs(p *object) string {
	if len(o.dims) != len(p.dims) {
		return fmt.Sprintf("rank %d, elsewhere %d", len(p.dims), len(o.dims))
	}
	if len(o.wanted) != len(p.wanted) {
		return "another type"
	}
	for i := range o.wanted {
		a, errA := o.wanted[i].leaf.field("x", nil)
		b, errB := p.wanted[i].leaf.field("x", nil)
		if o.wanted[i].index != p.wanted[i].index || o.wanted[i].leaf.name != p.wanted[i].leaf.name || (errA == nil) != (errB == nil) ||
			a.DType != b.DType || a.Levels != b.Levels || !slices.Equal(a.Shape, b.Shape) {
			return "another type"
		}
	}
	return ""
}
