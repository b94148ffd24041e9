package datatype

// class is the class of a datatype, with the numbers of the format.
type class uint8

// Classes of datatypes, as messages have them.
const (
	Integer   class = 0
	Float     class = 1
	Time      class = 2
	String    class = 3
	BitField  class = 4
	Opaque    class = 5
	Compound  class = 6
	Reference class = 7
	Enum      class = 8
	VarLen    class = 9
	Array     class = 10
	Complex   class = 11
)

// Order is the byte order of a number.
type Order uint8

// Orders of bytes.
const (
	LittleEndian Order = iota
	BigEndian
	VAX
)

// Padding of a string.
type Padding uint8

// Paddings of texts of one size.
const (
	NulTerminated Padding = 0 // the text ends at the first NUL
	NulPadded     Padding = 1 // trailing NULs are no text, inner ones are
	SpacePadded   Padding = 2
)

// floatFormat is the geometry of a floating-point number, in bits.
type floatFormat struct {
	ExpPos, ExpSize, ManPos, ManSize, SignPos uint8
	Norm                                      uint8 // 0 none, 1 top mantissa bit stored, 2 implied
	Bias                                      uint32
}

// Type is a datatype. Which fields count depends on Class.
type Type struct {
	Class   class
	Version uint8
	Size    int // bytes of one element, at least 1

	// Integer, Float, BitField, Time; Complex takes them from Base.
	Order     Order
	Signed    bool
	BitOffset int
	Precision int // bits
	Float     floatFormat

	// String, and VarLen with VarString set.
	Padding Padding
	UTF8    bool

	VarString bool     // VarLen: a string, else a sequence
	RefKind   uint8    // Reference: 0 object, 1 region, 2 object, 3 region, 4 attribute (2 to 4: opaque tokens)
	Tag       string   // Opaque
	Members   []Member // Compound, in stored order
	Names     []string // Enum
	Values    []byte   // Enum: len(Names) x Base.Size bytes in Base's order
	Dims      []int    // Array; each at least 1
	Base      *Type    // Enum, VarLen, Array, Complex

	Committed int64 // header of the committed type it was taken from, else Undefined
}

// Member of a compound type.
type Member struct {
	Name   string
	Offset int // bytes into the element
	Type   *Type
}

// The geometries that have a machine type.
var (
	formatF16  = floatFormat{10, 5, 0, 10, 15, 2, 15}
	formatBF16 = floatFormat{7, 8, 0, 7, 15, 2, 127}
	formatF32  = floatFormat{23, 8, 0, 23, 31, 2, 127}
	formatF64  = floatFormat{52, 11, 0, 52, 63, 2, 1023}
)

// Plain says that the number fills its bytes: an integer or bit field of 1, 2, 4
// or 8 bytes at offset 0 with full precision, or one of F16, BF16, F32, F64.
func (t *Type) Plain() bool {
	full := t.BitOffset == 0 && t.Precision == 8*t.Size && t.Order != VAX
	switch t.Class {
	case Integer, BitField:
		return full && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8)
	case Float:
		switch t.Size {
		case 2:
			return full && (t.Float == formatF16 || t.Float == formatBF16)
		case 4:
			return full && t.Float == formatF32
		case 8:
			return full && t.Float == formatF64
		}
	}
	return false
}

// Bool says that the type is h5py's boolean: an enumeration of one byte with
// FALSE = 0 and TRUE = 1.
func (t *Type) Bool() bool {
	if t.Class != Enum || t.Size != 1 || len(t.Names) != 2 || t.Base.Class != Integer {
		return false
	}
	f, v := 0, 1
	if t.Names[0] == "TRUE" {
		f, v = 1, 0
	}
	return t.Names[f] == "FALSE" && t.Names[v] == "TRUE" && t.Values[f] == 0 && t.Values[v] == 1
}

// HasVarLen says that elements hold variable-length parts at any depth.
func (t *Type) HasVarLen() bool {
	if t.Class == VarLen {
		return true
	}
	for i := range t.Members {
		if t.Members[i].Type.HasVarLen() {
			return true
		}
	}
	return t.Base != nil && t.Base.HasVarLen()
}
