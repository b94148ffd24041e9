package cdf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/cf"
)

// Type is the type of values.
type Type struct {
	Name  string // as ncdump prints it
	NumPy string // big-endian; "S1" are characters
	DType shardify.DType
	Size  int64
}

// types are those of the format, by their number. The first 6 are those of CDF-1 and CDF-2.
var types = []Type{
	1: {"byte", "i1", shardify.I8, 1}, 2: {"char", "S1", shardify.U8, 1}, 3: {"short", ">i2", shardify.I16, 2}, 4: {"int", ">i4", shardify.I32, 4},
	5: {"float", ">f4", shardify.F32, 4}, 6: {"double", ">f8", shardify.F64, 8}, 7: {"ubyte", "u1", shardify.U8, 1}, 8: {"ushort", ">u2", shardify.U16, 2},
	9: {"uint", ">u4", shardify.U32, 4}, 10: {"int64", ">i8", shardify.I64, 8}, 11: {"uint64", ">u8", shardify.U64, 8},
}

const char = 2

// The tags of lists.
const (
	tagDims  = 10
	tagVars  = 11
	tagAttrs = 12
)

var lists = map[uint32]string{tagDims: "dimensions", tagVars: "variables", tagAttrs: "attributes"}

// Bounds on what is kept; all of it is bounded by the size of the file.
const (
	maxHeader  = 1 << 30
	maxName    = 1 << 12
	maxText    = 1 << 20
	maxNumbers = 1 << 14
	// maxRank is the most dimensions of a variable.
	maxRank = 64
)

// File is what a header says.
type File struct {
	Version    int // 1, 2 or 5
	Records    int64
	RecordSize int64 // from one record to the next
	Notes      []string
	Variables  []Variable // in the order of the header

	streaming bool
	header    int64 // bytes
	dims      []dimension
}

type dimension struct {
	name string
	len  int64 // 0: that of the records
}

// Variable is an array.
type Variable struct {
	Name       string
	Dims       []string
	Shape      []int64        // with the number of records
	Attributes map[string]any // texts, and numbers as cf.Attribute
	Type       Type
	Record     bool  // the first dimension is that of the records
	Begin      int64 // where the values are, or those of the first record
	Size       int64 // bytes of all values, or of those of one record
	Digest     uint64
	Err        error // why it cannot be read

	claimed int64 // vsize
}

// Parse reads the header of a file of size bytes.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	p := &parser{r: r, size: size, f: &File{}}
	p.file()
	if p.err != nil {
		return nil, p.err
	}
	return p.f, p.f.place(size)
}

// parser reads from a file. After an error everything is 0.
type parser struct {
	r    io.ReaderAt
	size int64
	f    *File
	buf  []byte // of the file, from start on
	from int64
	at   int64
	err  error
	sum  []byte // what is in the digest of a variable
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = shardify.Corrupt(p.at, format, args...)
	}
}

const window = 64 << 10

// next returns the next n bytes.
func (p *parser) next(n int64) []byte {
	if p.err != nil {
		return nil
	}
	if n > p.size-p.at || n < 0 {
		p.fail("the header ends early: %d bytes are wanted, the file has %d bytes", uint64(n), p.size)
		return nil
	}
	if p.at+n > maxHeader {
		p.err = shardify.Unsupported("a header of more than %d bytes", maxHeader)
		return nil
	}
	if p.at < p.from || p.at+n > p.from+int64(len(p.buf)) {
		p.from, p.buf = p.at, make([]byte, min(max(n, window), p.size-p.at))
		if k, err := p.r.ReadAt(p.buf, p.from); k < len(p.buf) {
			p.err = fmt.Errorf("%d of %d bytes at %d: %w", k, len(p.buf), p.from, errors.Join(err, io.ErrUnexpectedEOF))
			return nil
		}
	}
	b := p.buf[p.at-p.from:][:n:n]
	p.at += n
	if p.sum != nil {
		p.sum = append(p.sum, b...)
	}
	return b
}

func (p *parser) u32() uint32 {
	if b := p.next(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (p *parser) u64() uint64 {
	if b := p.next(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// count is a number of things, of 32 bits before CDF-5. One that has no place in 63 bits is the
// largest that has.
func (p *parser) count() int64 {
	if p.f.Version < 5 {
		return int64(p.u32())
	}
	return int64(min(p.u64(), math.MaxInt64))
}

// padded reads n bytes, and those up to a multiple of 4.
func (p *parser) padded(n int64) []byte {
	b := p.next(n)
	p.next(-n & 3)
	return b
}

func (p *parser) name(what string) string {
	n := p.count()
	if n > maxName {
		p.fail("the name of %s has %d bytes", what, n)
		return ""
	}
	s := string(p.padded(n))
	if p.err == nil && (s == "" || !utf8.ValidString(s) || strings.ContainsAny(s, "/\x00")) {
		p.fail("%.40q is not a valid name of %s", s, what)
	}
	return s
}

// list reads the head of a list, of which each thing takes at least least bytes.
func (p *parser) list(want uint32, least int64) int64 {
	tag, n := p.u32(), p.count()
	switch {
	case p.err != nil || tag == 0 && n == 0:
		return 0
	case tag != want:
		p.fail("tag %d where a list of %s is expected", tag, lists[want])
		return 0
	case n > (p.size-p.at)/least:
		p.fail("%d %s in a file of %d bytes", n, lists[want], p.size)
		return 0
	}
	return n
}

func (p *parser) file() {
	b := p.next(4)
	if b == nil {
		return
	}
	if string(b) == "\x89HDF" {
		p.err = shardify.Mismatch("it is HDF5 (netCDF-4), not netCDF-3: --from hdf5 reads it")
		return
	}
	if string(b[:3]) != "CDF" {
		p.at = 0
		p.fail("no netCDF-3 file: it does not begin with CDF")
		return
	}
	if v := int(b[3]); v != 1 && v != 2 && v != 5 {
		p.err = shardify.Unsupported("CDF version %d is unknown: there are 1, 2 and 5", v)
		return
	}
	p.f.Version = int(b[3])
	if p.f.Version < 5 {
		n := p.u32()
		p.f.Records, p.f.streaming = int64(n), n == math.MaxUint32
	} else {
		n := p.u64()
		p.f.Records, p.f.streaming = int64(min(n, math.MaxInt64)), n == math.MaxUint64
	}
	p.dimensions()
	p.attributes()
	names := map[string]bool{}
	for range p.list(tagVars, 28) {
		v := p.variable()
		if p.err != nil {
			return
		}
		if names[v.Name] {
			p.fail("two variables are named %s", v.Name)
			return
		}
		names[v.Name] = true
		p.f.Variables = append(p.f.Variables, v)
	}
	p.f.header = p.at
}

func (p *parser) dimensions() {
	names, records := map[string]bool{}, false
	for range p.list(tagDims, 8) {
		d := dimension{p.name("a dimension"), p.count()}
		switch {
		case p.err != nil:
			return
		case names[d.name]:
			p.fail("two dimensions are named %s", d.name)
			return
		case d.len == 0 && records:
			p.fail("two dimensions are those of the records, the second is %s", d.name)
			return
		}
		names[d.name], records = true, records || d.len == 0
		p.f.dims = append(p.f.dims, d)
	}
}

func (p *parser) typ() (n uint32, t Type) {
	n = p.u32()
	most := uint32(6)
	if p.f.Version == 5 {
		most = 11
	}
	if n < 1 || n > most {
		p.fail("type %d is unknown: CDF-%d has 1 to %d", n, p.f.Version, most)
		return 0, t
	}
	return n, types[n]
}

// attributes reads a list of them. Those that are too long to be of use are not kept.
func (p *parser) attributes() map[string]any {
	all := map[string]any{}
	for range p.list(tagAttrs, 12) {
		name := p.name("an attribute")
		n, t := p.typ()
		k := p.count()
		if p.err == nil && k > (p.size-p.at)/t.Size {
			p.fail("attribute %s has %d values in a file of %d bytes", name, k, p.size)
		}
		b := p.padded(k * t.Size)
		if p.err != nil {
			return nil
		}
		if _, twice := all[name]; twice {
			p.fail("two attributes are named %s", name)
			return nil
		}
		switch {
		case n == char && k <= maxText:
			all[name] = strings.TrimRight(string(b), "\x00")
		case n != char && k > 0 && k <= maxNumbers:
			all[name] = numbers(b, t)
		}
	}
	return all
}

// numbers are the values of an attribute.
func numbers(b []byte, t Type) (a cf.Attribute) {
	for ; len(b) > 0; b = b[t.Size:] {
		v := cf.Value{DType: t.DType}
		var w [8]byte
		copy(w[8-t.Size:], b[:t.Size])
		bits := binary.BigEndian.Uint64(w[:])
		shift := 64 - 8*t.Size
		switch {
		case t.DType == shardify.F32:
			v.Float = float64(math.Float32frombits(uint32(bits)))
		case t.DType == shardify.F64:
			v.Float = math.Float64frombits(bits)
		case t.DType >= shardify.U8 && t.DType <= shardify.U64:
			v.Int, v.Float = int64(bits), float64(bits)
		default:
			v.Int = int64(bits) << shift >> shift
			v.Float = float64(v.Int)
		}
		a.Numbers = append(a.Numbers, v)
	}
	return a
}

func (p *parser) variable() (v Variable) {
	p.sum = []byte{}
	v.Name = p.name("a variable")
	rank := p.count()
	width := int64(4)
	if p.f.Version == 5 {
		width = 8
	}
	if p.err == nil && rank > (p.size-p.at)/width {
		p.fail("variable %s has %d dimensions", v.Name, rank)
	}
	for d := range rank {
		n := p.count()
		if p.err != nil {
			return v
		}
		if n >= int64(len(p.f.dims)) {
			p.fail("variable %s has dimension number %d of %d", v.Name, n, len(p.f.dims))
			return v
		}
		dim := p.f.dims[n]
		if dim.len == 0 && d > 0 {
			p.fail("variable %s: the dimension of the records, %s, is not its first", v.Name, dim.name)
			return v
		}
		v.Record = v.Record || dim.len == 0
		v.Dims, v.Shape = append(v.Dims, dim.name), append(v.Shape, dim.len)
	}
	v.Attributes = p.attributes()
	_, v.Type = p.typ()
	v.claimed = p.count()
	if p.f.Version == 1 {
		v.Begin = int64(p.u32())
	} else {
		v.Begin = int64(min(p.u64(), math.MaxInt64))
	}
	if len(v.Shape) > maxRank {
		v.Err = shardify.Unsupported("%d dimensions", len(v.Shape))
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %v ", p.f.Version, p.f.Records, v.Shape)
	h.Write(p.sum)
	v.Digest, p.sum = h.Sum64(), nil
	return v
}
