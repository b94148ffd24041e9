package arrays

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/cf"
)

var le = binary.LittleEndian

// fillOf reads the form in which xarray writes _FillValue of floats: base64 of an f64.
func fillOf(s string) (float64, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != 8 {
		return 0, false
	}
	return math.Float64frombits(le.Uint64(b)), true
}

// valueOf is a stored number.
func valueOf(p []byte, t shardify.DType) cf.Value {
	v := cf.Value{DType: t}
	var w [8]byte
	copy(w[:], p)
	n := le.Uint64(w[:])
	shift := 64 - 8*t.Size()
	switch {
	case t == shardify.F32:
		v.Float = float64(math.Float32frombits(uint32(n)))
	case t == shardify.F64:
		v.Float = math.Float64frombits(n)
	case t >= shardify.I8 && t <= shardify.I64:
		v.Int = int64(n) << shift >> shift
		v.Float = float64(v.Int)
	default:
		v.Int, v.Float = int64(n), float64(n)
	}
	return v
}
