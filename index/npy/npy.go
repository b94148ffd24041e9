// Package npy writes and reads the headers of the arrays in wds shards, which are NumPy files.
package npy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
)

// A member of kind tar.MemberNPY is a NumPy file, version 1.0, byte for byte what
// numpy.save writes: magic, u16 length, a Python dict as text, spaces up to a
// multiple of 64 and a line feed, then the data in C order. NumPy leaves room
// for the first dimension to grow to 21 digits, so a jagged field's header has
// one length whatever the count.
const (
	magic = "\x93NUMPY\x01\x00"
	align = 64
	// growth is the digits that the first dimension may take.
	growth = 21
	// MaxRank is the most dimensions that every NumPy opens.
	MaxRank = 32
)

var descr = [...]string{
	shardify.Bool: "|b1", shardify.I8: "|i1", shardify.U8: "|u1",
	shardify.I16: "<i2", shardify.I32: "<i4", shardify.I64: "<i8",
	shardify.U16: "<u2", shardify.U32: "<u4", shardify.U64: "<u8",
	shardify.F16: "<f2", shardify.F32: "<f4", shardify.F64: "<f8",
}

// AppendHeader appends the header of an array. The dtype must be one that
// tar.Members allows and there are at most 32 dimensions.
func AppendHeader(dst []byte, d shardify.DType, dims []int64) []byte {
	start := len(dst)
	dst = append(dst, magic+"\x00\x00"...)
	dst = append(append(append(dst, "{'descr': '"...), descr[d]...), "', 'fortran_order': False, 'shape': ("...)
	grow := 0
	for i, n := range dims {
		if i > 0 {
			dst = append(dst, ' ')
		}
		at := len(dst)
		dst = strconv.AppendInt(dst, n, 10)
		if i == 0 {
			grow = growth - (len(dst) - at)
		}
		if i < len(dims)-1 || i == 0 {
			dst = append(dst, ',')
		}
	}
	dst = append(dst, "), }"...)
	size := len(dst) - start + grow + 1
	size += -size & (align - 1)
	for len(dst)-start < size-1 {
		dst = append(dst, ' ')
	}
	dst = append(dst, '\n')
	binary.LittleEndian.PutUint16(dst[start+len(magic):], uint16(size-len(magic)-2))
	return dst
}

// Header makes the headers of one fixed or jagged field's arrays.
type Header struct {
	text []byte // for no elements
	tail int    // the text after the shape's first number ends here
}

// NewHeader prepares a field's headers.
func NewHeader(f *shardify.Field) Header {
	text := AppendHeader(nil, f.DType, dimsOf(nil, f, 0))
	return Header{text, bytes.IndexByte(text, '}') + 1}
}

// Len is the length of each header.
func (h *Header) Len() int { return len(h.text) }

// Fixed is the header of a fixed field, the same for all samples.
func (h *Header) Fixed() []byte { return h.text }

// Append appends the header of a jagged field's array of n elements.
func (h *Header) Append(dst []byte, n int64) []byte {
	at := len(dst) + int(shapeAt)
	dst = append(dst, h.text...)
	num := strconv.AppendInt(dst[:at], n, 10) // the spaces leave room for 21 digits
	copy(dst[len(num):], h.text[shapeAt+1:h.tail])
	return dst
}

// dimsOf appends the dimensions of a sample's array of n elements.
func dimsOf(dst []int64, f *shardify.Field, n int64) []int64 {
	if f.Levels > 0 {
		dst = append(dst, n)
	}
	for _, d := range f.Shape {
		dst = append(dst, int64(d))
	}
	return dst
}

// Parse reads a NumPy file that must have the very header that we write: of
// this dtype, and of rank dimensions, which are appended to dims. The data are
// what follows the header, of exactly the length that the dimensions say.
// Offsets in errors count from the beginning of b. total is the length of the
// file, of which b may be the beginning.
func Parse(dims []int64, b []byte, total int64, d shardify.DType, rank int) (_ []int64, header int, err error) {
	if len(b) < len(magic)+2 || string(b[:len(magic)]) != magic {
		return dims, 0, shardify.Corrupt(0, "not a NumPy file of version 1.0: it begins with %q", b[:min(len(b), len(magic))])
	}
	header = len(magic) + 2 + int(binary.LittleEndian.Uint16(b[len(magic):]))
	if header > len(b) {
		return dims, 0, shardify.Corrupt(int64(len(magic)), "NumPy header of %d bytes, %d are there", header, len(b))
	}
	n := len(dims)
	if dims, err = parseShape(dims, b[:header]); err != nil {
		return dims[:n], 0, err
	}
	if len(dims)-n != rank {
		return dims[:n], 0, shardify.Corrupt(shapeAt, "array of %d dimensions, want %d", len(dims)-n, rank)
	}
	var text [512]byte // more is allocated, for arrays of very many dimensions
	if !bytes.Equal(AppendHeader(text[:0], d, dims[n:]), b[:header]) {
		return dims[:n], 0, shardify.Corrupt(0, "NumPy header is %q, want %q", b[:header], AppendHeader(nil, d, dims[n:]))
	}
	size, ok := Bytes(d, dims[n:])
	if !ok || size != total-int64(header) {
		return dims[:n], 0, shardify.Corrupt(int64(header), "array of %v %s has %d bytes", dims[n:], d, total-int64(header))
	}
	return dims, header, nil
}

// shapeAt is where the list of dimensions begins: all before it has a fixed length.
const shapeAt = int64(len(magic) + 2 + len("{'descr': '<f4', 'fortran_order': False, 'shape': ("))

// parseShape reads "7, 3), }": loosely, the caller compares the whole header.
func parseShape(dims []int64, b []byte) ([]int64, error) {
	n := len(dims)
	for i := int(shapeAt); ; {
		start := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		if i >= len(b) {
			return dims, shardify.Corrupt(int64(i), "NumPy header ends in its shape")
		}
		if start == i {
			if b[i] != ')' {
				return dims, shardify.Corrupt(int64(i), "NumPy header: %q in its shape", b[i])
			}
			return dims, nil
		}
		v, err := strconv.ParseInt(string(b[start:i]), 10, 64)
		if err != nil || len(dims)-n == MaxRank {
			return dims, shardify.Corrupt(int64(start), "NumPy header: shape %q", b[shapeAt:i])
		}
		dims = append(dims, v)
		for i < len(b) && (b[i] == ',' || b[i] == ' ') {
			i++
		}
	}
}

// Bytes is the size of an array's data; false when it exceeds 62 bits.
func Bytes(d shardify.DType, dims []int64) (int64, bool) {
	size := int64(d.Size())
	if slices.Contains(dims, 0) {
		return 0, true
	}
	for _, n := range dims {
		if n < 0 || size > (1<<62)/n {
			return 0, false
		}
		size *= n
	}
	return size, true
}
