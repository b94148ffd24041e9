// Package attrs understands the values of attributes as stores have them: those of JSON, where numbers are
// json.Number, and attributes of CF.
package attrs

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/cf"
)

// MaxText bounds the bytes of a text that a field gets of an attribute.
const MaxText = 1 << 10

// CF is a value of JSON as CF's attributes are.
func CF(v any) (cf.Attribute, bool) {
	switch v := v.(type) {
	case cf.Attribute:
		return v, true
	case string:
		return cf.Attribute{Text: v}, true
	case json.Number:
		if n, ok := number(v); ok {
			return cf.Attribute{Numbers: []cf.Value{n}}, true
		}
	case []any:
		var a cf.Attribute
		for _, x := range v {
			n, ok := x.(json.Number)
			if !ok {
				return a, false
			}
			y, ok := number(n)
			if !ok {
				return a, false
			}
			a.Numbers = append(a.Numbers, y)
		}
		return a, len(a.Numbers) > 0
	case bool:
		return cf.Attribute{Text: strconv.FormatBool(v)}, true
	}
	return cf.Attribute{}, false
}

// number: with a point it is f64, else i64.
func number(v json.Number) (cf.Value, bool) {
	if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return cf.Value{DType: shardify.I64, Float: float64(n), Int: n}, true
	}
	if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
		return cf.Value{DType: shardify.U64, Float: float64(n), Int: int64(n)}, true
	}
	f, err := v.Float64()
	return cf.Value{DType: shardify.F64, Float: f}, err == nil
}

// Text writes a simple attribute, one text or some numbers; "" for any other.
func Text(v any) string {
	switch v := v.(type) {
	case cf.Attribute:
		return v.String()
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		var parts []string
		for _, x := range v {
			n, ok := x.(json.Number)
			if !ok || len(parts) > 1<<10 {
				return ""
			}
			parts = append(parts, n.String())
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// listed reports whether a text can be one of a list in an attribute.
func listed(s string) bool {
	return utf8.ValidString(s) && len(s) <= MaxText && !strings.ContainsAny(s, shardify.LabelSeparator+"\x00")
}

// Texts is a list of texts; nil of any other value.
func Texts(v any) (out []string) {
	l, _ := v.([]any)
	for _, x := range l {
		s, ok := x.(string)
		if !ok || !listed(s) || len(out) > 1<<14 {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// Fill reads the form in which xarray writes _FillValue of floats: base64 of an f64.
func Fill(s string) (float64, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != 8 {
		return 0, false
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
}

// Stored is a stored number.
func Stored(p []byte, t shardify.DType) cf.Value {
	v := cf.Value{DType: t}
	var w [8]byte
	copy(w[:], p)
	n := binary.LittleEndian.Uint64(w[:])
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
