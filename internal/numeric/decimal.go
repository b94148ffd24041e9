package numeric

import (
	"math/big"
	"slices"
	"strings"
)

// DecimalText writes decimals as text: whole numbers in two's complement, of which some digits are
// behind the point. Its memory is used again.
type DecimalText struct {
	x, shift big.Int
	b        []byte
}

// Append appends the number of big-endian bytes, with all digits behind the point that scale says.
func (d *DecimalText) Append(dst, b []byte, scale int) []byte {
	d.x.SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		d.x.Sub(&d.x, d.shift.Lsh(big.NewInt(1), uint(8*len(b))))
	}
	text := d.x.String()
	if strings.HasPrefix(text, "-") {
		dst, text = append(dst, '-'), text[1:]
	}
	if scale <= 0 {
		return append(dst, text...)
	}
	if len(text) <= scale {
		text = strings.Repeat("0", scale+1-len(text)) + text
	}
	dst = append(dst, text[:len(text)-scale]...)
	dst = append(dst, '.')
	return append(dst, text[len(text)-scale:]...)
}

// AppendLittle is Append of little-endian bytes.
func (d *DecimalText) AppendLittle(dst, b []byte, scale int) []byte {
	d.b = append(d.b[:0], b...)
	slices.Reverse(d.b)
	return d.Append(dst, d.b, scale)
}
