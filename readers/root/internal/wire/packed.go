package wire

import (
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Packed is the wire of a Double32_t or Float16_t whose title holds the
// annotation, "[lo,hi,nbits]" or "[lo,hi]".
func Packed(title string, double bool) Wire {
	lo, hi, bits, ranged := annotation(title)
	w := Wire{Size: 4, DType: shardify.F32, Kind: Bytes4}
	if double {
		w.DType, w.Kind = shardify.F64, wireF4F8
	}
	switch {
	case ranged && lo < hi:
		big := float64(0xffffffff)
		if bits < 32 {
			big = float64(uint64(1) << bits)
		}
		w.lo, w.factor = lo, big/(hi-lo)
		w.Kind = wireRange4
		if double {
			w.Kind = wireRange8
		}
	case ranged && bits < 15:
		w.Size, w.bits, w.Kind = 3, uint8(bits), wireTrunc4
		if double {
			w.Kind = wireTrunc8
		}
	case !double:
		w.Size, w.bits, w.Kind = 3, 12, wireTrunc4
	}
	return w
}

// annotation finds the bracket with a comma: a first bracket without one is a
// dimension.
func annotation(title string) (lo, hi float64, bits int, ok bool) {
	for rest := title; ; {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			return 0, 0, 0, false
		}
		j := strings.IndexByte(rest[i:], ']')
		if j < 0 {
			return 0, 0, 0, false
		}
		inner := rest[i+1 : i+j]
		rest = rest[i+j:]
		if !strings.Contains(inner, ",") {
			continue
		}
		parts := strings.Split(inner, ",")
		a, okA := bound(parts[0])
		b, okB := bound(parts[1])
		if !okA || !okB {
			return 0, 0, 0, false
		}
		bits = 32
		if len(parts) > 2 {
			if n, err := strconv.Atoi(strings.TrimSpace(parts[2])); err == nil && n >= 2 && n <= 32 {
				bits = n
			}
		}
		return a, b, bits, true
	}
}

// bound reads a limit: a number, or pi with a factor.
func bound(s string) (float64, bool) {
	s = strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	sign := 1.0
	if t, ok := strings.CutPrefix(s, "-"); ok {
		s, sign = t, -1
	}
	switch strings.ToLower(s) {
	case "pi":
		return sign * math.Pi, true
	case "2pi", "2*pi", "twopi":
		return sign * 2 * math.Pi, true
	case "pi/2":
		return sign * math.Pi / 2, true
	case "pi/4":
		return sign * math.Pi / 4, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return sign * v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
