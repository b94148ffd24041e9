package npy

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/shardify/shardify"
)

// Array is what the header of a NumPy file of any writer says.
type Array struct {
	DType shardify.DType
	Dims  []int64
	Head  int // bytes before the data
}

// MostHead is the part of a NumPy file in which its header must end: 32 dimensions
// of 20 digits fit. Others (structured types) stay opaque.
const MostHead = 1 << 10

var types = map[string]shardify.DType{
	"|b1": shardify.Bool, "|i1": shardify.I8, "|u1": shardify.U8,
	"<i2": shardify.I16, "<i4": shardify.I32, "<i8": shardify.I64, "<u2": shardify.U16, "<u4": shardify.U32, "<u8": shardify.U64,
	"<f2": shardify.F16, "<f4": shardify.F32, "<f8": shardify.F64,
}

// parseArray reads the header of a file of size bytes that begins with b. ok is
// false for all that is not plain little-endian numbers in C order: such files are
// kept as they are. dims are appended to a.Dims[:0].
func (a *Array) Parse(b []byte, size int64) (ok bool) {
	if len(b) < 12 || string(b[:6]) != "\x93NUMPY" {
		return false
	}
	text := 10
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if b[6] == 2 || b[6] == 3 {
		text, n = 12, int(min(binary.LittleEndian.Uint32(b[8:]), MostHead))
	}
	if b[6] < 1 || b[6] > 3 || text+n > len(b) {
		return false
	}
	a.Head = text + n
	rest, ok := bytes.CutPrefix(b[text:a.Head], []byte("{'descr': '"))
	if !ok || len(rest) < 3 {
		return false
	}
	a.DType, ok = types[string(rest[:3])]
	if !ok {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest[3:], []byte("', 'fortran_order': ")); !ok {
		return false
	}
	fortran := bytes.HasPrefix(rest, []byte("True"))
	for _, word := range []string{"True", "False"} {
		rest = bytes.TrimPrefix(rest, []byte(word))
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(", 'shape': (")); !ok {
		return false
	}
	if rest, ok = a.shape(rest); !ok || fortran && len(a.Dims) > 1 {
		return false
	}
	want, ok := Bytes(a.DType, a.Dims)
	return ok && string(bytes.TrimRight(rest, " \n")) == "), }" && want == size-int64(a.Head)
}

// shape reads "3, 4" up to the bracket.
func (a *Array) shape(b []byte) (rest []byte, ok bool) {
	a.Dims = a.Dims[:0]
	for len(b) > 0 && b[0] != ')' {
		i := 0
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		v, err := strconv.ParseInt(string(b[:i]), 10, 64)
		if err != nil || len(a.Dims) == 32 {
			return nil, false
		}
		a.Dims = append(a.Dims, v)
		b = bytes.TrimPrefix(b[i:], []byte(","))
		b = bytes.TrimPrefix(b, []byte(" "))
	}
	return b, true
}
