package expr

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/numbers/elementary"
)

// oneFloat are the functions of one number that give a float. Those of package math whose
// last bits depend on the machine stay out.
var oneFloat = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "cbrt": elementary.Cbrt, "exp": elementary.Exp, "expm1": elementary.Expm1,
	"log": elementary.Log, "log2": elementary.Log2, "log10": elementary.Log10, "log1p": elementary.Log1p,
	"sin": elementary.Sin, "cos": elementary.Cos, "tan": elementary.Tan,
	"asin": elementary.Asin, "acos": elementary.Acos, "atan": elementary.Atan,
	"sinh": elementary.Sinh, "cosh": elementary.Cosh, "tanh": elementary.Tanh,
	"asinh": elementary.Asinh, "acosh": elementary.Acosh, "atanh": elementary.Atanh,
	"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.RoundToEven,
}

// twoFloat are the functions of two numbers that give a float.
var twoFloat = map[string]func(x, y float64) float64{
	"atan2": elementary.Atan2, "hypot": elementary.Hypot, "pow": power, "dphi": dphi,
}

// dphi is the difference of two angles in [-pi, pi].
func dphi(x, y float64) float64 { return math.Remainder(x-y, 2*math.Pi) }

var oneTest = map[string]func(float64) bool{
	"isnan":    func(x float64) bool { return x != x },
	"isinf":    func(x float64) bool { return math.IsInf(x, 0) },
	"isfinite": func(x float64) bool { return x-x == 0 },
}

var others = []string{"abs", "int", "float", "min", "max", "sum", "mean", "len", "any", "all", "count", "argmax", "argmin", "any_of", "all_of", "count_of", "field"}

// Functions lists the names of all functions.
func Functions() []string {
	out := slices.Concat(others, ofTexts)
	out = slices.AppendSeq(out, maps.Keys(oneFloat))
	out = slices.AppendSeq(out, maps.Keys(twoFloat))
	out = slices.AppendSeq(out, maps.Keys(oneTest))
	slices.Sort(out)
	return out
}

func (b *binder) call(n *ast.CallNode) (*value, error) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return nil, fmt.Errorf("%s: want a function's name before the bracket", n)
	}
	if id.Value == "float" && len(n.Arguments) == 1 {
		if v := b.unsigned(n.Arguments[0]); v != nil {
			return v, nil
		}
	}
	if name, args, ok := ofCall(n); ok {
		v, err := b.joinMany(name, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		return v, nil
	}
	if name, args, ok := textCall(n); ok {
		v, err := b.ofText(name, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		return v, nil
	}
	var args []*value
	for _, a := range n.Arguments {
		v, err := b.compile(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	v, err := b.function(id.Value, args, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	return v, nil
}

func (b *binder) function(name string, args []*value, n *ast.CallNode) (*value, error) {
	if name == "min" || name == "max" {
		if len(args) > 1 {
			return b.extreme(name == "max", args, n)
		}
	}
	if f := twoFloat[name]; f != nil {
		if len(args) != 2 {
			return nil, errors.New("want two numbers")
		}
		return b.mapTwo(args[0], args[1], f)
	}
	known := oneFloat[name] != nil || oneTest[name] != nil || slices.Contains(others, name)
	if !known {
		msg := "no function " + name
		if s := suggest.Word(name, Functions()); s != "" {
			msg += "; did you mean " + s + "?"
		}
		return nil, errors.New(msg)
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("want one argument, not %d", len(args))
	}
	v := args[0]
	if name == "len" {
		return b.length(v)
	}
	if v.kind == kindText {
		return nil, errors.New("want numbers, not texts")
	}
	switch {
	case oneFloat[name] != nil:
		return b.mapFloat(v, oneFloat[name])
	case oneTest[name] != nil:
		return b.test(v, oneTest[name])
	}
	switch name {
	case "abs":
		return b.abs(v)
	case "float":
		return b.toFloat(v)
	case "int":
		return b.toInt(v)
	case "field":
		return nil, errors.New(`want a name in quotes, as in field("a-b")`)
	}
	return b.reduce(name, v)
}

// unsigned reads a u64 field as floats: values beyond i64 have no integer here.
func (b *binder) unsigned(n ast.Node) *value {
	name, ok := fieldName(n)
	i := format.FieldNamed(b.schema, name)
	if !ok || i < 0 || b.schema[i].DType != shardify.U64 || b.schema[i].Levels > 1 {
		return nil
	}
	fd := &b.schema[i]
	v := &value{kind: kindFloat, wide: true, null: fd.Nullable, slot: b.slot(), dom: domain{shape: shapeKey(fd.Shape), width: fd.Elem()}}
	if fd.Levels == 1 {
		v.dom.list = i + 1
		b.useLists(i)
	}
	b.emit(func(f *frame) error {
		from := f.lo * v.dom.width
		if v.dom.list > 0 {
			from = int(f.b.Columns[i].Offsets[0][f.lo]) * v.dom.width
		}
		c := f.count(v.dom)
		x, z := shardify.View[uint64](f.b.Columns[i].Data)[from:from+c], f.floats(v.slot, c)
		for k, e := range x {
			z[k] = float64(e)
		}
		if v.null {
			f.loadMissing(v.slot, i)
		}
		return nil
	})
	return v
}

// mapFloat applies a function to every value.
func (b *binder) mapFloat(v *value, fn func(float64) float64) (*value, error) {
	v, err := b.float(v)
	if err != nil {
		return nil, err
	}
	if v.konst {
		return b.constFloat(fn(v.f)), nil
	}
	out := b.like(v, kindFloat)
	b.emit(func(f *frame) error {
		n := f.count(out.dom)
		x, z := f.vector(v, n).f[:n], f.floats(out.slot, n)
		for i, e := range x {
			z[i] = fn(e)
		}
		f.joinMissing(out, v)
		return nil
	})
	return out, nil
}

func (b *binder) mapTwo(x, y *value, fn func(x, y float64) float64) (*value, error) {
	x, err := b.float(x)
	if err != nil {
		return nil, err
	}
	if y, err = b.float(y); err != nil {
		return nil, err
	}
	in, out, err := b.align(x, y)
	if err != nil {
		return nil, err
	}
	x, y, out.kind = in[0], in[1], kindFloat
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		p, q, z := f.vector(x, c).f[:c], f.vector(y, c).f[:c], f.floats(out.slot, c)
		for i, e := range p {
			z[i] = fn(e, q[i])
		}
		f.joinMissing(out, x, y)
		return nil
	})
	return out, nil
}

func (b *binder) test(v *value, fn func(float64) bool) (*value, error) {
	v, err := b.float(v)
	if err != nil {
		return nil, err
	}
	_, out, err := b.align(v)
	if err != nil {
		return nil, err
	}
	out.kind = kindBool
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		z := f.bools(out.slot, c)
		for i, e := range f.vector(v, c).f[:c] {
			z[i] = bit(fn(e))
		}
		f.joinMissing(out, v)
		return nil
	})
	return out, nil
}

func (b *binder) abs(v *value) (*value, error) {
	if v.kind != kindInt {
		return b.mapFloat(v, math.Abs)
	}
	_, out, err := b.align(v)
	if err != nil {
		return nil, err
	}
	out.kind = kindInt
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		z := f.ints(out.slot, c)
		for i, e := range f.vector(v, c).i[:c] {
			if e < 0 {
				e = -e
			}
			if e < 0 {
				return f.sampleError(f.sampleOf(out.dom, i), "abs(%d) leaves the range of i64", e)
			}
			z[i] = e
		}
		f.joinMissing(out, v)
		return nil
	})
	return out, nil
}

// toFloat also takes conditions: 0 and 1.
func (b *binder) toFloat(v *value) (*value, error) {
	if v.kind == kindBool {
		var err error
		if v, err = b.toInt(v); err != nil {
			return nil, err
		}
	}
	v, err := b.float(v)
	if err != nil {
		return nil, err
	}
	c := *v
	c.wide, c.narrow = true, false // asked for, so kept: f64
	return &c, nil
}

// toInt cuts the fraction off. What i64 does not hold, NaN too, is missing.
func (b *binder) toInt(v *value) (*value, error) {
	if v.kind == kindInt {
		return v, nil
	}
	_, out, err := b.align(v)
	if err != nil {
		return nil, err
	}
	out.kind, out.null = kindInt, out.null || v.kind == kindFloat
	b.emit(func(f *frame) error {
		c := f.count(out.dom)
		z := f.ints(out.slot, c)
		f.joinMissing(out, v)
		if v.kind == kindBool {
			for i, e := range f.vector(v, c).t[:c] {
				z[i] = int64(e)
			}
			return nil
		}
		for i, e := range f.vector(v, c).f[:c] {
			if e >= -0x1p63 && e < 0x1p63 {
				z[i] = int64(e)
				continue
			}
			z[i] = 0
			f.slots[out.slot].miss[f.sampleOf(out.dom, i)] = 1
		}
		return nil
	})
	return out, nil
}

// extreme is min or max of several values, one by one. NaN wins.
func (b *binder) extreme(largest bool, args []*value, n ast.Node) (*value, error) {
	out := args[0]
	for _, y := range args[1:] {
		x, y, err := b.alike(out, y, n)
		if err != nil {
			return nil, err
		}
		if x.kind == kindBool {
			return nil, errors.New("want numbers, not conditions")
		}
		in, z, err := b.align(x, y)
		if err != nil {
			return nil, err
		}
		x, y, z.kind = in[0], in[1], x.kind
		b.emit(func(f *frame) error {
			c := f.count(z.dom)
			p, q := f.vector(x, c), f.vector(y, c)
			if z.kind == kindInt {
				extremes(largest, p.i[:c], q.i[:c], f.ints(z.slot, c))
			} else {
				extremes(largest, p.f[:c], q.f[:c], f.floats(z.slot, c))
			}
			f.joinMissing(z, x, y)
			return nil
		})
		out = z
	}
	return out, nil
}

func extremes[T int64 | float64](largest bool, p, q, z []T) {
	if largest {
		for i, e := range p {
			z[i] = max(e, q[i])
		}
		return
	}
	for i, e := range p {
		z[i] = min(e, q[i])
	}
}

// length is the number of elements, of lists, or of a text's bytes.
func (b *binder) length(v *value) (*value, error) {
	if v.picked != nil {
		return b.reduce("count", v.picked)
	}
	d := dims(v.dom.shape)
	switch {
	case v.kind == kindText && v.konst:
		return b.constInt(int64(len(v.s))), nil
	case v.name || v.views:
		return b.textLength(v), nil
	case v.dom.list == 0 && v.col == 0 && len(d) == 0:
		return nil, errors.New("one value has no length")
	case v.dom.list == 0 && v.col == 0:
		return b.constInt(int64(d[0])), nil
	}
	col := v.dom.list - 1
	if v.col > 0 {
		col = v.col - 1
	}
	out := &value{kind: kindInt, dom: scalar, slot: b.slot(), null: v.null}
	b.emit(func(f *frame) error {
		z := f.ints(out.slot, f.samples())
		o := f.b.Columns[col].Offsets[0][f.lo : f.hi+1]
		for k := range z {
			z[k] = o[k+1] - o[k]
		}
		if out.null {
			f.loadMissing(out.slot, col)
		}
		return nil
	})
	return out, nil
}

// textLength is the number of bytes of a text that no column has.
func (b *binder) textLength(v *value) *value {
	out := &value{kind: kindInt, dom: scalar, slot: b.slot(), null: v.null}
	b.emit(func(f *frame) error {
		for k, z := 0, f.ints(out.slot, f.samples()); k < len(z); k++ {
			z[k] = int64(len(f.text(v, k)))
		}
		f.joinMissing(out, v)
		return nil
	})
	return out
}
