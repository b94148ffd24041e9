package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/expr-lang/expr/ast"
	"github.com/shardify/shardify/numbers/elementary"
)

func (b *binder) unary(n *ast.UnaryNode) (*value, error) {
	v, err := b.compile(n.Node)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "!", "not":
		if v.kind != kindBool {
			return nil, fmt.Errorf("%s takes a condition, and %s is %s", n.Operator, n.Node, v.kind)
		}
		_, out, err := b.align(v)
		if err != nil {
			return nil, err
		}
		out.kind = kindBool
		b.emit(func(f *frame) error {
			c := f.count(out.dom)
			x, z := f.vector(v, c).t[:c], f.bools(out.slot, c)
			for i, e := range x {
				z[i] = 1 - e
			}
			f.joinMissing(out, v)
			return nil
		})
		return out, nil
	case "-":
		if v.konst && v.kind == kindInt {
			return b.constInt(-v.i), nil
		}
		if v.konst && v.kind == kindFloat {
			return b.constFloat(-v.f), nil
		}
		if v.kind == kindInt {
			return b.arith("-", b.constInt(0), v, n)
		}
		return b.mapFloat(v, func(x float64) float64 { return -x })
	case "+":
		return v, nil
	}
	return nil, fmt.Errorf("operator %s is not supported", n.Operator)
}

func (b *binder) binary(n *ast.BinaryNode) (*value, error) {
	if _, ok := n.Right.(*ast.NilNode); ok {
		return b.isMissing(n.Left, n.Operator)
	}
	if _, ok := n.Left.(*ast.NilNode); ok {
		return b.isMissing(n.Right, n.Operator)
	}
	x, err := b.compile(n.Left)
	if err != nil {
		return nil, err
	}
	if n.Operator == "in" {
		return b.in(x, n)
	}
	y, err := b.compile(n.Right)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "+", "-", "*", "/", "%", "**":
		return b.arith(n.Operator, x, y, n)
	case "==", "!=", "<", "<=", ">", ">=":
		return b.compare(n.Operator, x, y, n)
	case "&&", "and", "||", "or":
		return b.logic(n.Operator == "&&" || n.Operator == "and", x, y, n)
	case "??":
		return b.orElse(x, y, n)
	case "startsWith", "endsWith", "contains", "matches":
		return b.texts(n.Operator, x, y)
	case "^":
		return nil, errors.New("^ is not supported; ** is the power")
	}
	return nil, fmt.Errorf("operator %s is not supported", n.Operator)
}

// arith is a number from two. The quotient is a float whatever it is made of, and so
// is the power; the remainder has the divisor's sign, as in Python.
func (b *binder) arith(op string, x, y *value, n ast.Node) (*value, error) {
	ints := x.kind == kindInt && y.kind == kindInt && op != "/" && op != "**"
	if ints {
		return b.arithInt(op, x, y, n)
	}
	var err error
	if x, err = b.float(x); err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	if y, err = b.float(y); err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	x, y, out.kind = in[0], in[1], kindFloat
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c).f[:c], f.vector(y, c).f[:c], f.floats(out.slot, c)
		floatOp(op, p, q, z)
		f.joinMissing(out, x, y)
		return nil
	})
	return out, nil
}

func floatOp(op string, p, q, z []float64) {
	q, z = q[:len(p)], z[:len(p)]
	switch op {
	case "+":
		for i, e := range p {
			z[i] = e + q[i]
		}
	case "-":
		for i, e := range p {
			z[i] = e - q[i]
		}
	case "*":
		for i, e := range p {
			z[i] = e * q[i]
		}
	case "/":
		for i, e := range p {
			z[i] = e / q[i]
		}
	case "%":
		for i, e := range p {
			z[i] = remainder(e, q[i])
		}
	case "**":
		for i, e := range p {
			z[i] = power(e, q[i])
		}
	}
}

func power(x, y float64) float64 {
	if y == 2 { // by far the most frequent, and exact
		return x * x
	}
	return elementary.Pow(x, y)
}

func remainder(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

func (b *binder) arithInt(op string, x, y *value, n ast.Node) (*value, error) {
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	x, y, out.kind = in[0], in[1], kindInt
	out.null = out.null || op == "%"
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c).i[:c], f.vector(y, c).i[:c], f.ints(out.slot, c)
		f.joinMissing(out, x, y)
		for i, e := range p {
			r, ok := intOp(op, e, q[i])
			if z[i] = r; ok {
				continue
			}
			k := f.sampleOf(out.dom, i)
			switch {
			case op == "%":
				f.slots[out.slot].miss[k] = 1
			case !out.null || f.slots[out.slot].miss[k] == 0:
				return f.sampleError(k, "%s: %d %s %d leaves the range of i64: float(...) has room for it", n, e, op, q[i])
			}
		}
		return nil
	})
	return out, nil
}

func intOp(op string, x, y int64) (int64, bool) {
	switch op {
	case "+":
		z := x + y
		return z, (z > x) == (y > 0)
	case "-":
		z := x - y
		return z, (z < x) == (y > 0)
	case "*":
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		// The high half of the signed product.
		h := int64(hi) - x>>63&y - y>>63&x
		return int64(lo), h == int64(lo)>>63
	default: // %
		if y == 0 {
			return 0, false
		}
		if y == -1 {
			return 0, true
		}
		r := x % y
		if r != 0 && (r < 0) != (y < 0) {
			r += y
		}
		return r, true
	}
}

func (b *binder) compare(op string, x, y *value, n ast.Node) (*value, error) {
	if x.kind == kindText || y.kind == kindText {
		return b.compareText(op, x, y, n)
	}
	if x.kind == kindBool || y.kind == kindBool {
		if x.kind != y.kind || op != "==" && op != "!=" {
			return nil, fmt.Errorf("%s compares %s with %s", n, x.kind, y.kind)
		}
	} else if x.kind == kindFloat && y.kind == kindInt { // the integer to the left
		x, y = y, x
		if flip, ok := flipped[op]; ok {
			op = flip
		}
	}
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	x, y, out.kind = in[0], in[1], kindBool
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c), f.vector(y, c), f.bools(out.slot, c)
		switch {
		case x.kind == kindBool:
			order(op, p.t[:c], q.t[:c], z)
		case x.kind != y.kind:
			orderMixed(op, p.i[:c], q.f[:c], z)
		case x.kind == kindInt:
			order(op, p.i[:c], q.i[:c], z)
		default:
			order(op, p.f[:c], q.f[:c], z)
		}
		f.joinMissing(out, x, y)
		return nil
	})
	return out, nil
}

// flipped are comparisons whose sides change places.
var flipped = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}

// orderMixed compares integers with floats as the numbers that they are: beyond 2^53 the float of
// an integer may be another number.
func orderMixed(op string, p []int64, q []float64, z []byte) {
	for i, e := range p {
		c, unordered := compareMixed(e, q[i])
		switch op {
		case "==":
			z[i] = bit(c == 0 && !unordered)
		case "!=":
			z[i] = bit(c != 0 || unordered)
		case "<":
			z[i] = bit(c < 0)
		case "<=":
			z[i] = bit(c <= 0 && !unordered)
		case ">":
			z[i] = bit(c > 0)
		case ">=":
			z[i] = bit(c >= 0 && !unordered)
		}
	}
}

// compareMixed is below, at or above 0 as x is below, at or above y; NaN has no order.
func compareMixed(x int64, y float64) (c int, unordered bool) {
	switch {
	case y != y:
		return 0, true
	case y >= 1<<63:
		return -1, false
	case y < -1<<63:
		return 1, false
	}
	whole := math.Trunc(y)
	if c = cmp.Compare(x, int64(whole)); c == 0 {
		c = cmp.Compare(whole, y)
	}
	return c, false
}

func order[T byte | int64 | float64](op string, p, q []T, z []byte) {
	q, z = q[:len(p)], z[:len(p)]
	switch op {
	case "==":
		for i, e := range p {
			z[i] = bit(e == q[i])
		}
	case "!=":
		for i, e := range p {
			z[i] = bit(e != q[i])
		}
	case "<":
		for i, e := range p {
			z[i] = bit(e < q[i])
		}
	case "<=":
		for i, e := range p {
			z[i] = bit(e <= q[i])
		}
	case ">":
		for i, e := range p {
			z[i] = bit(e > q[i])
		}
	case ">=":
		for i, e := range p {
			z[i] = bit(e >= q[i])
		}
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
