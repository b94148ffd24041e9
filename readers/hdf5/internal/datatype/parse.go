package datatype

import (
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"math"
)

// A datatype message is u8 class (low half) and version (high half), 3 bytes of
// bits whose meaning is the class's, u32 element size, then the properties of the
// class. Its length follows from parsing it.

// maxNesting bounds types inside types.
const maxNesting = 32

// typeParser parses one type. Nested types are read from the same decoder.
type typeParser struct {
	meta.Decoder
	nesting int
}

// Parse parses the type at the start of b and returns the bytes it took.
func Parse(f *meta.File, b []byte, at int64) (*Type, int, error) {
	p := typeParser{Decoder: f.Decode(b, at, "datatype")}
	t, err := p.parse()
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		return nil, 0, err
	}
	return t, p.Pos, nil
}

func (p *typeParser) parse() (*Type, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, p.Corrupt("types nested more than %d deep", maxNesting)
	}
	defer func() { p.nesting-- }()
	head := p.U8()
	bits := uint32(p.Uint(3))
	size := p.U32()
	if err := p.Err(); err != nil {
		return nil, err
	}
	t := &Type{Class: class(head & 15), Version: head >> 4, Size: int(size), Committed: meta.Undefined}
	if t.Version == 0 || t.Version > 5 {
		return nil, p.Corrupt("datatype version %d", t.Version)
	}
	if size == 0 || size > math.MaxInt32 {
		return nil, p.Corrupt("element of %d bytes", size)
	}
	return t, p.properties(t, bits)
}

func (p *typeParser) properties(t *Type, bits uint32) error {
	switch t.Class {
	case Integer, BitField:
		t.Order = Order(bits & 1)
		t.Signed = bits&8 != 0
		if t.Signed && t.Class == BitField || bits>>4 != 0 {
			return p.Corrupt("bits %#x, which are not those of class %d", bits, t.Class)
		}
		t.BitOffset, t.Precision = int(p.U16()), int(p.U16())
		return p.checkBits(t)
	case Float:
		return p.float(t, bits)
	case Time:
		t.Order = Order(bits & 1)
		t.Precision = int(p.U16())
		return p.checkBits(t)
	case String:
		t.Padding, t.UTF8 = Padding(bits&15), bits>>4&15 == 1
		if t.Padding > SpacePadded || bits>>4 > 1 {
			return p.Corrupt("string padding %d, encoding %d", t.Padding, bits>>4)
		}
	case Opaque:
		t.Tag = meta.UntilNUL(p.Bytes(int(bits & 0xff)))
	case Compound:
		return p.compound(t, int(bits&0xffff))
	case Reference:
		t.RefKind = uint8(bits & 15)
		return p.reference(t)
	case Enum:
		return p.enum(t, int(bits&0xffff))
	case VarLen:
		return p.varLen(t, bits)
	case Array:
		return p.array(t)
	case Complex:
		return p.complex(t)
	default:
		return p.Corrupt("datatype class %d", t.Class)
	}
	return nil
}

func (p *typeParser) checkBits(t *Type) error {
	if p.Bad {
		return p.Err()
	}
	if t.Precision == 0 || t.BitOffset+t.Precision > 8*t.Size {
		return p.Corrupt("%d bits at bit %d of an element of %d bytes", t.Precision, t.BitOffset, t.Size)
	}
	return nil
}

func (p *typeParser) float(t *Type, bits uint32) error {
	switch bits & 0x41 {
	case 0x00:
		t.Order = LittleEndian
	case 0x01:
		t.Order = BigEndian
	case 0x41:
		t.Order = VAX
	default:
		return p.Corrupt("byte order %#x", bits&0x41)
	}
	t.Signed = true
	t.BitOffset, t.Precision = int(p.U16()), int(p.U16())
	g := &t.Float
	g.ExpPos, g.ExpSize, g.ManPos, g.ManSize = p.U8(), p.U8(), p.U8(), p.U8()
	g.Bias = p.U32()
	g.SignPos, g.Norm = uint8(bits>>8), uint8(bits>>4&3)
	if err := p.checkBits(t); err != nil {
		return err
	}
	top := t.BitOffset + t.Precision // positions count from the lowest bit of the element
	if int(g.SignPos) >= top || g.ExpSize == 0 || g.ManSize == 0 ||
		int(g.ExpPos)+int(g.ExpSize) > top || int(g.ManPos)+int(g.ManSize) > top || g.Norm == 3 {
		return p.Corrupt("float of %d bits: sign %d, exponent %d+%d, mantissa %d+%d, normalisation %d",
			t.Precision, g.SignPos, g.ExpPos, g.ExpSize, g.ManPos, g.ManSize, g.Norm)
	}
	if g.overlaps() {
		return p.Corrupt("parts of a float overlap: sign %d, exponent %d+%d, mantissa %d+%d", g.SignPos, g.ExpPos, g.ExpSize, g.ManPos, g.ManSize)
	}
	return nil
}

// overlaps reports whether a bit belongs to two of sign, exponent and mantissa.
func (g *floatFormat) overlaps() bool {
	common := func(a, na, b, nb uint8) bool { return int(a) < int(b)+int(nb) && int(b) < int(a)+int(na) }
	return common(g.ExpPos, g.ExpSize, g.ManPos, g.ManSize) || common(g.SignPos, 1, g.ExpPos, g.ExpSize) || common(g.SignPos, 1, g.ManPos, g.ManSize)
}

// name reads a member name; versions 1 and 2 pad the field to a multiple of 8.
func (p *typeParser) name(version uint8) (string, error) {
	start := p.Pos
	s, err := p.Text()
	if err == nil && version < 3 {
		p.Skip((p.Pos-start+7)&^7 - (p.Pos - start))
	}
	return s, err
}

func (p *typeParser) compound(t *Type, n int) error {
	if n == 0 {
		return p.Corrupt("compound type without members")
	}
	if n > p.Rest()/9 { // a name's NUL and 8 bytes of type are the least
		return p.Corrupt("%d members in %d bytes", n, p.Rest())
	}
	t.Members = make([]Member, n)
	for i := range t.Members {
		if err := p.member(t, &t.Members[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *typeParser) member(t *Type, m *Member) error {
	var err error
	if m.Name, err = p.name(t.Version); err != nil {
		return err
	}
	var dims []int
	switch t.Version {
	case 1:
		m.Offset = int(p.U32())
		rank := int(p.U8())
		p.Skip(11)
		sizes := p.Bytes(16)
		if rank > 4 || sizes == nil {
			return p.Corrupt("member %q has %d dimensions", m.Name, rank)
		}
		for i := range rank {
			dims = append(dims, int(meta.Uint(sizes[4*i:4*i+4])))
		}
	case 2:
		m.Offset = int(p.U32())
	default:
		m.Offset = int(p.Uint(meta.Width(uint64(t.Size))))
	}
	if m.Type, err = p.parse(); err != nil {
		return err
	}
	if len(dims) > 0 {
		base := m.Type
		m.Type = &Type{Class: Array, Version: t.Version, Dims: dims, Base: base, Committed: meta.Undefined}
		size, err := p.arraySize(dims, base.Size)
		if err != nil {
			return err
		}
		m.Type.Size = size
	}
	if m.Offset < 0 || m.Offset > t.Size-m.Type.Size {
		return p.Corrupt("member %q of %d bytes at %d lies outside of its %d bytes", m.Name, m.Type.Size, m.Offset, t.Size)
	}
	return nil
}

func (p *typeParser) arraySize(dims []int, base int) (int, error) {
	size := int64(base)
	for _, d := range dims {
		var ok bool
		if size, ok = meta.Product(size, int64(d)); !ok || size > math.MaxInt32 || d == 0 {
			return 0, p.Corrupt("array %v of %d bytes", dims, base)
		}
	}
	return int(size), nil
}

func (p *typeParser) array(t *Type) error {
	rank := int(p.U8())
	if t.Version < 3 {
		p.Skip(3)
	}
	if rank == 0 || rank > 32 || 4*rank > p.Rest() {
		return p.Corrupt("array type of rank %d", rank)
	}
	t.Dims = make([]int, rank)
	for i := range t.Dims {
		t.Dims[i] = int(p.U32())
	}
	if t.Version < 3 {
		p.Skip(4 * rank) // permutation, never used
	}
	var err error
	if t.Base, err = p.parse(); err != nil {
		return err
	}
	size, err := p.arraySize(t.Dims, t.Base.Size)
	if err == nil && size != t.Size {
		err = p.Corrupt("array of %d bytes in an element of %d", size, t.Size)
	}
	return err
}

func (p *typeParser) enum(t *Type, n int) error {
	var err error
	if t.Base, err = p.parse(); err != nil {
		return err
	}
	if t.Base.Class != Integer || t.Base.Size != t.Size {
		return p.Corrupt("enumeration of %d bytes over %d bytes of class %d", t.Size, t.Base.Size, t.Base.Class)
	}
	if n > p.Rest()/(1+t.Size) {
		return p.Corrupt("%d names in %d bytes", n, p.Rest())
	}
	t.Order, t.Signed, t.BitOffset, t.Precision = t.Base.Order, t.Base.Signed, t.Base.BitOffset, t.Base.Precision
	t.Names = make([]string, n)
	for i := range t.Names {
		if t.Names[i], err = p.name(t.Version); err != nil {
			return err
		}
	}
	t.Values = append([]byte(nil), p.Bytes(n*t.Size)...)
	return p.Err()
}

func (p *typeParser) reference(t *Type) error {
	want := t.Size
	switch {
	case t.RefKind == 0:
		want = p.File.OffsetSize
	case t.RefKind == 1:
		want = p.File.OffsetSize + 4
	case t.RefKind > 4:
		return p.Corrupt("reference of kind %d", t.RefKind)
	}
	if t.Size != want {
		return p.Corrupt("reference of kind %d has %d bytes, not %d", t.RefKind, t.Size, want)
	}
	return nil
}

func (p *typeParser) varLen(t *Type, bits uint32) error {
	if bits&15 > 1 {
		return p.Corrupt("variable-length type of kind %d", bits&15)
	}
	t.VarString = bits&15 == 1
	t.Padding, t.UTF8 = Padding(bits>>4&15), bits>>8&15 == 1
	var err error
	if t.Base, err = p.parse(); err == nil && t.Size != p.File.RefSize() {
		err = p.Corrupt("variable-length element has %d bytes, not %d", t.Size, p.File.RefSize())
	}
	return err
}

func (p *typeParser) complex(t *Type) error {
	var err error
	if t.Base, err = p.parse(); err != nil {
		return err
	}
	if t.Base.Class != Float || 2*t.Base.Size != t.Size {
		return p.Corrupt("complex number of %d bytes over %d bytes of class %d", t.Size, t.Base.Size, t.Base.Class)
	}
	t.Order = t.Base.Order
	return nil
}
