package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/internal/suggest"
)

// field loads a column.
func (b *binder) field(name string) (*value, error) {
	i := format.FieldNamed(b.schema, name)
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
		v.kind = kindInt
		if v.labels, v.codes = f.Codes(); v.labels == nil && f.Attrs[format.VocabAttr] != "" {
			v.labels = []string{} // not known before the values are surveyed
		}
		if c, ok := key.ClockOf(f, true); ok {
			v.clock = &c
		}
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
		unknown := &format.UnknownField{Name: name, Suggest: suggested(name, known), Meant: func(other string) string {
			if slices.Contains(known, other) || IsGlob(other) {
				return other
			}
			return suggested(other, known)
		}}
		if name == "key" {
			return nil, fmt.Errorf("%w; key() is the sample's name", unknown)
		}
		return nil, unknown
	}
	if slices.Contains(b.inside, name) {
		return nil, fmt.Errorf("%s is defined by itself", name)
	}
	b.inside = append(b.inside, name)
	v, err := b.compile(e.root)
	b.inside = b.inside[:len(b.inside)-1]
	return v, err
}

// suggested is how an expression names the field that was meant, perhaps; "" without one. A name with a slash is
// written field("obs/ct"): without that it is a quotient.
func suggested(name string, known []string) string {
	var last, words []string
	for _, k := range known {
		switch {
		case strings.HasPrefix(k, name+"/"):
			return ""
		case strings.HasSuffix(k, "/"+name):
			last = append(last, k)
		case !strings.Contains(k, "/"):
			words = append(words, k)
		}
	}
	if len(last) == 1 {
		return fmt.Sprintf("field(%q)", last[0])
	}
	return suggest.Word(name, words)
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
			numeric.Convert(shardify.Bytes(f.floats(out.slot, n)), shardify.F64, data, fd.DType)
		default:
			z := f.ints(out.slot, n)
			numeric.Convert(shardify.Bytes(z), shardify.I64, data, fd.DType)
			if at := slices.IndexFunc(z, negative); at >= 0 && fd.DType == shardify.U64 {
				k := f.sampleOf(out.dom, at)
				if !out.null || f.slots[out.slot].miss[k] == 0 {
					return f.sampleError(k, "field %s is %d, beyond i64: float(%s) takes it as f64", fd.Name, shardify.View[uint64](data)[at], Quote(fd.Name))
				}
			}
		}
		return nil
	}
}

func negative(x int64) bool { return x < 0 }
