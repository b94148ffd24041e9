package augment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/transform/op"
)

// own makes the column's data a copy that may be written to.
func own(c *shardify.Column, mem *shardify.Arena) {
	data := mem.Alloc(len(c.Data))
	copy(data, c.Data)
	c.Data = data
}

// find returns the fields that the globs name, in the order of the schema. Each glob
// must name one.
func find(in []shardify.Field, globs []string, fits func(*shardify.Field) string) ([]int, error) {
	var out []int
	for _, g := range globs {
		n := 0
		for i := range in {
			ok, err := path.Match(g, in[i].Name)
			if err != nil {
				return nil, fmt.Errorf("%q is not a pattern: %w", g, err)
			}
			if !ok {
				continue
			}
			n++
			if why := fits(&in[i]); why != "" {
				if strings.ContainsAny(g, "*?[") {
					continue // a pattern takes what fits
				}
				return nil, fmt.Errorf("field %s %s", in[i].Name, why)
			}
			if !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("there is no field %s: %w", g, shardify.ErrSchema)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("none of the fields %s can be changed so: %w", strings.Join(globs, "+"), shardify.ErrSchema)
	}
	slices.Sort(out)
	return out, nil
}

// plain are the names among the globs that are names.
func plain(globs []string) []string {
	var out []string
	for _, g := range globs {
		if !strings.ContainsAny(g, "*?[") {
			out = append(out, g)
		}
	}
	return out
}

// floats says why a field does not hold floating-point numbers.
func floats(f *shardify.Field) string {
	if f.Media != "" || !f.DType.IsFloat() {
		return "is " + op.Holds(f) + ", not floating-point numbers"
	}
	return ""
}

func numbers(f *shardify.Field) string {
	if f.Media != "" || f.DType == shardify.Bool {
		return "is " + op.Holds(f) + ", not numbers"
	}
	return ""
}

// apply changes the values [lo, hi) of floating-point data, counted in numbers.
func apply(c *shardify.Column, lo, hi int, f func(x float64) float64) {
	switch c.DType {
	case shardify.F32:
		v := shardify.View[float32](c.Data)[lo:hi]
		for i, x := range v {
			v[i] = float32(f(float64(x)))
		}
	case shardify.F64:
		v := shardify.View[float64](c.Data)[lo:hi]
		for i, x := range v {
			v[i] = f(x)
		}
	case shardify.F16:
		v := shardify.View[uint16](c.Data)[lo:hi]
		for i, x := range v {
			v[i] = half.ToF16(half.Narrow(f(float64(half.F16(x)))))
		}
	case shardify.BF16:
		v := shardify.View[uint16](c.Data)[lo:hi]
		for i, x := range v {
			v[i] = half.ToBF16(half.Narrow(f(float64(half.BF16(x)))))
		}
	}
}

// span is the numbers of sample i.
func span(c *shardify.Column, i int) (lo, hi int) {
	from, to := c.Range(i, i+1)
	return from / c.DType.Size(), to / c.DType.Size()
}

// present reports whether sample i has a value.
func present(c *shardify.Column, i int) bool { return c.Valid == nil || c.Valid[i] != 0 }
