package node

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// kind is what an element is.
type kind int

// The kinds of elements. Those from Text on have no fixed size.
const (
	Number   kind = iota // integers, floats, bool: Type.DType
	Complex              // two floats: Type.DType is one of them
	Fixed                // bytes, padded with NULs
	FixedU               // text in UTF-32, padded with NULs
	Raw                  // bytes without a meaning
	Time                 // i64: Type.Scale units of Type.Unit since 1970
	Duration             // i64
	Struct               // Type.Fields
	Text                 // UTF-8
	Blob                 // bytes
	list                 // of numbers: Type.DType
)

// Type is the type of an array's elements.
type Type struct {
	Name   string // as the store has it
	Kind   kind
	Size   int // bytes; 0 where it varies
	DType  shardify.DType
	Unit   string // of Time and Duration: ns, us, ms, s, m, h, D, W, M, Y
	Scale  int64
	Fields []member

	Chars bool // Fixed are characters of texts

	big bool // stored big-endian
}

// member is one field of a Struct.
type member struct {
	Name   string
	Offset int
	Type   Type
	Shape  []int64 // nil: one
}

// Varies reports whether elements have no fixed size.
func (t *Type) Varies() bool { return t.Kind >= Text }

// maxItem is the most bytes of one element: fill_value has that size, whatever the chunks have.
const maxItem = 1 << 24

var numbers = map[string]shardify.DType{
	"b1": shardify.Bool, "i1": shardify.I8, "i2": shardify.I16, "i4": shardify.I32, "i8": shardify.I64,
	"u1": shardify.U8, "u2": shardify.U16, "u4": shardify.U32, "u8": shardify.U64, "f2": shardify.F16, "f4": shardify.F32, "f8": shardify.F64,
}

var names = map[string]string{
	"bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
	"float16": "f2", "bfloat16": "bfloat16", "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16",
}

// numpyType reads a type as NumPy writes it: "<f4", "|S6", "<M8[10ms]".
func numpyType(s string) (Type, error) {
	t := Type{Name: s}
	bad := func() (Type, error) {
		if !numeric.NumpyType(s) {
			return t, shardify.Corrupt(-1, "elements of type %q, which NumPy does not have", s)
		}
		return t, shardify.Unsupported("values of type %s are not read", s)
	}
	rest := s
	if rest != "" && strings.ContainsRune("<>|=", rune(rest[0])) {
		t.big = rest[0] == '>'
		rest = rest[1:]
	}
	if rest == "" {
		return bad()
	}
	if rest == "bfloat16" { // as tensorstore writes it
		t.Kind, t.DType, t.Size = Number, shardify.BF16, 2
		return t, nil
	}
	if d, ok := numbers[rest]; ok {
		t.Kind, t.DType, t.Size = Number, d, d.Size()
		return t, nil
	}
	kind, digits := rest[0], rest[1:]
	if kind == 'M' || kind == 'm' {
		return timeType(t, kind == 'M', digits)
	}
	n := 0
	if digits != "" {
		var err error
		if n, err = strconv.Atoi(digits); err != nil || n < 0 || n > maxItem/4 {
			return bad()
		}
	}
	switch kind {
	case 'c':
		switch n {
		case 8:
			t.DType = shardify.F32
		case 16:
			t.DType = shardify.F64
		default:
			return bad()
		}
		t.Kind, t.Size = Complex, n
	case 'S', 'a':
		t.Kind, t.Size = Fixed, n
	case 'U':
		t.Kind, t.Size = FixedU, 4*n
	case 'V':
		t.Kind, t.Size = Raw, n
	case 'O':
		t.Kind = Blob // what it is, a codec says
		return t, nil
	default:
		return bad()
	}
	if t.Size == 0 {
		return bad()
	}
	return t, nil
}

// timeType reads what follows M or m: "8[10ms]".
func timeType(t Type, date bool, text string) (Type, error) {
	unit, ok := strings.CutPrefix(text, "8[")
	unit, end := strings.CutSuffix(unit, "]")
	if !ok || !end {
		if !numeric.NumpyType(t.Name) {
			return t, shardify.Corrupt(-1, "elements of type %q, which NumPy does not have", t.Name)
		}
		return t, shardify.Unsupported("elements of type %q", t.Name)
	}
	i := 0
	for i < len(unit) && unit[i] >= '0' && unit[i] <= '9' {
		i++
	}
	scale := int64(1)
	if i > 0 {
		n, err := strconv.ParseInt(unit[:i], 10, 32)
		if err != nil || n < 1 {
			return t, shardify.Unsupported("elements of type %q", t.Name)
		}
		scale = n
	}
	return t.time(date, unit[i:], scale)
}

func (t Type) time(date bool, unit string, scale int64) (Type, error) {
	switch unit {
	case "as", "fs", "ps", "ns", "us", "ms", "s", "m", "h", "D", "W", "M", "Y", "generic":
	default:
		return t, shardify.Unsupported("elements of type %q: unit %q", t.Name, unit)
	}
	t.Kind, t.Size, t.DType, t.Unit, t.Scale = Duration, 8, shardify.I64, unit, scale
	if date {
		t.Kind = Time
	}
	return t, nil
}

// structType reads NumPy's list of fields: [["a", "<i4"], ["b", "<f8", [2]]].
func structType(v []any, depth int) (Type, error) {
	t := Type{Name: "structure", Kind: Struct}
	if depth > 8 || len(v) == 0 {
		return t, shardify.Unsupported("structures of %d fields, %d deep", len(v), depth)
	}
	for _, f := range v {
		l, ok := f.([]any)
		if !ok || len(l) < 2 || len(l) > 3 {
			return t, shardify.Corrupt(-1, "a field of a structure is not a pair of name and type")
		}
		name, ok := l[0].(string)
		if !ok {
			return t, shardify.Corrupt(-1, "the name of a field is not text")
		}
		var m Type
		var err error
		switch x := l[1].(type) {
		case string:
			m, err = numpyType(x)
		case []any:
			m, err = structType(x, depth+1)
		default:
			err = shardify.Corrupt(-1, "the type of field %q is not text", name)
		}
		if err != nil {
			return t, err
		}
		if m.Varies() {
			return t, shardify.Unsupported("objects in structures")
		}
		size := int64(m.Size)
		var shape []int64
		if len(l) == 3 {
			if shape, err = lengths(l[2], "shape of a field", false); err != nil {
				return t, err
			}
			n, ok := product(shape)
			if !ok || n > maxItem/size {
				return t, shardify.Corrupt(-1, "field %q is larger than memory", name)
			}
			size *= n
		}
		if int64(t.Size)+size > maxItem {
			return t, shardify.Corrupt(-1, "a structure is larger than memory")
		}
		t.Fields = append(t.Fields, member{name, t.Size, m, shape})
		t.Size += int(size)
	}
	return t, nil
}

// swap turns stored elements into little-endian ones, in place. big says so for types
// whose byte order a codec has.
func (t *Type) swap(p []byte, big bool) {
	switch t.Kind {
	case Number, Time, Duration:
		if big || t.big {
			swapAll(p, t.Size)
		}
	case Complex:
		if big || t.big {
			swapAll(p, t.Size/2)
		}
	case FixedU:
		if big || t.big {
			swapAll(p, 4)
		}
	case Struct:
		if !t.anyBig() && !big {
			return
		}
		for at := 0; at+t.Size <= len(p); at += t.Size {
			for i := range t.Fields {
				m := &t.Fields[i]
				n := m.Type.Size
				if m.Shape != nil {
					k, _ := product(m.Shape)
					n *= int(k)
				}
				m.Type.swap(p[at+m.Offset:at+m.Offset+n], big)
			}
		}
	}
}

func (t *Type) anyBig() bool {
	if t.big {
		return true
	}
	for i := range t.Fields {
		if t.Fields[i].Type.anyBig() {
			return true
		}
	}
	return false
}

func swapAll(p []byte, size int) {
	le, i := binary.LittleEndian, 0
	switch size { // 8 bytes at a time, and the rest
	case 2:
		const odd = 0xff00ff00ff00ff00
		for ; i+8 <= len(p); i += 8 {
			x := le.Uint64(p[i:])
			le.PutUint64(p[i:], x&odd>>8|x<<8&odd)
		}
		for ; i+2 <= len(p); i += 2 {
			p[i], p[i+1] = p[i+1], p[i]
		}
	case 4:
		for ; i+8 <= len(p); i += 8 {
			le.PutUint64(p[i:], bits.RotateLeft64(bits.ReverseBytes64(le.Uint64(p[i:])), 32))
		}
		for ; i+4 <= len(p); i += 4 {
			binary.LittleEndian.PutUint32(p[i:], binary.BigEndian.Uint32(p[i:]))
		}
	case 8:
		for ; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], binary.BigEndian.Uint64(p[i:]))
		}
	}
}

// product is the number of elements of a shape; false if it does not fit in 63 bits.
func product(shape []int64) (int64, bool) {
	n := int64(1)
	for _, s := range shape {
		if s == 0 {
			return 0, true
		}
	}
	for _, s := range shape {
		if n > math.MaxInt64/s {
			return 0, false
		}
		n *= s
	}
	return n, true
}
