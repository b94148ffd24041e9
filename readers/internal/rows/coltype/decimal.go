package coltype

import (
	"strconv"

	"github.com/shardify/shardify"
)

// digits64 is how many decimal digits fit into 64 bits.
const digits64 = 18

// Decimal is what decimals of so many digits become, scale of them behind the point: the number
// without its point as i64, with the scale beside it, since that is exact; as text where 64 bits
// are not enough.
func Decimal(f *shardify.Field, digits, scale int) error {
	if digits <= 0 || scale < 0 {
		return shardify.Unsupported("a decimal of %d digits, %d of them behind the point", digits, scale)
	}
	if digits > digits64 {
		f.DType, f.Media, f.Attrs = shardify.U8, "txt", map[string]string{"kind": "decimal"}
		return nil
	}
	f.DType = shardify.I64
	if scale > 0 {
		f.Attrs = map[string]string{"scale": strconv.Itoa(scale), "scale_factor": "1e-" + strconv.Itoa(scale)}
	}
	return nil
}
