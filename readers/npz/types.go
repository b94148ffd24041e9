package npz

import (
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// scalar is the type of one stored value.
type scalar struct {
	kind byte // as in the type string: b i u f c S U V M m
	big  bool // big-endian
	size int  // bytes
	unit string
}

// leaf is one field of an item: a plain array has one, a structured one several.
type leaf struct {
	name   string // "" of a plain array, else "pt" or "nest/a"
	scalar scalar
	dims   []int // of sub-arrays
	// runs are the offsets in the item of the leaf's bytes, in runBytes long
	// pieces: one, unless the leaf is inside a sub-array of structs.
	runs     []int
	runBytes int
}

// itemType is the type of one array element.
type itemType struct {
	text   string // canonical, see canon
	size   int
	leaves []leaf
}

const (
	maxItem = math.MaxInt32 // numpy keeps item sizes in a C int
	maxRuns = 1 << 16
	// maxEmpty bounds values that take no bytes in the file but do in memory.
	maxEmpty = 1 << 20
)

// values is the number of scalars in one item's leaf.
func (l *leaf) values() int {
	n := 1
	for _, d := range l.dims {
		n *= d
	}
	return n
}

func (s scalar) isText() bool { return s.kind == 'S' || s.kind == 'U' }

// plain tells that items are exactly the values of one field, so that they can
// be read straight into its column.
func (t *itemType) plain() bool {
	return len(t.leaves) == 1 && !t.leaves[0].scalar.isText() && len(t.leaves[0].runs) == 1 &&
		t.leaves[0].runBytes == t.size
}

var kindSizes = map[byte][]int{
	'b': {1}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8}, 'c': {8, 16}, 'M': {8}, 'm': {8},
}

// parseScalar reads a type string such as "<f4", "|S7", "<M8[25ns]".
func parseScalar(s string) (scalar, error) {
	var t scalar
	rest := s
	if rest != "" && strings.IndexByte("<>=|", rest[0]) >= 0 {
		t.big = rest[0] == '>'
		rest = rest[1:]
	}
	if rest == "" {
		return t, unsupportedType(s)
	}
	t.kind = rest[0]
	rest = rest[1:]
	if t.kind == 'O' {
		return t, shardify.Unsupported("object array (a pickle): save it as a numeric array")
	}
	if t.kind == '?' && rest == "" {
		return scalar{kind: 'b', size: 1}, nil
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(rest[:digits])
	if err != nil || n > maxItem {
		return t, unsupportedType(s)
	}
	t.size = n
	rest = rest[digits:]
	if t.kind == 'M' || t.kind == 'm' {
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

// check tells whether values of the type can be delivered.
func (t *scalar) check(s string) error {
	switch t.kind {
	case 'a':
		t.kind = 'S'
	case 'U':
		if t.size > maxItem/4 {
			return unsupportedType(s)
		}
		t.size *= 4
	case 'S', 'V':
	default:
		for _, n := range kindSizes[t.kind] {
			if n == t.size {
				return nil
			}
		}
		switch {
		case t.kind == 'f' && (t.size == 16 || t.size == 12 || t.size == 10):
			return shardify.Unsupported("type %s is the platform's long double: save it as float64", clip(s, 40))
		case t.kind == 'c' && (t.size == 32 || t.size == 24 || t.size == 20):
			return shardify.Unsupported("type %s is a pair of the platform's long double: save it as complex128", clip(s, 40))
		}
		return unsupportedType(s)
	}
	return nil
}

func unsupportedType(s string) error {
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
	order, n := "<", t.size
	switch {
	case t.kind == 'U':
		n /= 4
	case t.kind == 'S' || t.kind == 'V' || t.size == 1:
		order = "|"
	}
	if t.big && order == "<" {
		order = ">"
	}
	s := order + string(rune(t.kind)) + strconv.Itoa(n)
	if t.unit != "" && t.unit != "generic" {
		s += "[" + t.unit + "]"
	}
	return s
}

// dtype is the type of the field's values and what is appended to its shape.
func (t scalar) dtype() (d shardify.DType, last []int) {
	switch t.kind {
	case 'b':
		return shardify.Bool, nil
	case 'i':
		return map[int]shardify.DType{1: shardify.I8, 2: shardify.I16, 4: shardify.I32, 8: shardify.I64}[t.size], nil
	case 'u':
		return map[int]shardify.DType{1: shardify.U8, 2: shardify.U16, 4: shardify.U32, 8: shardify.U64}[t.size], nil
	case 'f':
		return map[int]shardify.DType{2: shardify.F16, 4: shardify.F32, 8: shardify.F64}[t.size], nil
	case 'c':
		return map[int]shardify.DType{8: shardify.F32, 16: shardify.F64}[t.size], []int{2}
	case 'M', 'm':
		return shardify.I64, nil
	case 'V':
		return shardify.U8, []int{t.size}
	}
	return shardify.U8, nil // S and U
}

// field describes what the leaf becomes, apart from its name. inner are the
// array's dimensions within one sample.
func (l *leaf) field(inner []int64) shardify.Field {
	d, last := l.scalar.dtype()
	f := shardify.Field{DType: d}
	switch l.scalar.kind {
	case 'S', 'U':
		f.Media = map[byte]string{'S': "bin", 'U': "txt"}[l.scalar.kind]
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
		f.Attrs = map[string]string{"time": l.scalar.unit}
	case 'm':
		f.Attrs = map[string]string{"time": l.scalar.unit, "delta": "true"}
	}
	for _, n := range inner {
		f.Shape = append(f.Shape, int(n))
	}
	f.Shape = append(append(f.Shape, l.dims...), last...)
	return f
}
