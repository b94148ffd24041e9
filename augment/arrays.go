package augment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/elementary"
	"github.com/shardify/shardify/transform/op"
)

var fieldsArg = Arg{Name: "FIELD+FIELD", Help: "fields, by name or glob, joined by +"}

// arrayOps are the lines of the table for numbers.
var arrayOps = []Op{
	{
		Name: "normalise", Help: "subtract the mean and divide by the standard deviation", Value: fieldsArg,
		Args: []Arg{
			{"sentinel", "none", "a value that stands for \"missing\": left out of the statistics and kept as it is"},
			{"by", "last", "statistics for each entry of the last axis (last) or of the first, such as channels (first), or one for all values of the field (all)"},
		},
		Effect: "same shape; floating-point types stay, integers become f32; the figures are in the attributes normalise.mean and normalise.std of the field",
		make:   newNormalise,
	},
	{
		Name: "noise", Help: "add Gaussian noise", Value: fieldsArg, Random: true,
		Args:   []Arg{{"sigma", "", "standard deviation of the noise, in the unit of the field"}},
		Effect: "same shape and type",
		make: func(a *args, env Env) (shardify.Transform, error) {
			sigma, err := a.number("sigma", 0, math.MaxFloat64)
			return newValues(a, env, func(x float64, r *source) float64 { return x + float64(sigma*r.normal()) }), err
		},
	},
	{
		Name: "smear", Help: "multiply by a Gaussian of mean 1, as a detector's resolution does", Value: fieldsArg, Random: true,
		Args:   []Arg{{"sigma", "", "relative resolution: 0.1 is ten percent"}},
		Effect: "same shape and type",
		make: func(a *args, env Env) (shardify.Transform, error) {
			sigma, err := a.number("sigma", 0, math.MaxFloat64)
			return newValues(a, env, func(x float64, r *source) float64 { return x * (1 + float64(sigma*r.normal())) }), err
		},
	},
	{
		Name: "scale", Help: "multiply all values of a sample by one random factor", Value: fieldsArg, Random: true,
		Args:   []Arg{{"range", "", "LO:HI of the factor"}},
		Effect: "same shape and type",
		make:   newScale,
	},
	{
		Name: "mask", Help: "replace single values at random", Value: fieldsArg, Random: true,
		Args:   []Arg{{"p", "", "chance of each value"}, {"value", "0", "the value written instead"}},
		Effect: "same shape and type",
		make:   newMask,
	},
	{
		Name: "drop", Help: "leave elements of lists out at random", Value: Arg{Name: "COUNTER", Help: "a counter, or a list, whose elements go together"}, Random: true,
		Args:   []Arg{{"p", "", "chance of each element"}, {"min", "0", "elements that stay in any case"}},
		Effect: "shorter lists; the fields of one counter lose the same elements, in their order",
		make:   newDrop,
	},
	{
		Name: "permute", Help: "put the elements of lists into a random order", Value: Arg{Name: "COUNTER", Help: "a counter, or a list, whose elements go together"}, Random: true,
		Effect: "same lengths; the fields of one counter are permuted alike",
		make:   newPermute,
	},
	{
		Name: "rotate-phi", Help: "add one random angle per sample to azimuths", Value: fieldsArg, Random: true,
		Effect: "same shape and type, angles in [-pi, pi)",
		make:   newRotatePhi,
	},
	{
		Name: "rotate-3d", Help: "rotate vectors by one random rotation per sample", Random: true,
		Value:  Arg{Name: "X:Y:Z+FIELD", Help: "vectors, joined by +: three fields X:Y:Z, or a field whose last axis has three entries"},
		Args:   []Arg{{"axis", "any", "any: uniform over all rotations; x, y or z: about that axis"}},
		Effect: "same shape and type; lengths of vectors and angles between them stay",
		make:   newRotate,
	},
}

// values changes numbers one by one.
type values struct {
	globs []string
	dice  dice
	cols  []int
	n     int
	f     func(x float64, r *source) float64
	// each, if set, is called for every sample first and replaces f.
	each func(r *source) func(x float64) float64
}

func newValues(a *args, env Env, f func(float64, *source) float64) *values {
	return &values{globs: a.fields(), dice: dice{table: env.Table}, f: f}
}

// Needs names the fields.
func (v *values) Needs() []string { return plain(v.globs) }

// Schema finds the fields, whose types stay.
func (v *values) Schema(in []shardify.Field) (_ []shardify.Field, err error) {
	v.n = len(in)
	v.cols, err = find(in, v.globs, floats)
	return in, err
}

// Cost is a copy of the fields.
func (v *values) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 1, Sample: 8} }

// Apply changes copies.
func (v *values) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, v.n); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for _, k := range v.cols {
		own(&out.Columns[k], mem)
	}
	v.dice.roll(b, seed, func(i int, r *source) {
		f := func(x float64) float64 { return v.f(x, r) }
		if v.each != nil {
			f = v.each(r)
		}
		for _, k := range v.cols {
			c := &out.Columns[k]
			if present(c, i) {
				lo, hi := span(c, i)
				apply(c, lo, hi, f)
			}
		}
	})
	return out, nil
}

func newScale(a *args, env Env) (shardify.Transform, error) {
	lo, hi, err := a.pair("range", -math.MaxFloat64, math.MaxFloat64)
	v := newValues(a, env, nil)
	v.each = func(r *source) func(float64) float64 {
		factor := r.between(lo, hi)
		return func(x float64) float64 { return x * factor }
	}
	return v, err
}

func newMask(a *args, env Env) (shardify.Transform, error) {
	p, err := a.number("p", 0, 1)
	if err != nil {
		return nil, err
	}
	instead, err := a.number("value", -math.MaxFloat64, math.MaxFloat64)
	return newValues(a, env, func(x float64, r *source) float64 {
		if r.float() < p {
			return instead
		}
		return x
	}), err
}

func newRotatePhi(a *args, env Env) (shardify.Transform, error) {
	v := newValues(a, env, nil)
	v.each = func(r *source) func(float64) float64 {
		turn := r.between(-math.Pi, math.Pi)
		return func(x float64) float64 { return wrap(x + turn) }
	}
	return v, nil
}

// wrap brings an angle into [-pi, pi); what is not an angle (NaN, infinite) stays.
func wrap(x float64) float64 {
	if x >= -math.Pi && x < math.Pi || x-x != 0 {
		return x
	}
	x = math.Mod(x+math.Pi, 2*math.Pi)
	if x < 0 {
		x += 2 * math.Pi
	}
	if x -= math.Pi; x >= math.Pi {
		x = -math.Pi
	}
	return x
}

// rotate turns vectors.
type rotate struct {
	dice dice
	list [][]string // names: one of a field of vectors, or three
	axis string
	vecs [][]int
	n    int
}

func newRotate(a *args, env Env) (shardify.Transform, error) {
	r := &rotate{dice: dice{table: env.Table}, axis: a.text("axis")}
	if !slices.Contains([]string{"any", "x", "y", "z"}, r.axis) {
		return nil, fmt.Errorf("axis=%s: want any, x, y or z", r.axis)
	}
	for _, v := range a.fields() {
		names := strings.Split(v, ":")
		if len(names) != 1 && len(names) != 3 {
			return nil, fmt.Errorf("%q: want three fields X:Y:Z, or one with three entries on its last axis", v)
		}
		r.list = append(r.list, names)
	}
	return r, nil
}

// Needs names the fields.
func (r *rotate) Needs() []string { return slices.Concat(r.list...) }

// Schema finds the vectors.
func (r *rotate) Schema(in []shardify.Field) ([]shardify.Field, error) {
	r.n, r.vecs = len(in), nil
	for _, names := range r.list {
		var v []int
		for _, name := range names {
			i, err := find(in, []string{name}, floats)
			if err != nil {
				return nil, err
			}
			v = append(v, i[0])
		}
		f := &in[v[0]]
		if len(v) == 1 && (len(f.Shape) == 0 || f.Shape[len(f.Shape)-1] != 3) {
			return nil, shardify.Mismatch("field %s has shape %v: its last axis must have three entries, or name three fields X:Y:Z", f.Name, f.Shape)
		}
		for _, k := range v[1:] {
			g := &in[k]
			if g.DType != f.DType || g.Levels != f.Levels || g.CounterName() != f.CounterName() && g.Levels > 0 || !slices.Equal(g.Shape, f.Shape) {
				return nil, shardify.Mismatch("fields %s and %s are not alike: the parts of a vector need one type, shape and counter", f.Name, g.Name)
			}
		}
		r.vecs = append(r.vecs, v)
	}
	return in, nil
}

// Cost is a copy of the fields.
func (r *rotate) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 1, Sample: 8} }

// Apply turns all vectors of a sample alike.
func (r *rotate) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, r.n); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for _, v := range r.vecs {
		for _, k := range v {
			own(&out.Columns[k], mem)
		}
	}
	r.dice.roll(b, seed, func(i int, s *source) {
		m := rotation(r.axis, s)
		for _, v := range r.vecs {
			turn(out.Columns, v, i, &m)
		}
	})
	return out, nil
}

type matrix [3][3]float64

// rotation draws one: uniform over all (by a random unit quaternion), or about an axis.
func rotation(axis string, r *source) matrix {
	var w, x, y, z float64
	if axis == "any" {
		w, x, y, z = r.normal(), r.normal(), r.normal(), r.normal()
		n := math.Sqrt(float64(w*w) + float64(x*x) + float64(y*y) + float64(z*z))
		w, x, y, z = w/n, x/n, y/n, z/n
	} else {
		sin, cos := elementary.Sincos(r.between(-math.Pi, math.Pi) / 2)
		w = cos
		*map[string]*float64{"x": &x, "y": &y, "z": &z}[axis] = sin
	}
	xx, yy, zz := float64(x*x), float64(y*y), float64(z*z)
	xy, xz, yz := float64(x*y), float64(x*z), float64(y*z)
	xw, yw, zw := float64(x*w), float64(y*w), float64(z*w)
	return matrix{ // twice something is exact
		{1 - 2*(yy+zz), 2 * (xy - zw), 2 * (xz + yw)},
		{2 * (xy + zw), 1 - 2*(xx+zz), 2 * (yz - xw)},
		{2 * (xz - yw), 2 * (yz + xw), 1 - 2*(xx+yy)},
	}
}

// turn rotates the vectors of sample i. Parts are brought to float64 and back by the
// same conversion as everywhere.
func turn(cols []shardify.Column, v []int, i int, m *matrix) {
	if !present(&cols[v[0]], i) {
		return
	}
	lo, hi := span(&cols[v[0]], i)
	if len(v) == 1 {
		c := &cols[v[0]]
		for k := lo; k < hi; k += 3 {
			p := [3]float64{get(c, k), get(c, k+1), get(c, k+2)}
			for j := range 3 {
				set(c, k+j, float64(m[j][0]*p[0])+float64(m[j][1]*p[1])+float64(m[j][2]*p[2]))
			}
		}
		return
	}
	for k := lo; k < hi; k++ {
		p := [3]float64{get(&cols[v[0]], k), get(&cols[v[1]], k), get(&cols[v[2]], k)}
		for j := range 3 {
			set(&cols[v[j]], k, float64(m[j][0]*p[0])+float64(m[j][1]*p[1])+float64(m[j][2]*p[2]))
		}
	}
}

func get(c *shardify.Column, k int) float64 {
	if c.DType == shardify.F32 {
		return float64(shardify.View[float32](c.Data)[k])
	}
	var y [1]float64
	size := c.DType.Size()
	numeric.Convert(shardify.Bytes(y[:]), shardify.F64, c.Data[k*size:(k+1)*size], c.DType)
	return y[0]
}

func set(c *shardify.Column, k int, x float64) {
	if c.DType == shardify.F32 {
		shardify.View[float32](c.Data)[k] = float32(x)
		return
	}
	apply(c, k, k+1, func(float64) float64 { return x })
}
