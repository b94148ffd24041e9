package load

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
)

// Cast says what a column becomes on its way into the batch. docs/design/loader.md defines
// the arithmetic bit by bit; it is the same on the host and on a GPU.
//
// A floating-point DType (F16, BF16, F32) takes x*Scale + Shift in float32, from any
// type of number. Another DType takes integers and bools that it can all represent,
// and no Scale.
type Cast struct {
	DType shardify.DType
	// Scale and Shift have one number, or one for each place along Axis of a sample's
	// element; nil is 1 and 0.
	Scale, Shift []float32
	// Axis is a dimension of the field's Shape: 0 (the default) is the first one, as of
	// channels in [3, 224, 224]; -1 the last, as of [224, 224, 3].
	Axis int
}

// Caster is a Cast of one tensor, ready for use.
type Caster struct {
	From, To shardify.DType
	// Both nil, or of one length: element e is of channel e/inner%len(scale).
	Scale, Shift []float32
	Inner        int
}

// CastLayout is the layout of what is delivered: that of the shards with the types of
// casts. The second result is the casters by tensor; nil if nothing is cast.
func CastLayout(l *index.Layout, casts map[string]Cast) (*index.Layout, []*Caster, error) {
	if len(casts) == 0 {
		return l, nil, nil
	}
	out := *l
	out.Schema = append([]shardify.Field(nil), l.Schema...)
	out.Tensors = append([]index.TensorSpec(nil), l.Tensors...)
	list := make([]*Caster, len(l.Tensors))
	for name, c := range casts {
		i := shardify.FieldIndex(l.Schema, name)
		if i < 0 {
			return nil, nil, dataset.NoField("cast", l.Schema, name)
		}
		k, err := newCaster(&l.Schema[i], &c)
		if err != nil {
			return nil, nil, shardify.Mismatch("cast of column %s: %v", name, err)
		}
		t := &out.Tensors[l.Columns[i].Values]
		t.Row = t.Row / int64(t.DType.Size()) * int64(c.DType.Size())
		t.DType, out.Schema[i].DType = c.DType, c.DType
		if k.From != k.To || k.Scale != nil {
			list[l.Columns[i].Values] = k
		}
	}
	return &out, list, nil
}

func newCaster(f *shardify.Field, c *Cast) (*Caster, error) {
	k := &Caster{From: f.DType, To: c.DType, Inner: 1}
	switch {
	case f.Media != "":
		return nil, fmt.Errorf("%s are no numbers", f.Media)
	case !castable(f.DType, c.DType):
		return nil, fmt.Errorf("%s to %s: want f16, bf16, f32, or integers to a type that holds them all", f.DType, c.DType)
	case c.Scale == nil && c.Shift == nil:
		return k, nil
	case !c.DType.IsFloat():
		return nil, fmt.Errorf("scale and shift want f16, bf16 or f32, not %s", c.DType)
	}
	n, err := k.channels(f, c)
	if err != nil {
		return nil, err
	}
	if k.Scale, err = spread("scale", c.Scale, n, 1); err == nil {
		k.Shift, err = spread("shift", c.Shift, n, 0)
	}
	return k, err
}

// channels is how many numbers Scale and Shift have, or stand for.
func (k *Caster) channels(f *shardify.Field, c *Cast) (int, error) {
	if len(c.Scale) <= 1 && len(c.Shift) <= 1 {
		return 1, nil
	}
	axis := c.Axis
	if axis < 0 {
		axis += len(f.Shape)
	}
	if axis < 0 || axis >= len(f.Shape) {
		return 0, fmt.Errorf("axis %d of an element of shape %v", c.Axis, f.Shape)
	}
	for _, n := range f.Shape[axis+1:] {
		k.Inner *= n
	}
	return f.Shape[axis], nil
}

func spread(what string, v []float32, n int, none float32) ([]float32, error) {
	switch len(v) {
	case 0:
		v = []float32{none}
	case n:
		return append([]float32(nil), v...), nil
	case 1:
	default:
		return nil, fmt.Errorf("%s has %d numbers, the axis %d", what, len(v), n)
	}
	all := make([]float32, n)
	for i := range all {
		all[i] = v[0]
	}
	return all, nil
}

// castable reports whether one type may become another.
func castable(from, to shardify.DType) bool {
	switch {
	case from == to:
		return true
	case to == shardify.F16 || to == shardify.BF16 || to == shardify.F32:
		return true
	case !to.IsInt() || from.IsFloat():
		return false
	case from == shardify.Bool:
		return true
	}
	unsigned := func(d shardify.DType) bool { return d >= shardify.U8 && d <= shardify.U64 }
	if unsigned(from) == unsigned(to) {
		return to.Size() >= from.Size()
	}
	return unsigned(from) && to.Size() > from.Size()
}
