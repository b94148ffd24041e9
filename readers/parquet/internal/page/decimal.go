package page

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// bytesOf is value i in the file's own bytes.
func bytesOf(c *Column, v *Values, i int) []byte {
	if v.Cuts != nil {
		return v.Value(i)
	}
	return v.Fixed[i*c.Width:][:c.Width]
}

// decimalI64 makes numbers of big-endian bytes in two's complement.
func decimalI64(dst []byte, c *Column, raw *Values) error {
	for i := range raw.N {
		b := bytesOf(c, raw, i)
		x := int64(0)
		if len(b) > 0 {
			x = int64(int8(b[0])) >> 7 // the sign
		}
		for len(b) > 8 {
			if int64(int8(b[0])) != x { // neither 0 nor -1
				return shardify.Corrupt(-1, "a decimal of more than 64 bits in a column of at most 18 digits")
			}
			b = b[1:]
		}
		sign := x
		for _, v := range b {
			x = x<<8 | int64(v)
		}
		if len(b) == 8 && (x < 0) != (sign < 0) {
			return shardify.Corrupt(-1, "a decimal of more than 64 bits in a column of at most 18 digits")
		}
		binary.LittleEndian.PutUint64(dst[8*i:], uint64(x))
	}
	return nil
}

// maxDecimal bounds the bytes of one decimal: to print more takes its time.
const maxDecimal = 64

// maxText bounds the decimals of a page as text.
const maxText = 1 << 30

// decimalText prints decimals with all digits behind the point that the scale says.
func (s *scratch) decimalText(c *Column, raw Values, v *Values) error {
	s.outCuts, s.out = grow(s.outCuts, raw.N), s.out[:0]
	var x numeric.DecimalText
	for i := range raw.N {
		b := bytesOf(c, &raw, i)
		if len(b) > maxDecimal {
			return shardify.Unsupported("a decimal of %d bytes", len(b))
		}
		if c.Type == format.Int32 || c.Type == format.Int64 {
			return shardify.Unsupported("a decimal of %v as text", c.Type)
		}
		from := len(s.out)
		if from > maxText {
			return shardify.Unsupported("a page of decimals that take more than %s as text", shardify.FormatSize(maxText))
		}
		s.out = x.Append(s.out, b, c.Form.Scale)
		s.outCuts[i] = uint64(from)<<32 | uint64(len(s.out)-from)
	}
	*v = Values{N: raw.N, Data: s.out, Cuts: s.outCuts}
	return nil
}
