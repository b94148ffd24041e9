package element

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/number"
	"github.com/shardify/shardify/readers/internal/cf"
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// Leaf is one field's part of an element: a plain data set has one, a compound
// one several.
type Leaf struct {
	Of   string // the block of a pandas frame that it is a column of
	Name string // "" of a plain data set, else "pt" or "jet/pt"
	Err  error  // why it cannot be delivered

	Kind leafKind
	At   number.Strided // where the values are in the element
	Dims []int          // of arrays around the values, and of complex numbers
	// Of numbers.
	Num     number.Form
	Convert number.Convert
	CF      *cf.Decoder // what attributes make of the numbers; nil if nothing
	Notes   []string    // what is odd about them
	// Of texts.
	Size    int // bytes in the file
	Padding datatype.Padding
	UTF16   bool   // they are MATLAB's characters
	Big     bool   // of which the high byte comes first
	Missing []byte // the text of a missing value; nil if none can be missing
	Listed  bool   // they are items of lists, beyond what Field sees
	Fill    bool   // in lists, missing ones are empty
	// Of sequences: bytes of an entry, and what an entry holds.
	Entry int
	Elem  *Leaf

	Media string
	Attrs map[string]string
}

type leafKind uint8

// Kinds of leaves.
const (
	Numbers leafKind = iota
	Texts            // of a fixed number of bytes
	VarText          // in the global heap
	VarList
)

// Bounds on untrusted types.
const (
	maxDepth  = 32
	MaxLeaves = 1 << 14
	maxValues = 1 << 27 // values of one element
)

// Rules are what a file's convention says about its types.
type Rules struct {
	PyTables bool   // class time and one-byte bit fields are PyTables' own
	Media    string // of texts: "txt" or "bin"
	RefSize  int    // bytes of a variable-length element
	CF       bool   // numbers are what their attributes make of them
	Chunked  bool   // a sample is a list of rows
	Fill     bool   // missing items of lists are empty
}

// Leaves lists the fields of a type. A part that cannot be delivered is a leaf
// with an error, so that the others can.
func (r Rules) Leaves(t *datatype.Type) []Leaf {
	m := mapper{Rules: r}
	m.add(t, Leaf{}, 0)
	if r.PyTables {
		return WithBlocks(m.out)
	}
	return m.out
}

type mapper struct {
	Rules
	out []Leaf
}

// add appends the leaves of t; l says where t is in the element.
func (m *mapper) add(t *datatype.Type, l Leaf, depth int) {
	if len(m.out) >= MaxLeaves || depth > maxDepth {
		return
	}
	switch {
	case t.Class == datatype.Compound && complexParts(t) == nil:
		m.members(t, l, depth)
		return
	case t.Class == datatype.Array && t.Base != nil:
		m.array(t, l, depth)
		return
	case t.Class == datatype.VarLen && !t.VarString && t.Base != nil:
		m.sequence(t, l, depth)
		return
	}
	l.Err = m.value(t, &l)
	m.emit(l)
}

func (m *mapper) emit(l Leaf) {
	if l.Err == nil && l.At.Values() > maxValues {
		l.Err = shardify.Unsupported("%d values in one element", l.At.Values())
	}
	l.At.Simplify()
	if len(m.out) < MaxLeaves {
		m.out = append(m.out, l)
	}
}

func (m *mapper) members(t *datatype.Type, l Leaf, depth int) {
	for i := range t.Members {
		sub := l
		sub.At = number.Strided{Off: l.At.Off + t.Members[i].Offset, Count: l.At.Count, Step: l.At.Step}
		sub.Name = naming.Join(l.Name, t.Members[i].Name)
		m.add(t.Members[i].Type, sub, depth+1)
	}
}

// array moves inside an array: its pieces are further levels of the layout. The
// new level is innermost.
func (m *mapper) array(t *datatype.Type, l Leaf, depth int) {
	step := t.Size
	n := 1
	for _, d := range t.Dims {
		if d < 1 || n > math.MaxInt32/d {
			l.Err = shardify.Unsupported("array of %v", t.Dims)
			m.emit(l)
			return
		}
		n *= d
	}
	if n*t.Base.Size != t.Size {
		l.Err = shardify.Corrupt(-1, "array of %d values of %d bytes in %d bytes", n, t.Base.Size, t.Size)
		m.emit(l)
		return
	}
	l.Dims = append(append([]int(nil), l.Dims...), t.Dims...)
	l.At = number.Strided{Off: l.At.Off, Count: append([]int(nil), l.At.Count...), Step: append([]int(nil), l.At.Step...)}
	for _, d := range t.Dims {
		step /= d
		l.At.Count, l.At.Step = append(l.At.Count, d), append(l.At.Step, step)
	}
	m.add(t.Base, l, depth+1)
}

// sequence gives a leaf for each of the entries' own: those of one sequence have
// the same lengths.
func (m *mapper) sequence(t *datatype.Type, l Leaf, depth int) {
	in := mapper{Rules: m.Rules}
	in.add(t.Base, Leaf{}, depth+1)
	for i := range in.out {
		sub := l
		sub.Kind, sub.Entry, sub.Elem = VarList, t.Base.Size, &in.out[i]
		sub.Name = l.Name
		if e := sub.Elem; e.Name != "" {
			sub.Name = naming.Join(l.Name, e.Name)
		}
		sub.Err, sub.Media, sub.Attrs = sub.Elem.Err, sub.Elem.Media, sub.Elem.Attrs
		sub.Size = m.RefSize
		m.emit(sub)
	}
}

// value maps a type that holds one value.
func (m *mapper) value(t *datatype.Type, l *Leaf) (err error) {
	switch t.Class {
	case datatype.Integer:
		l.Num, err = number.Integer(t.Size, t.Order == datatype.BigEndian, t.Signed, t.BitOffset, t.Precision)
	case datatype.BitField:
		l.Num, err = number.Integer(t.Size, t.Order == datatype.BigEndian, false, t.BitOffset, t.Precision)
		if m.PyTables && t.Size == 1 && err == nil {
			l.Num.Truth, l.Num.DType = true, shardify.Bool
		}
	case datatype.Float:
		l.Num, err = float(t)
	case datatype.Time:
		err = m.time(t, l)
	case datatype.Enum:
		err = l.enum(t)
	case datatype.String:
		l.Kind, l.Size, l.Padding, l.Media = Texts, t.Size, t.Padding, m.Media
		return nil
	case datatype.VarLen:
		l.Kind, l.Size, l.Padding, l.Media = VarText, m.RefSize, t.Padding, m.Media
		return nil
	case datatype.Opaque:
		return l.opaque(t)
	case datatype.Compound, datatype.Complex:
		return l.complex(t)
	case datatype.Reference:
		return shardify.Unsupported("%s", []string{"object references", "region references", "references", "references", "references"}[min(t.RefKind, 4)])
	default:
		return shardify.Corrupt(-1, "type class %d, which the format does not have", t.Class)
	}
	if err == nil {
		l.Convert = l.Num.Converter()
	}
	return err
}

func float(t *datatype.Type) (number.Form, error) {
	if t.Order == datatype.VAX {
		return number.Form{}, shardify.Unsupported("VAX floating-point numbers")
	}
	f := t.Float
	return number.Floating(t.Size, t.Order == datatype.BigEndian, t.BitOffset, t.Precision, number.Float{
		ExpPos: int(f.ExpPos), ExpBits: int(f.ExpSize), ManPos: int(f.ManPos), ManBits: int(f.ManSize),
		Sign: int(f.SignPos), Bias: int64(f.Bias), Implied: f.Norm == 2,
	})
}

// time maps PyTables' time columns: seconds in 4 bytes, or seconds and
// microseconds in 4 bytes each.
func (m *mapper) time(t *datatype.Type, l *Leaf) (err error) {
	if !m.PyTables || t.Size != 4 && t.Size != 8 {
		return shardify.Unsupported("HDF5 times of %d bytes", t.Size)
	}
	l.Attrs = map[string]string{"unit": "s"}
	l.Num, err = number.Integer(t.Size, t.Order == datatype.BigEndian, true, 0, 8*t.Size)
	if t.Size == 4 {
		l.Attrs = map[string]string{"time": "s"}
		return err
	}
	l.Num.DType, l.Num.Moment = shardify.F64, true
	return err
}

func (l *Leaf) enum(t *datatype.Type) (err error) {
	b := t.Base
	if b == nil || b.Class != datatype.Integer {
		return shardify.Unsupported("enum of another type than an integer")
	}
	if l.Num, err = number.Integer(b.Size, b.Order == datatype.BigEndian, b.Signed, b.BitOffset, b.Precision); err != nil {
		return err
	}
	if t.Bool() {
		l.Num.Truth, l.Num.DType = true, shardify.Bool
		return nil
	}
	l.Attrs = enumAttrs(t, &l.Num)
	return nil
}

// maxLabels bounds the names of an enum that are kept, in number and bytes.
const maxLabels = 1 << 12

// enumAttrs keeps the names, unless a code is beyond i64.
func enumAttrs(t *datatype.Type, n *number.Form) map[string]string {
	if len(t.Names) == 0 || len(t.Names) > maxLabels {
		return nil
	}
	codes, total := make([]int64, len(t.Names)), 0
	for i, name := range t.Names {
		var v [8]byte
		n.Converter()(v[:], t.Values[i*n.Size:], 1, n.Size)
		codes[i] = int64(le.Uint64(v[:])) << (64 - 8*n.DType.Size())
		if n.Signed {
			codes[i] >>= 64 - 8*n.DType.Size()
		} else if codes[i] = int64(uint64(codes[i]) >> (64 - 8*n.DType.Size())); codes[i] < 0 {
			return nil
		}
		if total += len(name); total > 1<<16 {
			return nil
		}
	}
	attr, text := shardify.CodeNames(t.Names, codes)
	if attr == "" {
		return nil
	}
	return map[string]string{attr: text}
}

// opaque maps bytes, and the times that h5py marks as NumPy's.
func (l *Leaf) opaque(t *datatype.Type) (err error) {
	if unit, delta, ok := numpyTime(t.Tag); ok && t.Size == 8 {
		l.Num, err = number.Integer(8, strings.HasPrefix(t.Tag, "NUMPY:>"), true, 0, 64)
		l.Convert = l.Num.Converter()
		l.Attrs = map[string]string{"time": unit}
		if delta {
			l.Attrs["delta"] = "true"
		}
		return err
	}
	l.Num, err = number.Integer(1, false, false, 0, 8)
	l.Convert = l.Num.Converter()
	l.Attrs = map[string]string{"void": "true"}
	if t.Tag != "" && utf8.ValidString(t.Tag) && len(t.Tag) <= 256 {
		l.Attrs["tag"] = t.Tag
	}
	l.append(t.Size, 1)
	return err
}

// append adds an innermost dimension.
func (l *Leaf) append(count, step int) {
	l.Dims = append(append([]int(nil), l.Dims...), count)
	l.At.Count = append(append([]int(nil), l.At.Count...), count)
	l.At.Step = append(append([]int(nil), l.At.Step...), step)
}

// numpyTime reads the tag "NUMPY:<M8[ns]".
func numpyTime(tag string) (unit string, delta, ok bool) {
	s, ok := strings.CutPrefix(tag, "NUMPY:")
	if !ok || len(s) < 3 || s[0] != '<' && s[0] != '>' || s[1] != 'M' && s[1] != 'm' || s[2] != '8' {
		return "", false, false
	}
	delta = s[1] == 'm'
	if s = s[3:]; s == "" {
		return "generic", delta, true
	}
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' || !utf8.ValidString(s) || len(s) > 32 {
		return "", false, false
	}
	return s[1 : len(s)-1], delta, true
}

// complexParts are the two floats of a complex number; nil for any other type.
func complexParts(t *datatype.Type) []datatype.Member {
	if t.Class == datatype.Complex {
		if t.Base == nil || t.Base.Class != datatype.Float || t.Size != 2*t.Base.Size {
			return nil
		}
		return []datatype.Member{{Type: t.Base}, {Offset: t.Base.Size, Type: t.Base}}
	}
	m := t.Members
	if len(m) != 2 || m[0].Type.Class != datatype.Float || m[1].Type.Class != datatype.Float || m[0].Offset >= m[1].Offset {
		return nil
	}
	a, b := m[0].Type, m[1].Type
	if a.Size != b.Size || a.Order != b.Order || a.Float != b.Float || a.Precision != b.Precision || a.BitOffset != b.BitOffset {
		return nil
	}
	switch [2]string{m[0].Name, m[1].Name} {
	case [2]string{"r", "i"}, [2]string{"re", "im"}, [2]string{"real", "imag"}:
		return m
	}
	return nil
}

func (l *Leaf) complex(t *datatype.Type) (err error) {
	parts := complexParts(t)
	if parts == nil {
		return shardify.Unsupported("complex numbers of this form")
	}
	if l.Num, err = float(parts[0].Type); err != nil {
		return err
	}
	l.Convert = l.Num.Converter()
	l.Attrs = map[string]string{"complex": "true"}
	l.At.Off += parts[0].Offset
	l.append(2, parts[1].Offset-parts[0].Offset)
	return nil
}

// Field is the schema entry of the leaf, of a data set with the dimensions inner
// within a sample.
func (l *Leaf) Field(name string, inner []int64) (shardify.Field, error) {
	f := shardify.Field{Name: name, Media: l.Media, Attrs: l.Attrs}
	around := len(inner) + len(l.Dims)
	switch l.Kind {
	case Numbers:
		if f.DType = l.Num.DType; l.CF != nil {
			f.DType = l.CF.To
		}
		for _, n := range inner {
			f.Shape = append(f.Shape, int(n))
		}
		f.Shape = append(f.Shape, l.Dims...)
	case Texts, VarText:
		f.DType, f.Levels = shardify.U8, 1
		if around > 0 {
			f.Levels = 2
		}
		f.Nullable = l.Missing != nil && f.Levels == 1 && !l.Listed
	case VarList:
		sub, err := l.Elem.Field(name, nil)
		if err != nil {
			return f, err
		}
		f.DType, f.Shape = sub.DType, sub.Shape
		f.Levels = sub.Levels + 1
		if around > 0 {
			f.Levels++
		}
	}
	if f.Levels > 2 {
		return f, shardify.Unsupported("%d levels of variable length", f.Levels)
	}
	return f, f.Validate()
}

// Whole: elements are exactly the leaf's values.
func (l *Leaf) Whole(elem int64) bool {
	if l.Kind != Numbers || l.CF != nil || !l.Num.InPlace() || l.At.Off != 0 {
		return false
	}
	switch len(l.At.Count) {
	case 0:
		return elem == int64(l.Num.Size)
	case 1:
		return l.At.Step[0] == l.Num.Size && elem == int64(l.Num.Size*l.At.Count[0])
	}
	return false
}

// Unit is the bytes of one element of the innermost lists.
func (l *Leaf) Unit() int {
	switch l.Kind {
	case Numbers:
		return l.Num.DType.Size() * l.At.Values()
	case VarList:
		return l.Elem.Unit()
	}
	return 1
}

const blockPrefix = "values_block_"

// WithBlocks adds a leaf for each column of the blocks of a table, behind all others so
// that their numbers follow from the type alone.
func WithBlocks(leaves []Leaf) []Leaf {
	for i, n := 0, len(leaves); i < n; i++ {
		l := &leaves[i]
		if !l.isBlock() || len(leaves)+l.Dims[0] > MaxLeaves {
			continue
		}
		leaves = append(leaves, l.Columns(l.Dims[0])...)
	}
	return leaves
}

// isBlock reports whether the leaf is a block that can be split.
func (l *Leaf) isBlock() bool {
	return strings.HasPrefix(l.Name, blockPrefix) && len(l.Dims) == 1 && l.Err == nil && (l.Kind == Numbers || l.Kind == Texts)
}

// Columns are n leaves, one behind the other.
func (l *Leaf) Columns(n int) []Leaf {
	step := l.Size
	if l.Kind == Numbers {
		step = l.Num.Size
	}
	if len(l.At.Step) == 1 {
		step = l.At.Step[0]
	}
	out := make([]Leaf, n)
	for i := range out {
		out[i] = *l
		out[i].Of, out[i].Dims, out[i].At = l.Name, nil, number.Strided{Off: l.At.Off + i*step}
	}
	return out
}
