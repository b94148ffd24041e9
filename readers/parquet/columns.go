package parquet

import (
	"errors"
	"slices"
	"unicode/utf8"

	meta "github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// column is a leaf of the schema as a field.
type column struct {
	field shardify.Field
	leaf  int
	page  page.Column
	// lists are the repeated nodes above the leaf, outermost first.
	lists []list
	// inner is how many of them are of a fixed size and part of the shape.
	inner int
	// names by which users may ask for it.
	aliases []string
	// sniff: the bytes may be images.
	sniff bool
}

// list is a repeated node.
type list struct {
	def   int   // definition level of an item
	size  int   // of a fixed-size list; 0 if it varies
	shape []int // what its items are, size in all
}

// variable is the number of lists that are offsets.
func (c *column) variable() int { return len(c.lists) - c.inner }

// present is the definition level from which a sample's value, or its list, is there.
func (c *column) present() int {
	if len(c.lists) > 0 {
		return c.lists[0].def - 1
	}
	return c.page.MaxDef
}

// slot is the definition level from which an entry takes a place among the values.
func (c *column) slot() int {
	if len(c.lists) > 0 {
		return c.lists[len(c.lists)-1].def
	}
	return 0
}

// columnsOf makes fields of the leaves of a file. What has no place among fields is in
// left.
func columnsOf(f *pq.File, hints *hints, text string) (cols []column, left []leftOut) {
	w := &walk{names: rows.Names{}, counters: map[*pq.Node]string{}, f: f, hints: hints, text: text}
	for _, n := range f.Root.Children {
		name := n.Name
		if name == keyName && f.CreatedBy == madeBy {
			name = "key"
		}
		w.node(n, name, nil, false)
	}
	return w.cols, w.left
}

// What files of shardify say made them, and their column with the names of samples.
const (
	madeBy  = "shardify"
	keyName = "__key__"
)

// leftOut is a leaf that is not a field.
type leftOut struct {
	name, alias string
	reason      error
	void        bool // each sample has one value of it, and that is missing
}

type walk struct {
	f        *pq.File
	hints    *hints
	text     string
	names    rows.Names
	counters map[*pq.Node]string
	cols     []column
	left     []leftOut
}

// node goes down from n, which users know as name. lists are the repeated nodes above
// it; entered says that n itself is among them.
func (w *walk) node(n *pq.Node, name string, lists []list, entered bool) {
	if n.Repeated && !entered {
		lists = append(lists[:len(lists):len(lists)], list{def: n.MaxDef})
	}
	switch {
	case n.Leaf >= 0:
		w.leaf(n, name, lists)
	case (n.IsList() || n.IsMap()) && len(n.Children) == 1 && n.Children[0].Repeated:
		w.list(n, name, lists)
	case w.f.CreatedBy == madeBy && len(n.Children) == 2 && n.Children[0].Name == "bytes" && n.Children[1].Name == "path":
		w.leaf(n.Children[0], name, lists) // an image in the form of Hugging Face; no path was written
	default:
		for _, c := range n.Children {
			w.node(c, name+"."+c.Name, lists, false)
		}
	}
}

// list goes into a group that is a list or a map. Old writers leave out one of the
// levels; the rules for that are the specification's.
func (w *walk) list(n *pq.Node, name string, lists []list) {
	r := n.Children[0]
	l := list{def: r.MaxDef, shape: w.hints.shape(n)}
	if l.shape != nil {
		l.size = product(l.shape)
	}
	lists = append(lists[:len(lists):len(lists)], l)
	single := !n.IsMap() && len(r.Children) == 1 && r.Name != "array" && r.Name != n.Name+"_tuple"
	switch {
	case r.Leaf >= 0:
		w.leaf(r, name, lists)
	case single:
		w.node(r.Children[0], name, lists, false)
	default:
		w.node(r, name, lists, true)
	}
}

// leaf makes a field.
func (w *walk) leaf(n *pq.Node, name string, lists []list) {
	path := n.Path()
	if err := w.readable(n.Leaf); err != nil {
		w.left = append(w.left, leftOut{name: name, alias: path, reason: err})
		return
	}
	t, err := typeOf(n, w.text)
	if errors.Is(err, errNothing) && w.hasValues(n.Leaf) {
		err = shardify.Corrupt(-1, "a column of nothing but missing values, whose statistics have other values")
	}
	if err == nil {
		w.hints.refine(n, &t)
		err = w.add(n, name, path, lists, t)
	}
	if err != nil {
		w.left = append(w.left, leftOut{name: name, alias: path, reason: err, void: errors.Is(err, errNothing) && len(lists) == 0})
	}
}

// hasValues reports whether the statistics know values that are not missing.
func (w *walk) hasValues(leaf int) bool {
	for g := range len(w.f.Groups) - 1 {
		if x := w.f.Chunk(leaf, g); x.NullsKnown && x.Nulls < x.Values {
			return true
		}
	}
	return false
}

// readable says why the pages of a leaf cannot be read.
func (w *walk) readable(leaf int) error {
	if err := w.f.Bad(leaf); err != nil {
		return err
	}
	for g := range len(w.f.Groups) - 1 {
		if x := w.f.Chunk(leaf, g); x.Values > 0 && !page.Known(x.Codec) {
			if x.Codec < meta.Uncompressed || x.Codec > meta.Lz4Raw {
				return shardify.Corrupt(-1, "compression %d, which the format does not have", x.Codec)
			}
			return shardify.Unsupported("compression %v", x.Codec)
		}
	}
	return nil
}

func (w *walk) add(n *pq.Node, name, path string, lists []list, t leafType) error {
	c := column{leaf: n.Leaf, lists: lists, page: t.page, aliases: []string{name, path}, sniff: t.sniff && len(lists) == 0}
	c.page.MaxDef, c.page.MaxRep = n.MaxDef, n.MaxRep
	c.field = shardify.Field{DType: t.dtype, Shape: t.shape, Media: t.media, Attrs: t.attrs}
	bytes := t.page.Form.Width == 0
	if !bytes {
		c.shape()
	}
	c.field.Levels = c.variable()
	if bytes {
		c.field.Levels++
	}
	if c.field.Levels > 2 {
		return shardify.Unsupported("%d levels of lists and text or bytes; at most 2 are read", c.field.Levels)
	}
	if !utf8.ValidString(name) {
		return shardify.Unsupported("a name that is not UTF-8")
	}
	c.field.Name = plainName(w.names.Unique(name))
	if outer := outerList(n); c.variable() > 0 && outer != nil && leaves(outer) > 1 {
		c.field.Counter = w.counter(outer, plainName(listName(outer)))
	}
	c.field.Nullable = c.present() > 0 && w.mayLack(&c)
	if err := c.field.Validate(); err != nil {
		return err
	}
	if err := w.plausible(&c); err != nil {
		return err
	}
	w.cols = append(w.cols, c)
	return nil
}

// shape takes the innermost lists of a fixed size into the shape.
func (c *column) shape() {
	for i := len(c.lists) - 1; i >= 0 && c.lists[i].size > 0; i-- {
		c.field.Shape = append(slices.Clone(c.lists[i].shape), c.field.Shape...)
		c.inner++
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// largeShape is the bytes of a shape that a file must have the values for.
const largeShape = 64 << 20

// plausible refuses shapes of more values than any row group has.
func (w *walk) plausible(c *column) error {
	if c.inner == 0 || c.field.ElemBytes() <= largeShape {
		return nil
	}
	for g := range len(w.f.Groups) - 1 {
		if w.f.Chunk(c.leaf, g).Values >= int64(c.field.Elem()) {
			return nil
		}
	}
	return shardify.Corrupt(-1, "shape %v, and no row group has so many values", c.field.Shape)
}

// mayLack reports whether the statistics leave room for samples without a value.
func (w *walk) mayLack(c *column) bool {
	for g := range len(w.f.Groups) - 1 {
		x := w.f.Chunk(c.leaf, g)
		switch {
		case x.Values == 0 || x.NullsKnown && x.Nulls == 0:
		case len(x.Levels) == c.page.MaxDef+1:
			for _, n := range x.Levels[:c.present()] {
				if n > 0 {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// outerList is the outermost repeated node above or at n.
func outerList(n *pq.Node) *pq.Node {
	var outer *pq.Node
	for x := n; x != nil; x = x.Parent {
		if x.Repeated {
			outer = x
		}
	}
	return outer
}

// listName is the part of a column's name that names the outermost list it is in: as
// many names as the nodes above that list have.
func listName(outer *pq.Node) string {
	x := outer
	if p := outer.Parent; p != nil && p.Parent != nil && (p.IsList() || p.IsMap()) {
		x = p
	}
	return x.Path()
}

func leaves(n *pq.Node) int {
	if n.Leaf >= 0 {
		return 1
	}
	sum := 0
	for _, c := range n.Children {
		sum += leaves(c)
	}
	return sum
}

// counter returns the name of a list that several columns share.
func (w *walk) counter(outer *pq.Node, name string) string {
	if _, ok := w.counters[outer]; !ok {
		w.counters[outer] = w.names.Unique(name)
	}
	return w.counters[outer]
}

// plainName makes a field's name of a column's.
func plainName(name string) string {
	if name == "" {
		return "_"
	}
	return format.PlainName(name)
}
