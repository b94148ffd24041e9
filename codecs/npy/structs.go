package npy

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// node is a type as it is written: a scalar, a struct, or a sub-array of one.
type node struct {
	at     int // in the header text
	size   int64
	scalar *scalar // nil of a struct
	fields []namedNode
	dims   []int // of a sub-array, else nil
}

type namedNode struct {
	name string
	node
}

// typeParser turns the descr of a header into an itemType.
type typeParser struct {
	lit  *literal // for error positions
	runs int
}

func (p *typeParser) parse(v value) (Type, error) {
	n, err := p.node(v)
	if err != nil {
		return Type{}, err
	}
	t := Type{Size: int(n.size)}
	var b strings.Builder
	n.canon(&b)
	t.Text = b.String()
	if t.Leaves, err = p.leaves(nil, n, "", []int{0}, nil); err != nil {
		return Type{}, err
	}
	if len(t.Leaves) == 0 {
		return Type{}, shardify.Unsupported("structured type without fields")
	}
	seen := make(map[string]bool, len(t.Leaves))
	for i := range t.Leaves {
		if name := t.Leaves[i].Name; seen[name] {
			return Type{}, p.lit.fail(v.at, "two fields named %q", clip(name, 40))
		}
		seen[t.Leaves[i].Name] = true
	}
	return t, nil
}

func (p *typeParser) node(v value) (node, error) {
	switch v.kind {
	case isString:
		s, err := ParseScalar(v.text)
		return node{at: v.at, size: int64(s.Size), scalar: &s}, err
	case isList:
		return p.structure(v)
	case isTuple:
		if len(v.items) == 2 {
			return p.subArray(v.items[0], v.items[1])
		}
	}
	return node{}, p.lit.fail(v.at, "descr has %s where a type stands", kindNames[v.kind])
}

func (p *typeParser) structure(v value) (node, error) {
	n := node{at: v.at, fields: []namedNode{}}
	for _, f := range v.items {
		if f.kind != isTuple || len(f.items) != 2 && len(f.items) != 3 {
			return n, p.lit.fail(f.at, "a field must be a tuple (name, type) or (name, type, shape)")
		}
		name := f.items[0]
		if name.kind == isTuple && len(name.items) == 2 { // (title, name)
			name = name.items[1]
		}
		if name.kind != isString {
			return n, p.lit.fail(name.at, "a field's name is %s", kindNames[name.kind])
		}
		var t node
		var err error
		if len(f.items) == 3 {
			t, err = p.subArray(f.items[1], f.items[2])
		} else {
			t, err = p.node(f.items[1])
		}
		if err != nil {
			return n, inField(err, name.text)
		}
		if name.text == "" && (t.scalar == nil || t.scalar.Kind != 'V') {
			return n, p.lit.fail(name.at, "a field without a name")
		}
		if n.size += t.size; n.size > maxItem {
			return n, p.lit.fail(v.at, "item size overflow")
		}
		n.fields = append(n.fields, namedNode{name.text, t})
	}
	return n, nil
}

func inField(err error, name string) error {
	if e, ok := err.(*shardify.Error); ok && e.Field == "" {
		c := *e
		c.Field = clip(name, 60)
		return &c
	}
	return err
}

func (p *typeParser) subArray(typ, shape value) (node, error) {
	n, err := p.node(typ)
	if err != nil {
		return n, err
	}
	items := []value{shape}
	if shape.kind == isTuple {
		items = shape.items
	}
	var dims []int
	count := int64(1)
	for _, d := range items {
		if d.kind != isInt || d.num < 0 || d.num > maxItem {
			return n, p.lit.fail(d.at, "bad shape of a field")
		}
		if count *= d.num; count > maxItem || count*n.size > maxItem {
			return n, p.lit.fail(d.at, "item size overflow")
		}
		dims = append(dims, int(d.num))
	}
	if count > maxRuns && n.size == 0 {
		return n, p.lit.fail(shape.at, "%d values of no bytes", count)
	}
	n.size *= count
	n.dims = append(dims, n.dims...)
	return n, nil
}

// leaves lists the fields below n: offs are the places in the item where copies
// of n begin, dims the sub-arrays that they fill.
func (p *typeParser) leaves(to []Leaf, n node, name string, offs, dims []int) ([]Leaf, error) {
	dims = append(dims[:len(dims):len(dims)], n.dims...)
	if n.scalar != nil {
		l := Leaf{Name: name, Scalar: *n.scalar, dims: dims, Runs: offs, RunBytes: int(n.size)}
		if l.Scalar.Size == 0 && l.Values() > maxRuns {
			return nil, p.lit.fail(n.at, "%d values of no bytes", l.Values())
		}
		return append(to, l), nil
	}
	if len(n.dims) > 0 {
		var err error
		if offs, err = p.spread(n, offs); err != nil {
			return nil, err
		}
	}
	at := 0
	for _, f := range n.fields {
		if f.name == "" {
			at += int(f.size)
			continue
		}
		if p.runs += len(offs); p.runs > 4*maxRuns {
			return nil, p.lit.fail(n.at, "too many fields")
		}
		sub := make([]int, len(offs))
		for i, o := range offs {
			sub[i] = o + at
		}
		full := f.name
		if name != "" {
			full = name + "/" + f.name
		}
		var err error
		if to, err = p.leaves(to, f.node, full, sub, dims); err != nil {
			return nil, err
		}
		at += int(f.size)
	}
	return to, nil
}

// spread gives the places of the single structs of a sub-array of structs.
func (p *typeParser) spread(n node, offs []int) ([]int, error) {
	count := 1
	for _, d := range n.dims {
		count *= d
	}
	if p.runs += count * len(offs); count > maxRuns || p.runs > maxRuns {
		return nil, shardify.Unsupported("array of %d structs inside a struct", count)
	}
	var all []int
	for _, o := range offs {
		for i := range count {
			all = append(all, o+i*int(n.size)/count)
		}
	}
	return all, nil
}

// canon writes the type in one spelling, so that equal types have equal texts
// and parseType reads it back.
func (n *node) canon(b *strings.Builder) {
	if n.scalar != nil {
		b.WriteString(n.scalar.String())
		return
	}
	b.WriteByte('[')
	for i, f := range n.fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		quote(b, f.name)
		b.WriteString(", ")
		if f.scalar != nil {
			quote(b, f.scalar.String())
		} else {
			inner := f.node
			inner.canon(b)
		}
		if len(f.dims) > 0 {
			b.WriteString(", (")
			for _, d := range f.dims {
				b.WriteString(strconv.Itoa(d))
				b.WriteByte(',')
			}
			b.WriteByte(')')
		}
		b.WriteByte(')')
	}
	b.WriteByte(']')
}

func quote(b *strings.Builder, s string) {
	b.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '\'':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
}

// ParseType reads what canon wrote.
func ParseType(text string) (Type, error) {
	l := &literal{s: []byte(text)}
	v := value{kind: isString, text: text}
	if strings.HasPrefix(text, "[") {
		var err error
		if v, err = l.whole(); err != nil {
			return Type{}, err
		}
	}
	return (&typeParser{lit: l}).parse(v)
}
