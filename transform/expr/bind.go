package expr

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr/ast"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
)

// value is what a sub-expression is compiled to.
type value struct {
	kind   kind
	dom    domain
	slot   int
	null   bool // it may be missing
	konst  bool
	narrow bool // of floats: all that it was made of has 32 bits or fewer
	wide   bool // of floats: made of f64
	f      float64
	i      int64
	t      byte
	s      string
	col    int        // of texts: 1 + the column
	name   bool       // of texts: the sample's name
	views  bool       // of texts: made by a function, in the slot
	labels []string   // of codes
	codes  []int64    // that have the labels
	clock  *key.Clock // of times; nil for other numbers
	// picked marks the values that a filter x[cond] leaves; nil leaves all.
	picked *value
}

// binder compiles one expression.
type binder struct {
	schema []shardify.Field
	defs   map[string]*Expr
	inside []string // definitions being compiled
	p      *Program
	memo   map[string]*value
}

// Bind checks the types against a schema. defs are the expressions of names
// which the schema lacks.
func (e *Expr) Bind(schema []shardify.Field, defs map[string]*Expr) (*Program, error) {
	b := &binder{schema: schema, defs: defs, memo: map[string]*value{}}
	b.p = &Program{text: e.Text, schema: schema}
	v, err := b.compile(e.root)
	if err != nil {
		return nil, err
	}
	switch {
	case b.p.named && !e.Keyed:
		return nil, errors.New(`key is the sample's name, and these samples have none; field("key") is the field key`)
	case v.kind == kindText && v.konst:
		return nil, errors.New("the result is a constant text: --set makes a field of it")
	case v.kind == kindText && v.slot < 0:
		return nil, oneText(v)
	case v.picked != nil:
		return nil, errors.New("the result is a part of a list: take sum, max, len, ... of it, or one element [0]")
	}
	b.p.out, b.p.slots = *v, b.p.slots+1
	return b.p, nil
}

// Condition refuses a program that is not one condition per sample.
func (p *Program) Condition() error {
	switch o := &p.out; {
	case o.kind == kindText:
		return fmt.Errorf("%s is a text, not a condition: compare it, as in %s == \"a\"", p.text, p.text)
	case o.kind != kindBool:
		return fmt.Errorf("%s is %s, not a condition: compare it, as in %s > 0", p.text, o.kind, p.text)
	case !o.dom.scalar():
		return fmt.Errorf("%s is a condition for each element: take any(...), all(...) or count(...) of it", p.text)
	}
	return nil
}

func (b *binder) slot() int { b.p.slots++; return b.p.slots - 1 }

func (b *binder) emit(in instr) { b.p.code = append(b.p.code, in) }

// compile makes code for a node, once for nodes that are spelled alike.
func (b *binder) compile(n ast.Node) (*value, error) {
	key := n.String()
	if v := b.memo[key]; v != nil {
		return v, nil
	}
	v, err := b.node(n)
	if err != nil {
		return nil, err
	}
	b.memo[key] = v
	return v, nil
}

func (b *binder) node(n ast.Node) (*value, error) {
	if name, ok := fieldName(n); ok {
		return b.field(name)
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return b.constInt(int64(n.Value)), nil
	case *ast.FloatNode:
		return b.constFloat(n.Value), nil
	case *ast.BoolNode:
		v := b.constant(value{kind: kindBool})
		if n.Value {
			v.t = 1
		}
		return v, nil
	case *ast.StringNode:
		return b.constant(value{kind: kindText, s: n.Value}), nil
	case *ast.UnaryNode:
		return b.unary(n)
	case *ast.BinaryNode:
		return b.binary(n)
	case *ast.MemberNode:
		return b.member(n)
	case *ast.ConditionalNode:
		return b.choose(n)
	case *ast.CallNode:
		return b.call(n)
	case *ast.ChainNode:
		return b.compile(n.Node)
	case *ast.NilNode:
		return nil, errors.New("nil: only x == nil and x != nil ask whether a value is missing")
	}
	return nil, fmt.Errorf("%s is not supported in expressions over columns", n)
}

func (b *binder) constant(v value) *value {
	v.konst, v.dom, v.slot = true, scalar, b.slot()
	return &v
}

func (b *binder) constInt(i int64) *value { return b.constant(value{kind: kindInt, i: i}) }

func (b *binder) constFloat(f float64) *value { return b.constant(value{kind: kindFloat, f: f}) }

// float turns integers into floats.
func (b *binder) float(v *value) (*value, error) {
	switch {
	case v.kind == kindFloat:
		return v, nil
	case v.kind != kindInt:
		return nil, fmt.Errorf("want a number, not %s%s", v.kind, howToCount(v))
	case v.konst:
		return b.constFloat(float64(v.i)), nil
	}
	out := b.like(v, kindFloat)
	b.emit(func(f *frame) error {
		n := f.count(out.dom)
		x, z := f.vector(v, n).i[:n], f.floats(out.slot, n)
		for i, e := range x {
			z[i] = float64(e)
		}
		f.joinMissing(out, v)
		return nil
	})
	return out, nil
}

func howToCount(v *value) string {
	if v.kind == kindBool {
		return ": int(...) converts it to 0 and 1"
	}
	return ""
}

// like is a new value of the domain of others.
func (b *binder) like(v *value, k kind) *value {
	return &value{kind: k, dom: v.dom, slot: b.slot(), null: v.null, picked: v.picked, narrow: v.narrow, wide: v.wide}
}

// joinMissing marks what is missing in any of the values that are not nil.
func (f *frame) joinMissing(out *value, from ...*value) {
	if !out.null {
		return
	}
	m := f.missing(out.slot)
	clear(m)
	for _, v := range from {
		if v != nil && v.null {
			for k, x := range f.slots[v.slot].miss[:len(m)] {
				m[k] |= x
			}
		}
	}
}

// spread repeats a scalar for every element of a domain.
func (b *binder) spread(v *value, d domain) *value {
	if v.konst || d.scalar() || !v.dom.scalar() {
		return v
	}
	out := b.like(v, v.kind)
	out.dom = d
	b.emit(func(f *frame) error {
		n := f.count(d)
		in := &f.slots[v.slot]
		switch v.kind {
		case kindBool:
			z := f.bools(out.slot, n)
			f.each(d, func(k, from, to int) { set(z[from:to], in.t[k]) })
		case kindInt:
			z := f.ints(out.slot, n)
			f.each(d, func(k, from, to int) { set(z[from:to], in.i[k]) })
		default:
			z := f.floats(out.slot, n)
			f.each(d, func(k, from, to int) { set(z[from:to], in.f[k]) })
		}
		f.joinMissing(out, v)
		return nil
	})
	return out
}

func set[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}

// align gives values of one domain, and what a result over them is like.
func (b *binder) align(in ...*value) ([]*value, *value, error) {
	var like *value
	for _, v := range in {
		if v.konst || v.dom.scalar() {
			continue
		}
		if like == nil {
			like = v
		} else if err := b.together(like, v); err != nil {
			return nil, nil, err
		}
	}
	out := &value{dom: scalar}
	if like != nil {
		out.dom, out.picked = like.dom, like.picked
	}
	all := make([]*value, len(in))
	floats := 0
	for k, v := range in {
		all[k] = b.spread(v, out.dom)
		out.null = out.null || v.null
		if v.kind == kindFloat {
			out.wide = out.wide || v.wide
			floats += int(bit(v.narrow))
		}
	}
	out.narrow = floats > 0 && !out.wide
	out.slot = b.slot()
	return all, out, nil
}

// together refuses two values that have not the same number of elements by their fields; where only
// the data show it, it checks every block.
func (b *binder) together(x, y *value) error {
	if x.dom.width != y.dom.width || x.dom.shape != y.dom.shape || (x.dom.list > 0) != (y.dom.list > 0) {
		return fmt.Errorf("%s and %s values a sample do not go together", b.many(x.dom), b.many(y.dom))
	}
	if x.picked != y.picked {
		return errors.New("a filtered list and another one do not go together: compute first, then filter, as in (x + y)[cond]")
	}
	i, j := x.dom.list-1, y.dom.list-1
	if i == j {
		return nil
	}
	fx, fy := &b.schema[i], &b.schema[j]
	if fx.Counter != "" && fy.Counter != "" && fx.Counter != fy.Counter {
		return fmt.Errorf("%s is counted by %s and %s by %s: reduce one of them, as in max(%s)", fx.Name, fx.Counter, fy.Name, fy.Counter, Quote(fy.Name))
	}
	b.emit(func(f *frame) error {
		p, q := f.b.Columns[i].Offsets[0][f.lo:f.hi+1], f.b.Columns[j].Offsets[0][f.lo:f.hi+1]
		if &p[0] == &q[0] {
			return nil
		}
		for k := range len(p) - 1 {
			if p[k+1]-p[k] != q[k+1]-q[k] {
				return f.sampleError(k, "%s has %d elements, %s has %d", fx.Name, p[k+1]-p[k], fy.Name, q[k+1]-q[k])
			}
		}
		return nil
	})
	return nil
}

func (b *binder) many(d domain) string {
	if d.list > 0 {
		return "as many as " + b.schema[d.list-1].Name + " has"
	}
	return fmt.Sprint(d.width)
}
