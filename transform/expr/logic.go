package expr

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// isMissing is x == nil.
func (b *binder) isMissing(n ast.Node, op string) (*value, error) {
	v, err := b.compile(n)
	if err != nil {
		return nil, err
	}
	if op != "==" && op != "!=" {
		return nil, fmt.Errorf("%s nil: only == and != ask whether a value is missing", op)
	}
	if v.slot < 0 {
		return nil, fmt.Errorf("%s: lists of lists and of texts have a length only: len(%s)", n, n)
	}
	out := &value{kind: kindBool, dom: scalar, slot: b.slot()}
	b.emit(func(f *frame) error {
		z := f.bools(out.slot, f.samples())
		clear(z)
		if v.null && !v.konst {
			copy(z, f.slots[v.slot].miss)
		}
		if op == "!=" {
			for i := range z {
				z[i] = 1 - z[i]
			}
		}
		return nil
	})
	return out, nil
}

// logic is && and ||. A missing side does not matter where the other side decides.
func (b *binder) logic(and bool, x, y *value, n ast.Node) (*value, error) {
	if x.kind != kindBool || y.kind != kindBool {
		return nil, fmt.Errorf("%s joins %s and %s; it takes conditions", n, x.kind, y.kind)
	}
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	x, y, out.kind = in[0], in[1], kindBool
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c).t[:c], f.vector(y, c).t[:c], f.bools(out.slot, c)
		for i, e := range p {
			if and {
				z[i] = e & q[i]
			} else {
				z[i] = e | q[i]
			}
		}
		if f.joinMissing(out, x, y); out.null && out.dom.scalar() {
			f.decide(and, x, y, out)
		}
		return nil
	})
	return out, nil
}

// decide unmarks samples where one side is there and settles the matter.
func (f *frame) decide(and bool, x, y, out *value) {
	settles := byte(1)
	if and {
		settles = 0
	}
	z, m := f.slots[out.slot].t, f.slots[out.slot].miss
	for _, v := range []*value{x, y} {
		s := &f.slots[v.slot]
		for k := range f.samples() {
			if m[k] != 0 && s.t[k] == settles && (!v.null || s.miss[k] == 0) {
				m[k], z[k] = 0, settles
			}
		}
	}
}

// orElse is x ?? y: y where x is missing.
func (b *binder) orElse(x, y *value, n ast.Node) (*value, error) {
	x, y, err := b.alike(x, y, n)
	if err != nil {
		return nil, err
	}
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	if out.dom.list > 0 {
		return nil, fmt.Errorf("%s: ?? takes one value a sample, not lists", n)
	}
	x, y = in[0], in[1]
	out.kind, out.null = x.kind, x.null && y.null
	b.emit(func(f *frame) error {
		miss := none[:f.samples()]
		if x.null {
			miss = f.slots[x.slot].miss[:f.samples()]
		}
		f.pick(out, miss, y, x)
		if out.null {
			m := f.missing(out.slot)
			for k, a := range f.slots[x.slot].miss[:len(m)] {
				m[k] = a & f.slots[y.slot].miss[k]
			}
		}
		return nil
	})
	return out, nil
}

// none marks nothing.
var none [blockSamples]byte

// pick takes, sample by sample, yes where the mark is set and no elsewhere. The values
// have one domain.
func (f *frame) pick(out *value, mark []byte, yes, no *value) {
	c := f.count(out.dom)
	p, q := f.vector(yes, c), f.vector(no, c)
	switch out.kind {
	case kindBool:
		pickOf(f, out.dom, mark, p.t, q.t, f.bools(out.slot, c))
	case kindInt:
		pickOf(f, out.dom, mark, p.i, q.i, f.ints(out.slot, c))
	default:
		pickOf(f, out.dom, mark, p.f, q.f, f.floats(out.slot, c))
	}
}

func pickOf[T any](f *frame, d domain, mark []byte, p, q, z []T) {
	f.each(d, func(k, from, to int) {
		if mark[k] != 0 {
			copy(z[from:to], p[from:to])
		} else {
			copy(z[from:to], q[from:to])
		}
	})
}

// alike makes two values of one kind, numbers becoming floats if one is.
func (b *binder) alike(x, y *value, n ast.Node) (*value, *value, error) {
	if x.kind == y.kind && x.kind != kindText {
		return x, y, nil
	}
	p, err := b.float(x)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", n, err)
	}
	q, err := b.float(y)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", n, err)
	}
	return p, q, nil
}

// choose is cond ? x : y.
func (b *binder) choose(n *ast.ConditionalNode) (*value, error) {
	var v [3]*value
	for i, m := range []ast.Node{n.Cond, n.Exp1, n.Exp2} {
		var err error
		if v[i], err = b.compile(m); err != nil {
			return nil, err
		}
	}
	if v[0].kind != kindBool {
		return nil, fmt.Errorf("%s: %s is %s, not a condition", n, n.Cond, v[0].kind)
	}
	x, y, err := b.alike(v[1], v[2], n)
	if err != nil {
		return nil, err
	}
	in, out, err := b.align(v[0], x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	c, x, y := in[0], in[1], in[2]
	out.kind = x.kind
	b.emit(func(f *frame) error {
		m := f.count(out.dom)
		t, p, q := f.vector(c, m).t[:m], f.vector(x, m), f.vector(y, m)
		switch out.kind {
		case kindBool:
			chooseOf(t, p.t, q.t, f.bools(out.slot, m))
		case kindInt:
			chooseOf(t, p.i, q.i, f.ints(out.slot, m))
		default:
			chooseOf(t, p.f, q.f, f.floats(out.slot, m))
		}
		if !out.null {
			return nil
		}
		if !out.dom.scalar() {
			f.joinMissing(out, c, x, y)
			return nil
		}
		f.joinMissing(out, c)
		z := f.slots[out.slot].miss
		for k := range f.samples() {
			from := y
			if t[k] != 0 {
				from = x
			}
			if from.null {
				z[k] |= f.slots[from.slot].miss[k]
			}
		}
		return nil
	})
	return out, nil
}

func chooseOf[T any](t []byte, p, q, z []T) {
	for i, c := range t {
		if c != 0 {
			z[i] = p[i]
		} else {
			z[i] = q[i]
		}
	}
}
