package fields

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/cast"
)

// columnsAttr names, in a field's attributes, the fields that it was put together from,
// joined by line feeds: the last dimension after --stack and --pack.
const columnsAttr = "columns"

// join interleaves columns that have the same samples, lists and shapes.
type join struct {
	name  string
	parts []int // columns
	to    shardify.DType
	field shardify.Field
}

// common is the type that holds the values of two, as numpy promotes them.
func common(a, b shardify.DType) (shardify.DType, error) {
	if a == b {
		return a, nil
	}
	if b.IsFloat() || a == shardify.Bool {
		a, b = b, a
	}
	switch {
	case b == shardify.Bool:
		return a, nil
	case a.IsFloat() && b.IsFloat():
		if a.Size() == b.Size() { // f16 and bf16
			return shardify.F32, nil
		}
		if a.Size() > b.Size() {
			return a, nil
		}
		return b, nil
	case a.IsFloat():
		return floatWith(a, b), nil
	}
	return intsOf(a, b)
}

// floatWith is the smallest float of the kind of f that holds most integers of i.
func floatWith(f, i shardify.DType) shardify.DType {
	switch {
	case i.Size() == 1 || f == shardify.F64:
		return f
	case i.Size() == 2:
		return shardify.F32
	}
	return shardify.F64
}

func intsOf(a, b shardify.DType) (shardify.DType, error) {
	signed := func(d shardify.DType) bool { return d < shardify.U8 }
	if signed(a) == signed(b) {
		return max(a, b), nil
	}
	if signed(b) {
		a, b = b, a
	}
	if a.Size() > b.Size() {
		return a, nil
	}
	for d := shardify.I8; d <= shardify.I64; d++ {
		if d.Size() > b.Size() {
			return d, nil
		}
	}
	return shardify.Invalid, fmt.Errorf("no integer holds both %s and %s: --cast one of them is too late here, so take a field of one type, or --define 'x=float(...)'", a, b)
}

// cost is a copy of the parts, and of those that change their type one more.
func (j *join) cost(in []shardify.Field) float64 {
	growth := 1.0
	for _, i := range j.parts {
		if in[i].DType != j.to {
			growth = max(growth, 2*float64(j.to.Size())/float64(max(in[i].DType.Size(), 1)))
		}
	}
	return growth
}

// layout is the columns that stay, with join k at the place of its first part.
func layout[C any](in []C, drop []bool, joins []join, put func(k int) C) []C {
	var out []C
	for i := range in {
		for k := range joins {
			if joins[k].parts[0] == i {
				out = append(out, put(k))
			}
		}
		if !drop[i] {
			out = append(out, in[i])
		}
	}
	return out
}

// interleave writes the parts side by side: part p of k at p, p+k, p+2k, ...
func (j *join) interleave(out, b *shardify.Batch, flag string, mem *shardify.Arena) (shardify.Column, error) {
	first := &b.Columns[j.parts[0]]
	c := shardify.Column{Field: j.field, Offsets: first.Offsets}
	k := len(j.parts)
	total := len(first.Data) / max(first.DType.Size(), 1) * j.to.Size() * k
	c.Data = mem.Alloc(total)
	for p, i := range j.parts {
		part := b.Columns[i]
		if part.DType != j.to {
			if err := cast.Column(&part, b, out, j.to, flag+" "+j.name+" "+part.Name, mem); err != nil {
				return c, err
			}
		}
		place(c.Data, part.Data, p, k, j.to.Size())
		if part.Valid != nil {
			c.Valid = both(c.Valid, part.Valid, mem)
		}
	}
	return c, nil
}

// both is the samples that two lists mark.
func both(a, b []byte, mem *shardify.Arena) []byte {
	if a == nil {
		a = mem.Alloc(len(b))
		copy(a, b)
		return a
	}
	for i, x := range b {
		a[i] &= x
	}
	return a
}

// place copies values of size bytes to every k-th place, from p on.
func place(dst, src []byte, p, k, size int) {
	switch size {
	case 1:
		placeAs[uint8](dst, src, p, k)
	case 2:
		placeAs[uint16](dst, src, p, k)
	case 4:
		placeAs[uint32](dst, src, p, k)
	case 8:
		placeAs[uint64](dst, src, p, k)
	}
}

func placeAs[T shardify.Number](dst, src []byte, p, k int) {
	z := shardify.View[T](dst)
	for _, x := range shardify.View[T](src) {
		z[p] = x
		p += k
	}
}
