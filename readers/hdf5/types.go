package hdf5

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cf"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/number"
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// leaf is one field's part of an element: a plain data set has one, a compound
// one several.
type leaf struct {
	of   string // the block of a pandas frame that it is a column of
	name string // "" of a plain data set, else "pt" or "jet/pt"
	err  error  // why it cannot be delivered

	kind leafKind
	at   number.Strided // where the values stand in the element
	dims []int          // of arrays around the values, and of complex numbers
	// Of numbers.
	num     number.Form
	convert number.Convert
	cf      *cf.Decoder // what attributes make of the numbers; nil if nothing
	notes   []string    // what is odd about them
	// Of texts.
	size    int // bytes in the file
	padding h5.Padding
	codes16 bool // they are MATLAB's characters
	big     bool // of which the high byte comes first
	// Of sequences: bytes of an entry, and what an entry holds.
	entry int
	elem  *leaf

	media string
	attrs map[string]string
}

type leafKind uint8

const (
	numbers leafKind = iota
	texts            // of a fixed number of bytes
	varText          // in the global heap
	varList
)

const (
	maxDepth  = 32
	maxLeaves = 1 << 14
	maxValues = 1 << 27 // values of one element
)

// typeRules are what a file's convention says about its types.
type typeRules struct {
	pytables bool   // class time and one-byte bit fields are PyTables' own
	media    string // of texts: "txt" or "bin"
	refSize  int    // bytes of a variable-length element
	cf       bool   // numbers are what their attributes make of them
}

// leaves lists the fields of a type. A part that cannot be delivered is a leaf
// with an error, so that the others can.
func (r typeRules) leaves(t *h5.Type) []leaf {
	m := mapper{typeRules: r}
	m.add(t, leaf{}, 0)
	if r.pytables {
		return withBlocks(m.out)
	}
	return m.out
}

type mapper struct {
	typeRules
	out []leaf
}

// add appends the leaves of t; l says where t stands in the element.
func (m *mapper) add(t *h5.Type, l leaf, depth int) {
	if len(m.out) >= maxLeaves || depth > maxDepth {
		return
	}
	switch {
	case t.Class == h5.Compound && complexParts(t) == nil:
		m.members(t, l, depth)
		return
	case t.Class == h5.Array && t.Base != nil:
		m.array(t, l, depth)
		return
	case t.Class == h5.VarLen && !t.VarString && t.Base != nil:
		m.sequence(t, l, depth)
		return
	}
	l.err = m.value(t, &l)
	m.emit(l)
}

func (m *mapper) emit(l leaf) {
	if l.err == nil && l.at.Values() > maxValues {
		l.err = shardify.Unsupported("%d values in one element", l.at.Values())
	}
	l.at.Simplify()
	if len(m.out) < maxLeaves {
		m.out = append(m.out, l)
	}
}

func (m *mapper) members(t *h5.Type, l leaf, depth int) {
	for i := range t.Members {
		sub := l
		sub.at = number.Strided{Off: l.at.Off + t.Members[i].Offset, Count: l.at.Count, Step: l.at.Step}
		sub.name = join(l.name, t.Members[i].Name)
		m.add(t.Members[i].Type, sub, depth+1)
	}
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "/" + b
}

// array moves inside an array: its pieces are further levels of the layout. The
// new level is innermost.
func (m *mapper) array(t *h5.Type, l leaf, depth int) {
	step := t.Size
	n := 1
	for _, d := range t.Dims {
		if d < 1 || n > math.MaxInt32/d {
			l.err = shardify.Unsupported("array of %v", t.Dims)
			m.emit(l)
			return
		}
		n *= d
	}
	if n*t.Base.Size != t.Size {
		l.err = shardify.Corrupt(-1, "array of %d values of %d bytes in %d bytes", n, t.Base.Size, t.Size)
		m.emit(l)
		return
	}
	l.dims = append(append([]int(nil), l.dims...), t.Dims...)
	l.at = number.Strided{Off: l.at.Off, Count: append([]int(nil), l.at.Count...), Step: append([]int(nil), l.at.Step...)}
	for _, d := range t.Dims {
		step /= d
		l.at.Count, l.at.Step = append(l.at.Count, d), append(l.at.Step, step)
	}
	m.add(t.Base, l, depth+1)
}

// sequence gives a leaf for each of the entries' own: those of one sequence have
// the same lengths.
func (m *mapper) sequence(t *h5.Type, l leaf, depth int) {
	in := mapper{typeRules: m.typeRules}
	in.add(t.Base, leaf{}, depth+1)
	for i := range in.out {
		sub := l
		sub.kind, sub.entry, sub.elem = varList, t.Base.Size, &in.out[i]
		sub.name = l.name
		if e := sub.elem; e.name != "" {
			sub.name = join(l.name, e.name)
		}
		sub.err, sub.media, sub.attrs = sub.elem.err, sub.elem.media, sub.elem.attrs
		sub.size = m.refSize
		m.emit(sub)
	}
}

// value maps a type that holds one value.
func (m *mapper) value(t *h5.Type, l *leaf) (err error) {
	switch t.Class {
	case h5.Integer:
		l.num, err = number.Integer(t.Size, t.Order == h5.BigEndian, t.Signed, t.BitOffset, t.Precision)
	case h5.BitField:
		l.num, err = number.Integer(t.Size, t.Order == h5.BigEndian, false, t.BitOffset, t.Precision)
		if m.pytables && t.Size == 1 && err == nil {
			l.num.Truth, l.num.DType = true, shardify.Bool
		}
	case h5.Float:
		l.num, err = float(t)
	case h5.Time:
		err = m.time(t, l)
	case h5.Enum:
		err = l.enum(t)
	case h5.String:
		l.kind, l.size, l.padding, l.media = texts, t.Size, t.Padding, m.media
		return nil
	case h5.VarLen:
		l.kind, l.size, l.padding, l.media = varText, m.refSize, t.Padding, m.media
		return nil
	case h5.Opaque:
		return l.opaque(t)
	case h5.Compound, h5.Complex:
		return l.complex(t)
	case h5.Reference:
		return shardify.Unsupported("%s", []string{"object references", "region references", "references", "references", "references"}[min(t.RefKind, 4)])
	default:
		return shardify.Unsupported("type class %d", t.Class)
	}
	if err == nil {
		l.convert = l.num.Converter()
	}
	return err
}

func float(t *h5.Type) (number.Form, error) {
	if t.Order == h5.VAX {
		return number.Form{}, shardify.Unsupported("VAX floating-point numbers")
	}
	f := t.Float
	return number.Floating(t.Size, t.Order == h5.BigEndian, t.BitOffset, t.Precision, number.Float{
		ExpPos: int(f.ExpPos), ExpBits: int(f.ExpSize), ManPos: int(f.ManPos), ManBits: int(f.ManSize),
		Sign: int(f.SignPos), Bias: int64(f.Bias), Implied: f.Norm == 2,
	})
}

// time maps PyTables' time columns: seconds in 4 bytes, or seconds and
// microseconds in 4 bytes each.
func (m *mapper) time(t *h5.Type, l *leaf) (err error) {
	if !m.pytables || t.Size != 4 && t.Size != 8 {
		return shardify.Unsupported("HDF5 times of %d bytes", t.Size)
	}
	l.attrs = map[string]string{"unit": "s"}
	l.num, err = number.Integer(t.Size, t.Order == h5.BigEndian, true, 0, 8*t.Size)
	if t.Size == 4 {
		l.attrs = map[string]string{"time": "s"}
		return err
	}
	l.num.DType, l.num.Moment = shardify.F64, true
	return err
}

func (l *leaf) enum(t *h5.Type) (err error) {
	b := t.Base
	if b == nil || b.Class != h5.Integer {
		return shardify.Unsupported("enum of another type than an integer")
	}
	if l.num, err = number.Integer(b.Size, b.Order == h5.BigEndian, b.Signed, b.BitOffset, b.Precision); err != nil {
		return err
	}
	if t.Bool() {
		l.num.Truth, l.num.DType = true, shardify.Bool
		return nil
	}
	l.attrs = enumAttrs(t, &l.num)
	return nil
}

// maxLabels bounds the names of an enum that are kept, in number and bytes.
const maxLabels = 1 << 12

// enumAttrs keeps the names: as labels if they are those of 0, 1, ..., else as
// NAME=CODE.
func enumAttrs(t *h5.Type, n *number.Form) map[string]string {
	if len(t.Names) == 0 || len(t.Names) > maxLabels {
		return nil
	}
	labels := make([]string, len(t.Names))
	var pairs []string
	dense, total := true, 0
	for i, name := range t.Names {
		total += len(name)
		if name == "" || strings.ContainsAny(name, "\n\x00") || !utf8.ValidString(name) || total > 1<<16 {
			return nil
		}
		var v [8]byte
		n.Converter()(v[:], t.Values[i*n.Size:], 1, n.Size)
		code := int64(le.Uint64(v[:])) << (64 - 8*n.DType.Size())
		if n.Signed {
			code >>= 64 - 8*n.DType.Size()
			pairs = append(pairs, name+"="+strconv.FormatInt(code, 10))
		} else {
			code = int64(uint64(code) >> (64 - 8*n.DType.Size()))
			pairs = append(pairs, name+"="+strconv.FormatUint(uint64(code), 10))
		}
		if code < 0 || code >= int64(len(labels)) || labels[code] != "" {
			dense = false
			continue
		}
		labels[code] = name
	}
	if dense {
		return map[string]string{"labels": strings.Join(labels, shardify.LabelSeparator)}
	}
	return map[string]string{"enum": strings.Join(pairs, "\n")}
}

// opaque maps bytes, and the times that h5py marks as NumPy's.
func (l *leaf) opaque(t *h5.Type) (err error) {
	if unit, delta, ok := numpyTime(t.Tag); ok && t.Size == 8 {
		l.num, err = number.Integer(8, strings.HasPrefix(t.Tag, "NUMPY:>"), true, 0, 64)
		l.convert = l.num.Converter()
		l.attrs = map[string]string{"time": unit}
		if delta {
			l.attrs["delta"] = "true"
		}
		return err
	}
	l.num, err = number.Integer(1, false, false, 0, 8)
	l.convert = l.num.Converter()
	l.attrs = map[string]string{"void": "true"}
	if t.Tag != "" && utf8.ValidString(t.Tag) && len(t.Tag) <= 256 {
		l.attrs["tag"] = t.Tag
	}
	l.append(t.Size, 1)
	return err
}

// append adds an innermost dimension.
func (l *leaf) append(count, step int) {
	l.dims = append(append([]int(nil), l.dims...), count)
	l.at.Count = append(append([]int(nil), l.at.Count...), count)
	l.at.Step = append(append([]int(nil), l.at.Step...), step)
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

// complexParts are the two floats of a complex number, nil if t is none.
func complexParts(t *h5.Type) []h5.Member {
	if t.Class == h5.Complex {
		if t.Base == nil || t.Base.Class != h5.Float || t.Size != 2*t.Base.Size {
			return nil
		}
		return []h5.Member{{Type: t.Base}, {Offset: t.Base.Size, Type: t.Base}}
	}
	m := t.Members
	if len(m) != 2 || m[0].Type.Class != h5.Float || m[1].Type.Class != h5.Float || m[0].Offset >= m[1].Offset {
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

func (l *leaf) complex(t *h5.Type) (err error) {
	parts := complexParts(t)
	if parts == nil {
		return shardify.Unsupported("complex numbers of this form")
	}
	if l.num, err = float(parts[0].Type); err != nil {
		return err
	}
	l.convert = l.num.Converter()
	l.attrs = map[string]string{"complex": "true"}
	l.at.Off += parts[0].Offset
	l.append(2, parts[1].Offset-parts[0].Offset)
	return nil
}

// field is the schema entry of the leaf, of a data set with the dimensions inner
// within a sample.
func (l *leaf) field(name string, inner []int64) (shardify.Field, error) {
	f := shardify.Field{Name: name, Media: l.media, Attrs: l.attrs}
	around := len(inner) + len(l.dims)
	switch l.kind {
	case numbers:
		if f.DType = l.num.DType; l.cf != nil {
			f.DType = l.cf.To
		}
		for _, n := range inner {
			f.Shape = append(f.Shape, int(n))
		}
		f.Shape = append(f.Shape, l.dims...)
	case texts, varText:
		f.DType, f.Levels = shardify.U8, 1
		if around > 0 {
			f.Levels = 2
		}
	case varList:
		sub, err := l.elem.field(name, nil)
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
