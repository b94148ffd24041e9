package expr

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/half"
	"github.com/shardify/shardify/internal/suggest"
)

// field loads a column.
func (b *binder) field(name string) (*value, error) {
	i := shardify.FieldIndex(b.schema, name)
	if i < 0 {
		return b.defined(name)
	}
	f := &b.schema[i]
	v := &value{null: f.Nullable, dom: domain{shape: shapeKey(f.Shape), width: f.Elem()}}
	switch {
	case f.Media != "" && f.Levels == 1:
		v.kind, v.col, v.dom = kindText, i+1, scalar
		if f.Nullable {
			v.slot = b.slot()
			b.emit(loadMissing(v.slot, i))
		}
		return v, nil
	case f.Ragged:
		return nil, fmt.Errorf("%s has a shape for each sample; expressions take numbers, lists of numbers and texts", name)
	case f.Levels > 1 || f.Media != "":
		v.dom = domain{list: i + 1, width: 1}
		v.kind, v.slot = kindText, -1 // only len takes it
		b.useLists(i)
		return v, nil
	case f.Levels == 1:
		v.dom.list = i + 1
		b.useLists(i)
	}
	v.slot = b.slot()
	switch {
	case f.DType == shardify.Bool:
		v.kind = kindBool
	case f.DType.IsInt():
		v.kind, v.labels = kindInt, f.Labels()
	default:
		v.kind, v.wide = kindFloat, f.DType == shardify.F64
		v.narrow = !v.wide
	}
	b.emit(load(v, i, f))
	return v, nil
}

func (b *binder) useLists(i int) {
	if !slices.Contains(b.p.lists, i) {
		b.p.lists = append(b.p.lists, i)
	}
}

// defined compiles the expression that a name is defined as.
func (b *binder) defined(name string) (*value, error) {
	e := b.defs[name]
	if e == nil {
		known := make([]string, 0, len(b.schema)+len(b.defs))
		for i := range b.schema {
			known = append(known, b.schema[i].Name)
		}
		for n := range b.defs {
			known = append(known, n)
		}
		slices.Sort(known)
		return nil, &UnknownField{Name: name, Suggest: suggest.Word(name, known)}
	}
	if slices.Contains(b.inside, name) {
		return nil, fmt.Errorf("%s is defined by itself", name)
	}
	b.inside = append(b.inside, name)
	v, err := b.compile(e.root)
	b.inside = b.inside[:len(b.inside)-1]
	return v, err
}

func loadMissing(slot, col int) instr {
	return func(f *frame) error {
		f.loadMissing(slot, col)
		return nil
	}
}

func (f *frame) loadMissing(slot, col int) {
	m := f.missing(slot)
	valid := f.b.Columns[col].Valid
	if valid == nil {
		clear(m)
		return
	}
	for k, x := range valid[f.lo:f.hi] {
		m[k] = 1 - x
	}
}

// load reads the block's values of a column.
func load(v *value, col int, fd *shardify.Field) instr {
	out := *v
	return func(f *frame) error {
		c := &f.b.Columns[col]
		from := f.lo * out.dom.width
		if out.dom.list > 0 {
			from = int(c.Offsets[0][f.lo]) * out.dom.width
		}
		n := f.count(out.dom)
		data := c.Data[from*fd.DType.Size() : (from+n)*fd.DType.Size()]
		if out.null {
			f.loadMissing(out.slot, col)
		}
		switch out.kind {
		case kindBool:
			copy(f.bools(out.slot, n), data)
		case kindFloat:
			toFloats(f.floats(out.slot, n), fd.DType, data)
		default:
			if at := toInts(f.ints(out.slot, n), fd.DType, data); at >= 0 {
				k := f.sampleOf(out.dom, at)
				if !out.null || f.slots[out.slot].miss[k] == 0 {
					return f.sampleError(k, "field %s is %d, beyond i64: float(%s) takes it as f64", fd.Name, shardify.View[uint64](data)[at], Quote(fd.Name))
				}
			}
		}
		return nil
	}
}

func toFloats(z []float64, d shardify.DType, data []byte) {
	switch d {
	case shardify.F64:
		copy(z, shardify.View[float64](data))
	case shardify.F32:
		for i, x := range shardify.View[float32](data) {
			z[i] = float64(x)
		}
	case shardify.F16:
		for i, x := range shardify.View[uint16](data) {
			z[i] = float64(half.F16(x))
		}
	case shardify.BF16:
		for i, x := range shardify.View[uint16](data) {
			z[i] = float64(half.BF16(x))
		}
	}
}

// toInts widens integers and returns the place of one that does not fit, or -1.
func toInts(z []int64, d shardify.DType, data []byte) int {
	switch d {
	case shardify.I8:
		widen[int8](z, data)
	case shardify.I16:
		widen[int16](z, data)
	case shardify.I32:
		widen[int32](z, data)
	case shardify.I64:
		widen[int64](z, data)
	case shardify.U8:
		widen[uint8](z, data)
	case shardify.U16:
		widen[uint16](z, data)
	case shardify.U32:
		widen[uint32](z, data)
	case shardify.U64:
		widen[uint64](z, data)
		for i, x := range z {
			if x < 0 {
				return i
			}
		}
	}
	return -1
}

func widen[T shardify.Number](z []int64, data []byte) {
	for i, x := range shardify.View[T](data) {
		z[i] = int64(x)
	}
}
