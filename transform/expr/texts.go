package expr

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
)

// text is the block's sample k of a text.
func (f *frame) text(v *value, k int) []byte {
	switch {
	case v.konst:
		return []byte(v.s) // compared at once: does not escape
	case v.name:
		return f.b.Key(f.lo + k)
	case v.views:
		return f.slots[v.slot].s[k]
	}
	c := &f.b.Columns[v.col-1]
	o := c.Offsets[0][f.lo+k:]
	return c.Data[o[0]:o[1]]
}

// compareText compares texts byte by byte, codes with the text of their label, and times with the
// text of a moment.
func (b *binder) compareText(op string, x, y *value, n ast.Node) (*value, error) {
	if x.labels != nil && y.kind == kindText && y.konst {
		return b.compareLabel(op, x, y.s, n)
	}
	if y.labels != nil && x.kind == kindText && x.konst {
		return b.compareLabel(op, y, x.s, n)
	}
	if x.clock != nil && y.kind == kindText && y.konst {
		return b.compareTime(op, x, y.s, n)
	}
	if y.clock != nil && x.kind == kindText && x.konst {
		if flip, ok := flipped[op]; ok {
			op = flip
		}
		return b.compareTime(op, y, x.s, n)
	}
	meant := b.fieldIn(x, y)
	if err := oneText(x, y); err != nil && meant != "" {
		return nil, fmt.Errorf("%s: %w; the field is written %s", n, err, meant)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	if x.konst && y.konst {
		return nil, fmt.Errorf("%s compares two texts, which are the same for all samples; a field is written %s", n, cmp.Or(meant, Quote(x.s)))
	}
	if x.konst && !y.konst { // move the constant to the right
		x, y = y, x
		if flip, ok := flipped[op]; ok {
			op = flip
		}
	}
	test := func(c int) bool { return c == 0 }
	switch op {
	case "!=":
		test = func(c int) bool { return c != 0 }
	case "<":
		test = func(c int) bool { return c < 0 }
	case "<=":
		test = func(c int) bool { return c <= 0 }
	case ">":
		test = func(c int) bool { return c > 0 }
	case ">=":
		test = func(c int) bool { return c >= 0 }
	}
	constant := []byte(y.s)
	return b.textTest(x, y, func(p, q []byte) bool {
		if y.konst {
			q = constant
		}
		return test(bytes.Compare(p, q))
	}), nil
}

// fieldIn is how an expression names the field whose name is one of its texts, as in quotes of SQL and pandas; ""
// without one.
func (b *binder) fieldIn(in ...*value) string {
	for _, v := range in {
		if v.kind == kindText && v.konst && (format.FieldNamed(b.schema, v.s) >= 0 || b.defs[v.s] != nil) {
			return Quote(v.s)
		}
	}
	return ""
}

func oneText(in ...*value) error {
	for _, v := range in {
		if v.kind != kindText {
			return fmt.Errorf("a text and %s do not go together", v.kind)
		}
		if v.slot < 0 {
			return errors.New("lists of texts and of lists have a length only: len(...)")
		}
	}
	return nil
}

// textTest is a condition on two texts; the second may be a constant.
func (b *binder) textTest(x, y *value, test func(p, q []byte) bool) *value {
	out := &value{kind: kindBool, dom: scalar, slot: b.slot(), null: x.null || y.null}
	b.emit(func(f *frame) error {
		z := f.bools(out.slot, f.samples())
		for k := range z {
			var q []byte
			if !y.konst {
				q = f.text(y, k)
			}
			z[k] = bit(test(f.text(x, k), q))
		}
		f.joinMissing(out, x, y)
		return nil
	})
	return out
}

// compareLabel compares a code with the code of a label.
func (b *binder) compareLabel(op string, x *value, label string, n ast.Node) (*value, error) {
	if op != "==" && op != "!=" {
		return nil, fmt.Errorf("%s: labels are equal or not", n)
	}
	if len(x.labels) == 0 {
		return b.compare(op, x, b.constInt(-1), n)
	}
	i := slices.Index(x.labels, label)
	if i < 0 {
		msg := fmt.Sprintf("%s: no label %q", n, label)
		if s := suggest.Word(label, x.labels); s != "" {
			msg += fmt.Sprintf("; did you mean %q?", s)
		}
		return nil, errors.New(msg)
	}
	return b.compare(op, x, b.constInt(x.codes[i]), n)
}

// noTime is a time that is missing (NaT).
const noTime = math.MinInt64

// compareTime compares times with a moment. One that is missing is at no side of it, as NaN is.
func (b *binder) compareTime(op string, x *value, text string, n ast.Node) (*value, error) {
	at, err := x.clock.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", n, shardify.Plain(err))
	}
	moment := b.constInt(at)
	out := &value{kind: kindBool, dom: x.dom, slot: b.slot(), null: x.null}
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c).i[:c], f.vector(moment, c).i[:c], f.bools(out.slot, c)
		order(op, p, q, z)
		for i, v := range p {
			if v == noTime {
				z[i] = bit(op == "!=")
			}
		}
		f.joinMissing(out, x)
		return nil
	})
	return out, nil
}

// texts are startsWith, endsWith, contains and matches.
func (b *binder) texts(op string, x, y *value) (*value, error) {
	if err := oneText(x, y); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if x.konst || !y.konst {
		return nil, fmt.Errorf("%s wants a field on its left and a text in quotes on its right", op)
	}
	c := []byte(y.s)
	test := func(p, _ []byte) bool { return bytes.HasPrefix(p, c) }
	switch op {
	case "endsWith":
		test = func(p, _ []byte) bool { return bytes.HasSuffix(p, c) }
	case "contains":
		test = func(p, _ []byte) bool { return bytes.Contains(p, c) }
	case "matches":
		re, err := regexp.Compile(y.s)
		if err != nil {
			return nil, err
		}
		test = func(p, _ []byte) bool { return re.Match(p) }
	}
	return b.textTest(x, y, test), nil
}

// in is x in [a, b, c], or x in lo..hi with both ends.
func (b *binder) in(x *value, n *ast.BinaryNode) (*value, error) {
	if r, ok := n.Right.(*ast.BinaryNode); ok && r.Operator == ".." {
		lo, err := b.compile(r.Left)
		if err != nil {
			return nil, err
		}
		hi, err := b.compile(r.Right)
		if err != nil {
			return nil, err
		}
		above, err := b.compare(">=", x, lo, n)
		if err != nil {
			return nil, err
		}
		below, err := b.compare("<=", x, hi, n)
		if err != nil {
			return nil, err
		}
		return b.logic(true, above, below, n)
	}
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return nil, fmt.Errorf("%s: in takes a list [a, b] or a range lo..hi", n)
	}
	if len(list.Nodes) > 16 {
		if v, err := b.inSet(x, list); v != nil || err != nil {
			return v, err
		}
	}
	var out *value
	for _, e := range list.Nodes {
		y, err := b.compile(e)
		if err != nil {
			return nil, err
		}
		if !y.konst {
			return nil, fmt.Errorf("%s: in takes constants", n)
		}
		eq, err := b.compare("==", x, y, n)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = eq
		} else if out, err = b.logic(false, out, eq, n); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%s: the list is empty", n)
	}
	return out, nil
}

// inSet looks up integers in a long list; nil if they are not all integers.
func (b *binder) inSet(x *value, list *ast.ArrayNode) (*value, error) {
	if x.kind != kindInt {
		return nil, nil
	}
	set := make(map[int64]struct{}, len(list.Nodes))
	for _, e := range list.Nodes {
		y, err := b.compile(e)
		if err != nil {
			return nil, err
		}
		if !y.konst || y.kind != kindInt {
			return nil, nil
		}
		set[y.i] = struct{}{}
	}
	out := b.like(x, kindBool)
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		z := f.bools(out.slot, c)
		for i, e := range f.vector(x, c).i[:c] {
			_, ok := set[e]
			z[i] = bit(ok)
		}
		f.joinMissing(out, x)
		return nil
	})
	return out, nil
}
