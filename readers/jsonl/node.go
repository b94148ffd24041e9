package jsonl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// class is what cannot be mixed in one place.
type class uint8

const (
	number class = iota
	text
	boolean
	object
	list
	huge   // a whole number that no type has
	beyond // a number that f64 does not have
	classes
)

var classNames = [classes]string{"a number", "text", "a bool", "an object", "a list", "a number beyond 64 bits", "a number beyond f64"}

// What numbers were seen.
const (
	seenMinus = 1 << iota
	seenBig   // beyond i64
	seenFloat
	seenWide // whole, and beyond what f64 has exactly
)

const (
	// maxNames bounds the names in objects of a set.
	maxNames = 1 << 15
	// maxPath bounds the path of a node, which is as long as the names that it has; no field may
	// have one of more than 255 bytes.
	maxPath = 1 << 12
	// fewChildren is how many children are looked through; more are looked up.
	fewChildren = 8
)

// node is a place in objects: a member, or the items of a list.
type node struct {
	name     string // of a member; "" for items
	parent   *node
	children []*node          // members
	of       *node            // the items of a list
	byName   map[string]*node // with more than fewChildren
	at       int              // in the children of its parent
	next     int              // the child to expect
	stamp    int64            // of the object that it was seen in last
	seen     uint8
	count    int64          // values, nulls among them
	nulls    int64          //
	sizes    int64          // of values as texts
	wide     coltype.Met    // the first whole number that f64 may not hold
	float    coltype.Met    // the first number that no whole type holds
	lines    [classes]int64 // of the first value of a class, from 1; 0 for none
	first    int64          // byte where it was met first
	sink     *sink          // when samples are read
	leaves   []*sink        // below a list, or the node itself
	items    bool           // it is the items of a list
	lists    int            // above it
	rule     rule           // of its lists
	short    int64          // the length of its shortest list
	long     int64          // and of the longest
}

// child finds a member. It is the one expected nearly always.
func (n *node) child(name []byte) *node {
	for range 2 {
		if n.next < len(n.children) {
			if c := n.children[n.next]; c.name == string(name) {
				n.next++
				return c
			}
		}
		n.next = 0
	}
	if n.byName != nil {
		if c := n.byName[string(name)]; c != nil {
			n.next = c.at + 1
			return c
		}
		return nil
	}
	for _, c := range n.children {
		if c.name == string(name) {
			n.next = c.at + 1
			return c
		}
	}
	return nil
}

func (n *node) add(name string, items bool, at int64) *node {
	c := &node{name: name, parent: n, items: items, lists: n.lists, first: at, stamp: -1, at: len(n.children), short: 1 << 62}
	if items {
		c.lists++
		n.of = c
		return c
	}
	n.children = append(n.children, c)
	switch k := len(n.children); {
	case k == fewChildren+1:
		n.byName = make(map[string]*node, 2*k)
		for _, c := range n.children {
			n.byName[c.name] = c
		}
	case k > fewChildren:
		n.byName[name] = c
	}
	return c
}

// path is how fields are called: a.b.
func (n *node) path() string {
	var parts []string
	for size := 0; n.parent != nil && size < maxPath; n = n.parent {
		if !n.items {
			parts = append(parts, n.name[:min(len(n.name), maxPath)])
			size += len(n.name)
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}

// merge adds what was seen elsewhere. shift is added to bytes, so that other files come behind.
// names counts those that are new, and ends it where they are too many.
func (n *node) merge(o *node, shift int64, names *int) {
	n.seen |= o.seen
	n.count, n.nulls, n.sizes = n.count+o.count, n.nulls+o.nulls, n.sizes+o.sizes
	for c, l := range o.lines {
		if l > 0 && (n.lines[c] == 0 || l < n.lines[c]) {
			n.lines[c] = l
		}
	}
	for _, m := range []struct{ to, from *coltype.Met }{{&n.wide, &o.wide}, {&n.float, &o.float}} {
		if m.to.At == 0 || m.to.File == m.from.File {
			m.to.Join(*m.from)
		}
	}
	n.first, n.rule, n.short, n.long = min(n.first, o.first+shift), o.rule, min(n.short, o.short), max(n.long, o.long)
	if x := o.of; x != nil {
		if n.of == nil {
			n.add("", true, x.first+shift)
		}
		n.of.merge(x, shift, names)
	}
	for _, x := range o.children {
		c := n.child([]byte(x.name))
		if c == nil {
			if *names++; *names > maxNames {
				return
			}
			c = n.add(x.name, false, x.first+shift)
		}
		c.merge(x, shift, names)
	}
}

// sort puts members in the order in which they were met. The tree does not grow behind it.
func (n *node) sort() {
	slices.SortStableFunc(n.children, func(a, b *node) int { return cmp.Compare(a.first, b.first) })
	for i, c := range n.children {
		c.at = i
		c.sort()
	}
	if n.of != nil {
		n.of.sort()
	}
}

// leaf is a value that becomes a field.
type leaf struct {
	Path     []string       `json:"p"` // "k" and a name, or "l" for the items of a list
	DType    shardify.DType `json:"t"`
	Text     bool           `json:"x,omitempty"`
	Written  bool           `json:"w,omitempty"` // numbers and bools are texts as they are written
	Nullable bool           `json:"n,omitempty"`
	Lists    int            `json:"l,omitempty"`
	Shape    []int          `json:"s,omitempty"` // of a list that has always as many values
	Role     string         `json:"r,omitempty"` // an attribute and its value
	Mask     bool           `json:"m,omitempty"` // its member is a list in some records and an object in others

	name, counter string
	bytes         int64
}

// gather is what becomes of a tree.
type gather struct {
	want     func(name string) bool
	settings *settings
	record   string // what records are called
	leaves   []leaf
	left     []format.Leftover
	void     []string
	bad      error
}

// refuse keeps the first error.
func (g *gather) refuse(err error) {
	if g.bad == nil {
		g.bad = err
	}
}

// classes lists what was seen of a node. Numbers are of one class.
func (n *node) classes() (have []class) {
	for c := range classes {
		if n.lines[c] > 0 && (c < huge || n.lines[number] == 0 && (c == huge || n.lines[huge] == 0)) {
			have = append(have, c)
		}
	}
	return have
}

// walk goes down. maybe: a node above may be missing.
func (g *gather) walk(n *node, path []string, maybe bool, counter string, items int64) {
	have, name := n.classes(), n.path()
	field := format.PlainName(name)
	given := g.settings.types.Of(field)
	written := given != nil && given.DType == shardify.Invalid && n.lines[object] == 0 && n.lines[list] == 0
	maybe = maybe || n.nulls > 0 || n.parent != nil && !n.items && n.count < n.parent.values()
	if n.masks(have) {
		g.mask(n, path, field, items)
		return
	}
	if len(have) > 1 && !written {
		if g.below(n) {
			g.refuse(g.mixed(n, have))
		}
		return
	}
	if len(have) == 1 && have[0] == object {
		g.members(n, path, maybe, counter, items)
		return
	}
	if len(have) == 1 && have[0] == list {
		if counter == "" {
			counter = field
		}
		if n.of != nil {
			g.walk(n.of, append(path[:len(path):len(path)], "l"), maybe, counter, n.of.count)
			return
		}
		have = nil
	}
	if g.want(name) {
		g.values(n, have, leaf{Path: path, Nullable: maybe, Lists: n.lists, name: field, counter: counter, Written: written}, given, items)
	}
}

// values takes a node in that holds values, or nothing that is known.
func (g *gather) values(n *node, have []class, l leaf, given *coltype.Given, items int64) {
	if len(have) == 0 {
		g.void = append(g.void, l.name)
		return
	}
	if given != nil {
		given.Use()
	}
	if given != nil && !l.Written && (have[0] == text || have[0] == boolean) {
		g.refuse(format.Cure(shardify.Mismatch("%s %d: %s is %s, no %s", g.record, n.lines[have[0]], n.path(), classNames[have[0]], given.DType), g.settings.typeWays(l.name)[0]))
		return
	}
	l.Text = l.Written || have[0] == text
	if !l.Text {
		var err error
		if l.DType, err = g.number(n, n.path(), given); err != nil {
			g.refuse(err)
			return
		}
	}
	if n.items && !l.Text {
		l.Shape, l.Role = n.parent.shape()
	}
	g.keep(l, n, items)
}

// members goes down to the members of an object.
func (g *gather) members(n *node, path []string, maybe bool, counter string, items int64) {
	for _, c := range n.children {
		g.walk(c, append(path[:len(path):len(path)], "k"+c.name), maybe, counter, items)
	}
}

// masks reports whether a node is a list in some records and an object in others, as masks may be.
func (n *node) masks(have []class) bool {
	return n.rule == ruleMask && len(have) == 2 && have[0] == object
}

// mask goes down both.
func (g *gather) mask(n *node, path []string, field string, items int64) {
	first := len(g.leaves)
	if n.of != nil {
		g.walk(n.of, append(path[:len(path):len(path)], "l"), true, field, n.of.count)
	}
	g.members(n, path, true, "", items)
	for i := range g.leaves[first:] {
		g.leaves[first+i].Mask = true
	}
}

// keep adds the leaf of a node, which is in so many lists in all.
func (g *gather) keep(l leaf, n *node, items int64) {
	levels := l.levels()
	if l.Text {
		l.DType, l.bytes = shardify.U8, n.sizes
	} else {
		l.bytes = n.count * int64(l.DType.Size())
	}
	if levels > 2 {
		g.left = append(g.left, format.Leftover{Name: l.name, Reason: fmt.Sprintf("%d levels of lists, at most 2 are read; text is one", levels), Unreadable: true})
		return
	}
	if levels == 2 {
		l.bytes += 8 * (items + n.count)
	}
	g.leaves = append(g.leaves, l)
}

// mixed is the error about a node of several classes.
func (g *gather) mixed(n *node, have []class) error {
	slices.SortFunc(have, func(a, b class) int { return cmp.Compare(n.lines[a], n.lines[b]) })
	name := n.path()
	err := shardify.Mismatch("%s %d: %s is %s, %s before", g.record, n.lines[have[1]], name, classNames[have[1]], classNames[have[0]])
	if n.lines[object] == 0 && n.lines[list] == 0 {
		err = format.Cure(err, g.settings.typeWays(format.PlainName(name))[0])
	}
	return err
}

// number is the type of numbers, or of bools.
func (g *gather) number(n *node, name string, given *coltype.Given) (shardify.DType, error) {
	if given != nil && n.lines[beyond] == 0 {
		return given.DType, nil
	}
	if n.inF32() && n.lines[beyond] == 0 && n.lines[boolean] == 0 {
		return shardify.F32, nil
	}
	ways := g.settings.typeWays(format.PlainName(name))
	const minusBig = seenBig | seenMinus
	switch {
	case n.lines[boolean] > 0:
		return shardify.Bool, nil
	case n.lines[beyond] > 0:
		return 0, format.Cure(shardify.Corrupt(-1, "%s %d: %s is %s", g.record, n.lines[beyond], name, classNames[beyond]), ways[0])
	case n.lines[huge] > 0:
		return 0, format.Cure(shardify.Corrupt(-1, "%s %d: %s is %s", g.record, n.lines[huge], name, classNames[huge]), ways...)
	case n.seen&(seenFloat|seenWide) == seenFloat|seenWide:
		return 0, coltype.Inexact(name, g.record, n.wide, n.float, ways...)
	case n.seen&seenFloat != 0:
		return shardify.F64, nil
	case n.seen&minusBig == minusBig:
		return 0, format.Cure(shardify.Mismatch("%s has whole numbers below 0 and beyond 2^63, which no type has both", name), ways...)
	case n.seen&seenBig != 0:
		return shardify.U64, nil
	}
	return shardify.I64, nil
}

// values is how many objects there are, of each of which a member is part.
func (n *node) values() int64 { return n.count - n.nulls }

// below reports whether a field of a node is wanted.
func (g *gather) below(n *node) bool {
	if g.want(n.path()) || n.of != nil && g.below(n.of) {
		return true
	}
	return slices.ContainsFunc(n.children, g.below)
}

func (l *leaf) field() shardify.Field {
	f := shardify.Field{Name: l.name, DType: l.DType, Levels: l.levels(), Shape: l.Shape, Nullable: l.Nullable}
	if l.Lists > 0 && f.Levels > 0 && l.counter != l.name {
		f.Counter = l.counter
	}
	if l.Text {
		f.Media = "txt"
	}
	if k, v, ok := strings.Cut(l.Role, "="); ok {
		f.Attrs = map[string]string{k: v}
	}
	return f
}

// levels are those of the field.
func (l *leaf) levels() int {
	switch {
	case l.Text:
		return l.Lists + 1
	case l.Shape != nil:
		return l.Lists - 1
	}
	return l.Lists
}
