package jsonl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// class is what cannot be mixed in one place.
type class uint8

const (
	number class = iota
	text
	boolean
	object
	list
	huge // a number that no type has
	classes
)

var classNames = [classes]string{"a number", "text", "a bool", "an object", "a list", "a number beyond 64 bits"}

// What numbers were seen.
const (
	seenMinus = 1 << iota
	seenBig   // beyond i64
	seenFloat
)

// node is a place in objects: a member, or the items of a list.
type node struct {
	name     string // of a member; "" for items
	parent   *node
	children []*node // members; of a list the one node of its items
	next     int     // the child to expect
	stamp    int64   // of the object that it was seen in last
	seen     uint8
	count    int64          // values, nulls among them
	nulls    int64          //
	sizes    int64          // of texts
	lines    [classes]int64 // of the first value of a class, from 1; 0 for none
	first    int64          // byte where it was met first
	sink     *sink          // when samples are read
	leaves   []*sink        // below a list, or the node itself
	items    bool           // it is the items of a list
	lists    int            // that it lies in
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
	for i, c := range n.children {
		if c.name == string(name) {
			n.next = i + 1
			return c
		}
	}
	return nil
}

func (n *node) add(name string, items bool, at int64) *node {
	c := &node{name: name, parent: n, items: items, lists: n.lists, first: at, stamp: -1}
	if items {
		c.lists++
	}
	n.children = append(n.children, c)
	return c
}

// path is how fields are called: a.b.
func (n *node) path() string {
	var parts []string
	for ; n.parent != nil; n = n.parent {
		if !n.items {
			parts = append(parts, n.name)
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}

// merge adds what was seen elsewhere. shift is added to bytes, so that other files come behind.
func (n *node) merge(o *node, shift int64) {
	n.seen |= o.seen
	n.count, n.nulls, n.sizes = n.count+o.count, n.nulls+o.nulls, n.sizes+o.sizes
	for c, l := range o.lines {
		if l > 0 && (n.lines[c] == 0 || l < n.lines[c]) {
			n.lines[c] = l
		}
	}
	n.first = min(n.first, o.first+shift)
	for _, x := range o.children {
		c := n.child([]byte(x.name))
		if c == nil {
			c = n.add(x.name, x.items, x.first+shift)
		}
		c.merge(x, shift)
	}
	slices.SortStableFunc(n.children, func(a, b *node) int { return cmp.Compare(a.first, b.first) })
}

// leaf is a value that becomes a field.
type leaf struct {
	Path     []string       `json:"p"` // "k" and a name, or "l" for the items of a list
	DType    shardify.DType `json:"t"`
	Text     bool           `json:"x,omitempty"`
	Nullable bool           `json:"n,omitempty"`
	Lists    int            `json:"l,omitempty"`

	name, counter string
	bytes         int64
}

// gather is what becomes of a tree.
type gather struct {
	want   func(name string) bool
	leaves []leaf
	left   []format.Leftover
	void   []string
	bad    error
}

// walk goes down. maybe: a node above may be missing.
func (g *gather) walk(n *node, path []string, maybe bool, counter string, items int64) {
	var have []class
	for c := range classes {
		if n.lines[c] > 0 && (c != huge || n.lines[number] == 0) {
			have = append(have, c)
		}
	}
	name := n.path()
	maybe = maybe || n.nulls > 0 || n.parent != nil && !n.items && n.count < n.parent.values()
	if len(have) > 1 {
		if g.below(n) && g.bad == nil {
			slices.SortFunc(have, func(a, b class) int { return cmp.Compare(n.lines[a], n.lines[b]) })
			g.bad = shardify.Mismatch("line %d: %s is %s, %s before", n.lines[have[1]], name, classNames[have[1]], classNames[have[0]])
		}
		return
	}
	if len(have) == 1 && have[0] == object {
		for _, c := range n.children {
			g.walk(c, append(path[:len(path):len(path)], "k"+c.name), maybe, counter, items)
		}
		return
	}
	if len(have) == 1 && have[0] == list {
		if counter == "" {
			counter = name
		}
		if len(n.children) > 0 {
			g.walk(n.children[0], append(path[:len(path):len(path)], "l"), maybe, counter, n.children[0].count)
			return
		}
		have = nil
	}
	field := format.PlainName(name)
	if !g.want(field) {
		return
	}
	if n.lines[huge] > 0 {
		if g.bad == nil {
			g.bad = shardify.Corrupt(-1, "line %d: %s is %s", n.lines[huge], name, classNames[huge])
		}
		return
	}
	if len(have) == 0 {
		g.void = append(g.void, field)
		return
	}
	l := leaf{Path: path, Nullable: maybe, Lists: n.lists, name: field, counter: counter, Text: have[0] == text}
	levels := l.Lists
	switch {
	case l.Text:
		l.DType, l.bytes = shardify.U8, n.sizes
		levels++
	case have[0] == boolean:
		l.DType = shardify.Bool
	case n.seen&seenFloat != 0:
		l.DType = shardify.F64
	case n.seen&(seenBig|seenMinus) == seenBig|seenMinus:
		if g.bad == nil {
			g.bad = shardify.Mismatch("%s has whole numbers below 0 and beyond 2^63, which no type has both", name)
		}
		return
	case n.seen&seenBig != 0:
		l.DType = shardify.U64
	default:
		l.DType = shardify.I64
	}
	if !l.Text {
		l.bytes = n.count * int64(l.DType.Size())
	}
	if levels > 2 {
		g.left = append(g.left, format.Leftover{Name: field, Reason: fmt.Sprintf("%d levels of lists, at most 2 are read; text is one", levels), Unreadable: true})
		return
	}
	if levels == 2 {
		l.bytes += 8 * (items + n.count)
	}
	g.leaves = append(g.leaves, l)
}

// values is how many objects there are, of each of which a member is part.
func (n *node) values() int64 { return n.count - n.nulls }

// below tells whether a field of a node is wanted.
func (g *gather) below(n *node) bool {
	if g.want(format.PlainName(n.path())) {
		return true
	}
	return slices.ContainsFunc(n.children, g.below)
}

func (l *leaf) field() shardify.Field {
	f := shardify.Field{Name: l.name, DType: l.DType, Levels: l.Lists, Nullable: l.Nullable}
	if l.Lists > 0 && l.counter != l.name {
		f.Counter = l.counter
	}
	if l.Text {
		f.Levels++
		f.Media = "txt"
	}
	return f
}
