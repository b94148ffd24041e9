package npy

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// scalar is the type of one stored value.
type scalar struct {
	Kind byte // as in the type string: b i u f c S U V M m; B is bfloat16
	Big  bool // big-endian
	Size int  // bytes
	unit string
}

// Leaf is one field of an item: a plain array has one, a structured one several.
type Leaf struct {
	Name   string // "" of a plain array, else "pt" or "nest/a"
	Scalar scalar
	dims   []int // of sub-arrays
	// Runs are the offsets in the item of the leaf's bytes, in runBytes long
	// pieces: one, unless the leaf is inside a sub-array of structs.
	Runs     []int
	RunBytes int
}

// Type is the type of one array element.
type Type struct {
	Text   string // canonical, see canon
	Size   int
	Leaves []Leaf
}

const (
	maxItem = math.MaxInt32 // numpy keeps item sizes in a C int
	maxRuns = 1 << 16
	// MaxEmpty bounds values that take no bytes in the file but do in memory.
	MaxEmpty = 1 << 20
)

// Values is the number of scalars in one item's leaf.
func (l *Leaf) Values() int {
	n := 1
	for _, d := range l.dims {
		n *= d
	}
	return n
}

func (s scalar) IsText() bool { return s.Kind == 'S' || s.Kind == 'U' }

// Plain reports whether items are exactly the values of one field, so that they can be read
// straight into its column.
func (t *Type) Plain() bool {
	return len(t.Leaves) == 1 && !t.Leaves[0].Scalar.IsText() && len(t.Leaves[0].Runs) == 1 &&
		t.Leaves[0].RunBytes == t.Size
}

var kindSizes = map[byte][]int{
	'b': {1}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8}, 'c': {8, 16}, 'M': {8}, 'm': {8},
}

// ParseScalar reads a type string such as "<f4", "|S7", "<M8[25ns]".
func ParseScalar(s string) (scalar, error) {
	var t scalar
	rest := s
	if rest != "" && strings.IndexByte("<>=|", rest[0]) >= 0 {
		t.Big = rest[0] == '>'
		rest = rest[1:]
	}
	if rest == "" {
		return t, unsupportedType(s)
	}
	t.Kind = rest[0]
	rest = rest[1:]
	if t.Kind == 'O' {
		return t, shardify.Unsupported("object array (a pickle): save it as a numeric array")
	}
	if t.Kind == '?' && rest == "" {
		return scalar{Kind: 'b', Size: 1}, nil
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(rest[:digits])
	if err != nil || n > maxItem {
		return t, unsupportedType(s)
	}
	t.Size = n
	rest = rest[digits:]
	if t.Kind == 'M' || t.Kind == 'm' {
		var ok bool
		if t.unit, ok = timeUnit(rest); !ok {
			return t, unsupportedType(s)
		}
		rest = ""
	}
	if rest != "" {
		return t, unsupportedType(s)
	}
	return t, t.check(s)
}

// check reports whether values of the type can be delivered.
func (t *scalar) check(s string) error {
	switch t.Kind {
	case 'a':
		t.Kind = 'S'
	case 'U':
		if t.Size > maxItem/4 {
			return unsupportedType(s)
		}
		t.Size *= 4
	case 'V':
		// NumPy gives bytes without a type no byte order; ml_dtypes gives bfloat16 one, its
		// only type of two bytes.
		if t.Size == 2 && (s[0] == '<' || s[0] == '>') {
			t.Kind = 'B'
		}
	case 'S':
	default:
		for _, n := range kindSizes[t.Kind] {
			if n == t.Size {
				return nil
			}
		}
		switch {
		case t.Kind == 'f' && (t.Size == 16 || t.Size == 12 || t.Size == 10):
			return shardify.Unsupported("type %s is the platform's long double: save it as float64", clip(s, 40))
		case t.Kind == 'c' && (t.Size == 32 || t.Size == 24 || t.Size == 20):
			return shardify.Unsupported("type %s is a pair of the platform's long double: save it as complex128", clip(s, 40))
		}
		return unsupportedType(s)
	}
	return nil
}

func unsupportedType(s string) error {
	if !numeric.NumpyType(s) {
		return shardify.Corrupt(-1, "type %q, which NumPy does not have", clip(s, 40))
	}
	return shardify.Unsupported("unsupported type %q", clip(s, 40))
}

// timeUnit reads "[25ns]"; nothing means generic.
func timeUnit(s string) (unit string, ok bool) {
	if s == "" {
		return "generic", true
	}
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") || len(s) < 2 {
		return "", false
	}
	unit = s[1 : len(s)-1]
	name := strings.TrimLeft(unit, "0123456789")
	switch name {
	case "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic":
		return unit, len(unit)-len(name) <= 10
	}
	return "", false
}

// String writes the type string that parseScalar reads.
func (t scalar) String() string {
	order, n := "<", t.Size
	switch {
	case t.Kind == 'U':
		n /= 4
	case t.Kind == 'S' || t.Kind == 'V' || t.Size == 1:
		order = "|"
	}
	if t.Big && order == "<" {
		order = ">"
	}
	kind := t.Kind
	if kind == 'B' {
		kind = 'V'
	}
	s := order + string(rune(kind)) + strconv.Itoa(n)
	if t.unit != "" && t.unit != "generic" {
		s += "[" + t.unit + "]"
	}
	return s
}

// DType is the type of the field's values and what is appended to its shape.
func (t scalar) DType() (d shardify.DType, last []int) {
	switch t.Kind {
	case 'b':
		return shardify.Bool, nil
	case 'i':
		return map[int]shardify.DType{1: shardify.I8, 2: shardify.I16, 4: shardify.I32, 8: shardify.I64}[t.Size], nil
	case 'u':
		return map[int]shardify.DType{1: shardify.U8, 2: shardify.U16, 4: shardify.U32, 8: shardify.U64}[t.Size], nil
	case 'f':
		return map[int]shardify.DType{2: shardify.F16, 4: shardify.F32, 8: shardify.F64}[t.Size], nil
	case 'c':
		return map[int]shardify.DType{8: shardify.F32, 16: shardify.F64}[t.Size], []int{2}
	case 'B':
		return shardify.BF16, nil
	case 'M', 'm':
		return shardify.I64, nil
	case 'V':
		return shardify.U8, []int{t.Size}
	}
	return shardify.U8, nil // S and U
}

// Field describes what the leaf becomes, apart from its name. inner are the
// array's dimensions within one sample.
func (l *Leaf) Field(inner []int64) shardify.Field {
	d, last := l.Scalar.DType()
	f := shardify.Field{DType: d}
	switch l.Scalar.Kind {
	case 'S', 'U':
		f.Media = map[byte]string{'S': "bin", 'U': "txt"}[l.Scalar.Kind]
		f.Levels = 1
		if len(inner)+len(l.dims) > 0 {
			f.Levels = 2
		}
		return f
	case 'c':
		f.Attrs = map[string]string{"complex": "true"}
	case 'V':
		f.Attrs = map[string]string{"void": "true"}
	case 'M':
		f.Attrs = map[string]string{"time": l.Scalar.unit}
	case 'm':
		f.Attrs = map[string]string{"time": l.Scalar.unit, "delta": "true"}
	}
	for _, n := range inner {
		f.Shape = append(f.Shape, int(n))
	}
	f.Shape = append(append(f.Shape, l.dims...), last...)
	return f
}

// SameFields reports whether arrays have the same fields, apart from the types of their values.
func (t *Type) SameFields(o *Type) bool {
	return slices.EqualFunc(t.Leaves, o.Leaves, func(a, b Leaf) bool { return a.Name == b.Name && slices.Equal(a.dims, b.dims) })
}
