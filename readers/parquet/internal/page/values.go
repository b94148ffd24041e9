package page

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// values decodes n values and brings them into the column's form.
func (s *scratch) values(c *Column, enc format.Encoding, src []byte, n int, v *Values) error {
	raw, err := s.decode(c, enc, src, n)
	if err != nil {
		return kind(err, "values")
	}
	return s.form(c, raw, v)
}

// decode decodes n values as the file has them.
func (s *scratch) decode(c *Column, enc format.Encoding, src []byte, n int) (Values, error) {
	if n == 0 {
		return Values{}, nil
	}
	switch {
	case enc == format.Plain:
		return s.plain(c, src, n)
	case enc == format.RLE && c.Type == format.Boolean:
		s.raw = grow(s.raw, n)
		return Values{N: n, Fixed: s.raw}, booleans(s.raw, src)
	case enc == format.DeltaBinaryPacked && (c.Type == format.Int32 || c.Type == format.Int64):
		return s.delta(c, src, n)
	case enc == format.DeltaLengthByteArray && c.Type == format.ByteArray:
		return s.deltaLength(src, n)
	case enc == format.DeltaByteArray && (c.Type == format.ByteArray || c.Type == format.FixedLenByteArray):
		return s.deltaBytes(c, src, n)
	case enc == format.ByteStreamSplit && c.Type != format.Boolean && c.Type != format.ByteArray && c.Type != format.Int96:
		return s.split(c, src, n)
	}
	return Values{}, shardify.Unsupported("%v values encoded as %v", c.Type, enc)
}

func (s *scratch) plain(c *Column, src []byte, n int) (Values, error) {
	switch c.Type {
	case format.Boolean:
		if len(src) < (n+7)/8 {
			return Values{}, shardify.Corrupt(-1, "%d bytes for %d booleans", len(src), n)
		}
		s.raw = grow(s.raw, n)
		unpackBits(s.raw, src)
		return Values{N: n, Fixed: s.raw}, nil
	case format.ByteArray:
		return s.plainBytes(src, n)
	}
	size := int64(n) * int64(c.Width)
	if size > int64(len(src)) {
		return Values{}, shardify.Corrupt(-1, "%d bytes for %d values of %d", len(src), n, c.Width)
	}
	return Values{N: n, Fixed: src[:size]}, nil
}

// plainBytes finds the byte arrays, each behind its u32 length.
func (s *scratch) plainBytes(src []byte, n int) (Values, error) {
	if n > len(src)/4 {
		return Values{}, shardify.Corrupt(-1, "%d bytes for %d byte arrays", len(src), n)
	}
	s.cuts = grow(s.cuts, n)
	at := 0
	for i := range s.cuts {
		if len(src)-at < 4 {
			return Values{}, shardify.Corrupt(-1, "the bytes end before value %d of %d", i, n)
		}
		size := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if int64(size) > int64(len(src)-at) {
			return Values{}, shardify.Corrupt(-1, "value %d of %d bytes, %d are left", i, size, len(src)-at)
		}
		s.cuts[i] = uint64(at)<<32 | uint64(size)
		at += int(size)
	}
	return Values{N: n, Data: src, Cuts: s.cuts}, nil
}

// split gathers values whose bytes are in separate streams, one for each.
func (s *scratch) split(c *Column, src []byte, n int) (Values, error) {
	w := c.Width
	if int64(len(src)) != int64(n)*int64(w) {
		return Values{}, shardify.Corrupt(-1, "%d bytes for %d values of %d", len(src), n, w)
	}
	s.raw = grow(s.raw, n*w)
	var e bytestreamsplit.Encoding
	var err error
	switch w {
	case 4:
		_, err = e.DecodeInt32(int32s(s.raw[:0:n*w]), src)
	case 8:
		_, err = e.DecodeInt64(int64s(s.raw[:0:n*w]), src)
	default:
		for k := range w {
			stream := src[k*n:][:n]
			for i, b := range stream {
				s.raw[i*w+k] = b
			}
		}
	}
	return Values{N: n, Fixed: s.raw}, err
}

// Form is what becomes of the values of a column.
type Form struct {
	Kind  formKind
	Width int // bytes of a value; 0 for bytes of any length
	Scale int // of DecimalText
}

// formKind is a way to change values.
type formKind uint8

// The forms. plainForm are the bytes as they are. Narrow8 to NarrowU16 take INT32 into
// fewer bits, which must be enough.
const (
	plainForm formKind = iota
	Narrow8
	Narrow16
	NarrowU8
	NarrowU16
	WidenI64    // INT32 to 64 bits
	Int96Nanos  // INT96 to nanoseconds since 1970
	DecimalI64  // big-endian bytes to the unscaled number
	DecimalText // to text
)

// form brings values into the column's form.
func (s *scratch) form(c *Column, raw Values, v *Values) error {
	f := c.Form
	if f.Kind == plainForm || raw.N == 0 {
		*v = raw
		return nil
	}
	if f.Kind == DecimalText {
		return s.decimalText(c, raw, v)
	}
	s.out = grow(s.out, raw.N*f.Width)
	*v = Values{N: raw.N, Fixed: s.out}
	switch f.Kind {
	case Narrow8:
		return narrow(s.out, raw.Fixed, 1, math.MinInt8, math.MaxInt8)
	case NarrowU8:
		return narrow(s.out, raw.Fixed, 1, 0, math.MaxUint8)
	case Narrow16:
		return narrow(s.out, raw.Fixed, 2, math.MinInt16, math.MaxInt16)
	case NarrowU16:
		return narrow(s.out, raw.Fixed, 2, 0, math.MaxUint16)
	case WidenI64:
		for i := range raw.N {
			x := int64(int32(binary.LittleEndian.Uint32(raw.Fixed[4*i:])))
			binary.LittleEndian.PutUint64(s.out[8*i:], uint64(x))
		}
		return nil
	case Int96Nanos:
		return nanos(s.out, raw.Fixed)
	}
	return decimalI64(s.out, c, &raw)
}

func narrow(dst, src []byte, width int, lo, hi int32) error {
	n := len(dst) / width
	for i := range n {
		x := int32(binary.LittleEndian.Uint32(src[4*i:]))
		if x < lo || x > hi {
			return shardify.Corrupt(-1, "value %d in a column of %d to %d", x, lo, hi)
		}
		if width == 1 {
			dst[i] = byte(x)
		} else {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(x))
		}
	}
	return nil
}

const (
	julian1970  = 2440588 // the Julian day of 1970-01-01
	nanosPerDay = 86400 * 1000000000
)

// nanos makes times of INT96: nanoseconds of the day, then the Julian day.
func nanos(dst, src []byte) error {
	for i := range len(dst) / 8 {
		day := int64(binary.LittleEndian.Uint32(src[12*i+8:])) - julian1970
		in := int64(binary.LittleEndian.Uint64(src[12*i:]))
		ns := day*nanosPerDay + in
		// Two days around the range in which nanoseconds fit into 64 bits are left out.
		if day < -106750 || day > 106750 || in < -nanosPerDay || in > nanosPerDay {
			return shardify.Unsupported("a time %d days and %d ns from 1970: it is not a 64-bit number of nanoseconds", day, in)
		}
		binary.LittleEndian.PutUint64(dst[8*i:], uint64(ns))
	}
	return nil
}
