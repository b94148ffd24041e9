package mat5

import (
	"math/bits"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

// The classes of matrices.
const (
	classCell     = 1
	classStruct   = 2
	classObject   = 3
	classChar     = 4
	classSparse   = 5
	classDouble   = 6
	classSingle   = 7
	classInt8     = 8
	classUint64   = 15
	classFunction = 16
	classOpaque   = 17
)

var classWords = []string{"", "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque"}

// numpyOf is the type of values by the class.
var numpyOf = []string{classDouble: "<f8", "<f4", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"}

// sizes are the bytes of a number by the type of an element; texts are of 8, 16 and 32 bits.
var sizes = [19]int64{1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}

// part is an element within a matrix: where its bytes are.
type part struct {
	typ   uint32
	at, n int64
}

// matrix is what the header of a matrix says.
type matrix struct {
	class            byte
	complex, logical bool
	dims             []int64
	count            int64 // of its elements
	name             string

	ir, jc     part // of a sparse one
	real, imag part
	texts      int64 // of a cell: the most characters of one; -1: it has others than texts
	fields     []string
}

func (m *matrix) word() string {
	if int(m.class) >= len(classWords) {
		return "unknown"
	}
	if m.logical {
		return "logical"
	}
	return classWords[m.class]
}

// tag reads the tag of an element, and passes its bytes: small ones are in the tag.
func (f *File) tag(in *readat.InOrder) (part, []byte, error) {
	b, err := in.Take(8)
	if err != nil {
		return part{}, nil, err
	}
	p := part{typ: f.order.Uint32(b), n: int64(f.order.Uint32(b[4:])), at: in.Pos}
	if p.typ>>16 == 0 {
		return p, nil, nil
	}
	if p.n = int64(p.typ >> 16); p.n > 4 {
		return p, nil, in.Corrupt("a small element of %d bytes, at most 4 fit", p.n)
	}
	p.typ &= 0xffff
	p.at -= 4
	return p, append([]byte{}, b[4:4+p.n]...), nil
}

// padded is a length with its padding.
func padded(n int64) int64 { return (n + 7) &^ 7 }

// pass passes the bytes of an element. The padding of the last one may be missing.
func pass(in *readat.InOrder, p *part) error {
	return in.Skip(min(padded(p.n), max(in.Size-in.Pos, p.n)))
}

// small reads an element of a few bytes.
func (f *File) small(in *readat.InOrder, most int64, types ...uint32) ([]byte, error) {
	p, b, err := f.tag(in)
	if err != nil {
		return nil, err
	}
	ok := false
	for _, t := range types {
		ok = ok || p.typ == t
	}
	if !ok {
		return nil, in.Corrupt("an element of type %d, not %d", p.typ, types[0])
	}
	if b != nil {
		return b, nil
	}
	if p.n > most {
		return nil, in.Corrupt("an element of %d bytes, at most %d are expected", p.n, most)
	}
	if b, err = in.Take(p.n); err != nil {
		return nil, err
	}
	b = append([]byte{}, b...)
	return b, in.Skip(min(padded(p.n)-p.n, in.Size-in.Pos))
}

// numbers reads an element with numbers, and passes it.
func (f *File) numbers(in *readat.InOrder) (part, error) {
	p, b, err := f.tag(in)
	if err != nil {
		return p, err
	}
	if int(p.typ) >= len(sizes) || sizes[p.typ] == 0 {
		return p, in.Corrupt("data of type %d, which is unknown", p.typ)
	}
	if b == nil {
		err = pass(in, &p)
	}
	return p, err
}

const (
	maxDims  = 64
	maxName  = 4096
	maxDepth = 32
)

// header reads flags, axes and name of a matrix.
func (f *File) header(in *readat.InOrder) (*matrix, error) {
	b, err := f.small(in, 16, 6)
	if err != nil {
		return nil, err
	}
	if len(b) < 8 {
		return nil, in.Corrupt("flags of %d bytes", len(b))
	}
	flags := f.order.Uint32(b)
	m := &matrix{class: byte(flags), complex: flags&0x0800 != 0, logical: flags&0x0200 != 0}
	if m.class == classOpaque { // its header is another one
		return m, nil
	}
	if b, err = f.small(in, 4*maxDims, 5, 6); err != nil {
		return nil, err
	}
	if len(b) < 8 || len(b)%4 != 0 {
		return nil, in.Corrupt("axes of %d bytes", len(b))
	}
	m.count = 1
	for i := 0; i < len(b); i += 4 {
		d := int64(int32(f.order.Uint32(b[i:])))
		hi, lo := bits.Mul64(uint64(m.count), uint64(d))
		if d < 0 || hi != 0 || lo > 1<<60 {
			return nil, in.Corrupt("an axis of %d, behind %v", d, m.dims)
		}
		m.dims, m.count = append(m.dims, d), int64(lo)
	}
	for _, d := range m.dims {
		if d == 0 {
			m.count = 0
		}
	}
	if b, err = f.small(in, maxName, 1, 2, 16); err != nil {
		return nil, err
	}
	m.name = string(b)
	return m, nil
}

// matrix reads the header of a matrix and finds its numbers.
func (f *File) matrix(in *readat.InOrder, depth int) (*matrix, error) {
	if depth > maxDepth {
		return nil, shardify.Unsupported("cells and structures are nested deeper than %d", maxDepth)
	}
	m, err := f.header(in)
	if err != nil {
		return nil, err
	}
	switch m.class {
	case classSparse:
		if m.ir, err = f.numbers(in); err == nil {
			m.jc, err = f.numbers(in)
		}
	case classCell:
		return m, f.cells(in, m, depth)
	case classStruct:
		return m, f.structure(in, m)
	case classObject, classFunction, classOpaque:
		return m, nil
	default:
		if m.class < classChar || m.class > classUint64 {
			return nil, in.Corrupt("a matrix of class %d, which is unknown", m.class)
		}
	}
	if err == nil {
		m.real, err = f.numbers(in)
	}
	if err == nil && m.complex {
		m.imag, err = f.numbers(in)
	}
	return m, err
}

// cells looks at the elements of a cell: whether all are texts.
func (f *File) cells(in *readat.InOrder, m *matrix, depth int) error {
	for range m.count {
		sub, err := f.nested(in)
		if err != nil {
			return err
		}
		x := &matrix{}
		if sub.Size > sub.Pos {
			if x, err = f.matrix(sub, depth+1); err != nil {
				return err
			}
		}
		if x.class != classChar || len(x.dims) != 2 || x.dims[0] > 1 {
			m.texts = -1
		}
		if m.texts >= 0 && x.count > m.texts {
			m.texts = x.count
		}
		if err := rest(in, sub); err != nil {
			return err
		}
	}
	return nil
}

// nested is the matrix that follows, as an input. It shares the bytes of the outer one.
func (f *File) nested(in *readat.InOrder) (*readat.InOrder, error) {
	p, b, err := f.tag(in)
	if err != nil {
		return nil, err
	}
	if p.typ != typeMatrix || b != nil || p.n > in.Size-in.Pos {
		return nil, in.Corrupt("an element of type %d and %d bytes in a cell or structure", p.typ, p.n)
	}
	sub := *in
	sub.Size = in.Pos + p.n
	return &sub, nil
}

// rest goes on behind a nested matrix.
func rest(outer, in *readat.InOrder) error {
	if err := in.Skip(in.Size - in.Pos); err != nil {
		return err
	}
	size := outer.Size
	*outer = *in
	outer.Size = size
	return nil
}

// structure reads the names of the fields.
func (f *File) structure(in *readat.InOrder, m *matrix) error {
	b, err := f.small(in, 8, 5, 6)
	if err != nil {
		return err
	}
	if len(b) < 4 {
		return in.Corrupt("the length of names has %d bytes", len(b))
	}
	width := int64(f.order.Uint32(b))
	if b, err = f.small(in, 1<<20, 1, 2); err != nil {
		return err
	}
	if width < 1 || width > maxName || int64(len(b))%width != 0 {
		return in.Corrupt("names of %d bytes each in %d", width, len(b))
	}
	for ; len(b) > 0; b = b[width:] {
		m.fields = append(m.fields, cString(b[:width]))
	}
	return nil
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// variable adds a variable of the file, or the fields of a structure.
func (f *File) variable(in *readat.InOrder, e *element) error {
	if e.size == 0 {
		return in.Corrupt("a variable of no bytes")
	}
	m, err := f.matrix(in, 0)
	if err != nil {
		return err
	}
	if m.class == classOpaque && m.name == "" {
		m.name = "opaque"
	}
	if m.name == "" { // what MATLAB keeps of function handles
		f.Notes = append(f.Notes, "a variable without a name is left out")
		return nil
	}
	if m.class != classStruct || m.count != 1 {
		return f.add(m.name, *e, m)
	}
	for _, field := range m.fields {
		sub, err := f.nested(in)
		if err != nil {
			return err
		}
		part := *e
		part.inner, part.size = sub.Pos, sub.Size-sub.Pos
		x := &matrix{class: classDouble, dims: []int64{0, 0}}
		if part.size > 0 {
			if x, err = f.matrix(sub, 1); err != nil {
				return err
			}
		}
		if err := f.add(m.name+"."+field, part, x); err != nil {
			return err
		}
		if err := rest(in, sub); err != nil {
			return err
		}
	}
	return nil
}

// maxDense bounds what a sparse matrix, or texts, may take beside the bytes that they have in the file.
const maxDense = 8 << 20

// becomes says which array a matrix becomes.
func (m *matrix) becomes(size int64) (shape []int64, numpy string, err error) {
	shape = m.dims
	if len(shape) == 2 && shape[1] == 1 {
		if shape = shape[:1]; shape[0] == 1 {
			shape = nil
		}
	}
	switch m.class {
	case classChar:
		if len(m.dims) != 2 {
			return nil, "", shardify.Unsupported("characters of %d axes", len(m.dims))
		}
		n := max(m.dims[1], 1)
		if shape = m.dims[:1]; m.dims[0] == 1 || m.count == 0 {
			shape = nil
		}
		numpy = "<U" + itoa(n)
	case classCell:
		if m.texts < 0 || m.count == 0 {
			return nil, "", shardify.Unsupported("a cell of others than texts")
		}
		n := max(m.texts, 1)
		if hi, lo := bits.Mul64(uint64(n), uint64(m.count)); hi != 0 || lo > maxDense/4+uint64(size) {
			return nil, "", shardify.Unsupported("%d texts of up to %d characters in a cell", m.count, n)
		}
		return shape, "<U" + itoa(n), nil
	case classSparse:
		numpy = "<f8"
	case classStruct:
		return nil, "", shardify.Unsupported("an array of structures, or structures in structures")
	case classObject, classFunction, classOpaque:
		return nil, "", shardify.Unsupported("values of class %s", m.word())
	default:
		numpy = numpyOf[m.class]
	}
	switch {
	case m.logical:
		numpy = "|b1"
	case m.complex:
		if numpy = "<c16"; m.class == classSingle {
			numpy = "<c8"
		}
	}
	if m.class == classSparse && m.count > maxDense/8+size*64 {
		return nil, "", shardify.Unsupported("a sparse matrix of %v in %d bytes, which would be dense", m.dims, size)
	}
	if m.class != classSparse && m.count > size+8 { // each takes a byte at least
		return nil, "", shardify.Corrupt(-1, "%v values in %d bytes", m.dims, size)
	}
	return shape, numpy, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
