package expr

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// reduce makes one value a sample of the elements of a list or of a fixed shape.
func (b *binder) reduce(name string, v *value) (*value, error) {
	switch {
	case v.dom.scalar():
		return nil, errors.New("there is one value a sample: want a list, or elements of a fixed shape")
	case v.kind == kindText:
		return nil, errors.New("want numbers, not texts")
	}
	conditions := name == "any" || name == "all" || name == "count"
	if conditions != (v.kind == kindBool) && !(name == "sum" && v.kind == kindBool) {
		if conditions {
			return nil, fmt.Errorf("want a condition, as in %s(x > 0)%s", name, map[bool]string{true: "; len(x) counts elements"}[name == "count"])
		}
		return nil, errors.New("want numbers, not conditions")
	}
	out := &value{kind: v.kind, dom: scalar, slot: b.slot(), null: v.null || v.picked != nil && v.picked.null, narrow: v.narrow, wide: v.wide}
	switch name {
	case "any", "all":
		out.kind = kindBool
	case "count", "argmax", "argmin":
		out.kind = kindInt
	case "sum":
		if v.kind == kindBool {
			out.kind, name = kindInt, "count"
		}
	case "mean":
		var err error
		if v, err = b.float(v); err != nil {
			return nil, err
		}
		out.kind = kindFloat
	}
	if name == "min" || name == "max" || name == "mean" || name == "argmax" || name == "argmin" {
		out.null = true // of none
	}
	b.emit(b.reducer(name, v, out))
	return out, nil
}

func (b *binder) reducer(name string, v, out *value) instr {
	return func(f *frame) (err error) {
		c, n := f.count(v.dom), f.samples()
		x := f.vector(v, c)
		var on []byte
		if v.picked != nil {
			on = f.vector(v.picked, c).t[:c]
		}
		f.joinMissing(out, v, v.picked)
		switch {
		case v.kind == kindBool:
			f.reduceBool(name, v.dom, x.t[:c], on, out)
		case name == "argmax" || name == "argmin":
			z := f.ints(out.slot, n)
			if v.kind == kindInt {
				place(f, name == "argmax", v.dom, x.i[:c], on, z, f.missing(out.slot))
			} else {
				place(f, name == "argmax", v.dom, x.f[:c], on, z, f.missing(out.slot))
			}
		case v.kind == kindInt && name == "sum":
			return f.sumInts(v, x.i[:c], on, out)
		case v.kind == kindInt:
			peak(f, name == "max", v.dom, x.i[:c], on, f.ints(out.slot, n), f.missing(out.slot))
		case name == "sum" || name == "mean":
			f.sumFloats(name == "mean", v.dom, x.f[:c], on, out)
		default:
			peak(f, name == "max", v.dom, x.f[:c], on, f.floats(out.slot, n), f.missing(out.slot))
		}
		return nil
	}
}

func (f *frame) reduceBool(name string, d domain, x, on []byte, out *value) {
	var counts []int64
	var flags []byte
	if name == "count" {
		counts = f.ints(out.slot, f.samples())
	} else {
		flags = f.bools(out.slot, f.samples())
	}
	f.each(d, func(k, from, to int) {
		n, of := int64(0), int64(0)
		if on == nil {
			of = int64(to - from)
			for _, e := range x[from:to] {
				n += int64(e)
			}
		} else {
			for i := from; i < to; i++ {
				of += int64(on[i])
				n += int64(on[i] & x[i])
			}
		}
		switch name {
		case "count":
			counts[k] = n
		case "any":
			flags[k] = bit(n > 0)
		default:
			flags[k] = bit(n == of)
		}
	})
}

func (f *frame) sumInts(v *value, x []int64, on []byte, out *value) (err error) {
	z := f.ints(out.slot, f.samples())
	f.each(v.dom, func(k, from, to int) {
		s, fits := int64(0), true
		for i := from; i < to; i++ {
			if on == nil || on[i] != 0 {
				var ok bool
				s, ok = intOp("+", s, x[i])
				fits = fits && ok
			}
		}
		if z[k] = s; !fits && err == nil && (!out.null || f.slots[out.slot].miss[k] == 0) {
			err = f.sampleError(k, "a sum of integers leaves the range of i64: sum(float(...)) has room for it")
		}
	})
	return err
}

// sumFloats adds in the order of the elements.
func (f *frame) sumFloats(mean bool, d domain, x []float64, on []byte, out *value) {
	z := f.floats(out.slot, f.samples())
	f.each(d, func(k, from, to int) {
		s, n := 0.0, 0
		if on == nil {
			n = to - from
			for _, e := range x[from:to] {
				s += e
			}
		} else {
			for i := from; i < to; i++ {
				if on[i] != 0 {
					s += x[i]
					n++
				}
			}
		}
		if mean {
			if n == 0 {
				f.slots[out.slot].miss[k] = 1
				s = 0
			} else {
				s /= float64(n)
			}
		}
		z[k] = s
	})
}

// peak is the largest or smallest element; NaN, if there is one.
func peak[T int64 | float64](f *frame, largest bool, d domain, x []T, on []byte, z []T, miss []byte) {
	f.each(d, func(k, from, to int) {
		var best T
		none := true
		for i := from; i < to; i++ {
			switch e := x[i]; {
			case on != nil && on[i] == 0:
			case none:
				best, none = e, false
			case largest:
				best = max(best, e)
			default:
				best = min(best, e)
			}
		}
		if z[k] = best; none {
			miss[k] = 1
		}
	})
}

// place is the number of the first largest or smallest element, among those that a
// filter leaves; NaN counts as no element.
func place[T int64 | float64](f *frame, largest bool, d domain, x []T, on []byte, z []int64, miss []byte) {
	f.each(d, func(k, from, to int) {
		var best T
		at, n := int64(-1), int64(0)
		for i := from; i < to; i++ {
			if on != nil && on[i] == 0 {
				continue
			}
			e := x[i]
			if e == e && (at < 0 || largest && e > best || !largest && e < best) {
				best, at = e, n
			}
			n++
		}
		if z[k] = max(at, 0); at < 0 {
			miss[k] = 1
		}
	})
}

// member is x[i], one element, or x[cond], those that meet a condition.
func (b *binder) member(n *ast.MemberNode) (*value, error) {
	v, err := b.compile(n.Node)
	if err != nil {
		return nil, err
	}
	i, err := b.compile(n.Property)
	if err != nil {
		return nil, err
	}
	switch {
	case v.kind == kindText:
		return nil, fmt.Errorf("%s: texts and lists of lists have no elements here", n)
	case v.dom.scalar():
		return nil, fmt.Errorf("%s: %s is one value a sample", n, n.Node)
	case i.kind == kindBool:
		return b.filter(v, i, n)
	case i.kind != kindInt:
		return nil, fmt.Errorf("%s: an index is an integer or a condition", n)
	case !i.konst && !i.dom.scalar():
		return nil, fmt.Errorf("%s: an index is one integer a sample", n)
	}
	return b.element(v, i)
}

func (b *binder) filter(v, cond *value, n ast.Node) (*value, error) {
	if cond.konst || cond.dom.scalar() {
		return nil, fmt.Errorf("%s: want a condition on the elements", n)
	}
	if v.picked != nil {
		return nil, fmt.Errorf("%s: one filter a list; join conditions with &&", n)
	}
	if cond.picked != nil {
		return nil, fmt.Errorf("%s: the condition is on a filtered list", n)
	}
	if err := b.together(v, cond); err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	out := *v
	out.picked = cond
	return &out, nil
}

// element is x[i], counted from the end if i < 0; missing beyond the ends.
func (b *binder) element(v, i *value) (*value, error) {
	d := domain{width: v.dom.width}
	if v.dom.list > 0 {
		d.shape = v.dom.shape
	} else {
		s := dims(v.dom.shape)
		d.width /= max(s[0], 1)
		d.shape = shapeKey(s[1:])
	}
	if v.picked != nil && v.dom.width != 1 && v.dom.list > 0 {
		return nil, errors.New("an element of a filtered list of shapes is not supported")
	}
	out := &value{kind: v.kind, dom: d, slot: b.slot(), narrow: v.narrow, wide: v.wide, labels: v.labels, codes: v.codes, null: true}
	if s := dims(v.dom.shape); v.dom.list == 0 && i.konst && v.picked == nil {
		if i.i >= int64(s[0]) || i.i < -int64(s[0]) {
			return nil, fmt.Errorf("element %d of %d", i.i, s[0])
		}
		out.null = v.null
	}
	b.emit(func(f *frame) error {
		c, n := f.count(v.dom), f.samples()
		x, at := f.vector(v, c), f.vector(i, n)
		var on []byte
		if v.picked != nil {
			on = f.vector(v.picked, c).t[:c]
		}
		if f.joinMissing(out, v, v.picked); out.null && i.null {
			m := f.missing(out.slot)
			for k, e := range at.miss[:n] {
				m[k] |= e
			}
		}
		switch v.kind {
		case kindBool:
			elements(f, v.dom, d.width, x.t, at.i, on, f.bools(out.slot, n*d.width), out)
		case kindInt:
			elements(f, v.dom, d.width, x.i, at.i, on, f.ints(out.slot, n*d.width), out)
		default:
			elements(f, v.dom, d.width, x.f, at.i, on, f.floats(out.slot, n*d.width), out)
		}
		return nil
	})
	return out, nil
}

func elements[T any](f *frame, d domain, w int, x []T, at []int64, on []byte, z []T, out *value) {
	f.each(d, func(k, from, to int) {
		i, n := at[k], int64(to-from)/int64(max(w, 1))
		if on != nil {
			i, n = nth(on[from:to], i), int64(to-from)
		} else if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			clear(z[k*w : (k+1)*w])
			f.slots[out.slot].miss[k] = 1
			return
		}
		lo := from + int(i)*w
		copy(z[k*w:(k+1)*w], x[lo:lo+w])
	})
}

// nth is the place of the i-th mark, from the end if i < 0; -1 if there are fewer.
func nth(on []byte, i int64) int64 {
	if i < 0 {
		for k := len(on) - 1; k >= 0; k-- {
			if on[k] != 0 {
				if i++; i == 0 {
					return int64(k)
				}
			}
		}
		return -1
	}
	for k, e := range on {
		if e != 0 {
			if i == 0 {
				return int64(k)
			}
			i--
		}
	}
	return -1
}
