package node

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

// fill reads fill_value: the bytes of one element, little-endian; for elements without a
// fixed size, the element.
func (t *Type) fill(v any) ([]byte, error) {
	bad := func() ([]byte, error) {
		return nil, shardify.Corrupt(-1, "fill_value %v is not a value of type %s", v, t.Name)
	}
	if t.Varies() {
		x, ok := v.(string)
		switch {
		case !ok: // null, or the 0 of those who have no texts
			return nil, nil
		case t.Kind != Blob:
			return []byte(x), nil
		}
		b, err := base64.StdEncoding.DecodeString(x)
		if err != nil {
			return bad()
		}
		return b, nil
	}
	out := make([]byte, t.Size)
	if v == nil && t.Kind != Time && t.Kind != Duration {
		return out, nil
	}
	switch t.Kind {
	case Number:
		if !putNumber(out, t.DType, v) {
			return bad()
		}
	case Complex:
		l, ok := v.([]any)
		if !ok { // a number without an imaginary part
			l = []any{v, json.Number("0")}
		}
		h := t.Size / 2
		if len(l) != 2 || !putNumber(out[:h], t.DType, l[0]) || !putNumber(out[h:], t.DType, l[1]) {
			return bad()
		}
	case Time, Duration:
		if s, ok := v.(string); v == nil || ok && s == "NaT" {
			v = json.Number(strconv.FormatInt(math.MinInt64, 10))
		}
		if !putNumber(out, shardify.I64, v) {
			return bad()
		}
	case FixedU, Fixed, Raw, Struct:
		if n, isNumber := v.(json.Number); isNumber && n == "0" {
			return out, nil
		}
		put := t.putBytes
		if t.Kind == FixedU {
			put = putChars
		}
		if !put(out, v) {
			return bad()
		}
	}
	return out, nil
}

// putChars writes a text as characters of four bytes; false if v is not a text, or is too long.
func putChars(out []byte, v any) bool {
	s, ok := v.(string)
	for _, r := range s {
		if len(out) == 0 {
			return false
		}
		binary.LittleEndian.PutUint32(out, uint32(r))
		out = out[4:]
	}
	return ok
}

// putBytes writes bytes that are in base64, or a list as format 3 has it; false if v is neither.
func (t *Type) putBytes(out []byte, v any) bool {
	if l, ok := v.([]any); ok && t.Kind == Raw && len(l) == t.Size {
		for i, x := range l {
			n, err := integer(x)
			if err != nil || n < 0 || n > 255 {
				return false
			}
			out[i] = byte(n)
		}
		return true
	}
	s, ok := v.(string)
	if !ok {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) > len(out) {
		return false
	}
	copy(out, b)
	t.swap(out, false)
	return true
}

// putNumber writes a number of JSON, or one of the texts that stand for some.
func putNumber(p []byte, d shardify.DType, v any) bool {
	switch x := v.(type) {
	case bool:
		if d != shardify.Bool {
			return false
		}
		if x {
			p[0] = 1
		}
		return true
	case string:
		return putText(p, d, x)
	case json.Number:
		return putJSON(p, d, x.String())
	}
	return false
}

func putText(p []byte, d shardify.DType, s string) bool {
	if !d.IsFloat() {
		return false
	}
	if hex, ok := strings.CutPrefix(s, "0x"); ok { // the bits, big-endian
		n, err := strconv.ParseUint(hex, 16, 8*len(p))
		if err != nil || len(hex) != 2*len(p) {
			return false
		}
		putBits(p, n)
		return true
	}
	switch s {
	case "NaN":
		// NumPy's NaN
		switch d {
		case shardify.F16:
			putBits(p, 0x7e00)
		case shardify.BF16:
			putBits(p, 0x7fc0)
		case shardify.F32:
			putBits(p, 0x7fc00000)
		default:
			putBits(p, 0x7ff8000000000000)
		}
	case "Infinity":
		putFloat(p, d, math.Inf(1))
	case "-Infinity":
		putFloat(p, d, math.Inf(-1))
	default:
		return false
	}
	return true
}

func putJSON(p []byte, d shardify.DType, s string) bool {
	switch {
	case d == shardify.Bool:
		if s != "0" && s != "1" {
			return false
		}
		p[0] = s[0] - '0'
	case d == shardify.U8 || d == shardify.U16 || d == shardify.U32 || d == shardify.U64:
		n, err := strconv.ParseUint(plainInt(s), 10, 8*len(p))
		if err != nil {
			return false
		}
		putBits(p, n)
	case d.IsInt():
		n, err := strconv.ParseInt(plainInt(s), 10, 8*len(p))
		if err != nil {
			return false
		}
		putBits(p, uint64(n))
	default:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return false
		}
		putFloat(p, d, f)
	}
	return true
}

// plainInt is a number without the ".0" that some writers give integers.
func plainInt(s string) string { return strings.TrimSuffix(s, ".0") }

func putFloat(p []byte, d shardify.DType, f float64) {
	switch d {
	case shardify.F16:
		putBits(p, uint64(half.ToF16(float32(f))))
	case shardify.BF16:
		putBits(p, uint64(half.ToBF16(float32(f))))
	case shardify.F32:
		putBits(p, uint64(math.Float32bits(float32(f))))
	default:
		putBits(p, math.Float64bits(f))
	}
}

func putBits(p []byte, n uint64) {
	switch len(p) {
	case 1:
		p[0] = byte(n)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(n))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(n))
	case 8:
		binary.LittleEndian.PutUint64(p, n)
	}
}
