package hdu

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"compress/gzip"

	"github.com/shardify/shardify"
)

func gunzip(t testing.TB, b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// compacted is JSON in the form of mustJSON.
func compacted(b json.RawMessage) string {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	return string(mustJSON(v))
}

// numbers are the values of a column as JSON has them.
func numbers(c *Column, b []byte) []any {
	out := []any{}
	w := c.Field.DType.Size()
	for i := 0; i+w <= len(b); i += w {
		s := b[i:]
		switch c.Field.DType {
		case shardify.Bool:
			out = append(out, s[0] != 0)
		case shardify.U8:
			out = append(out, float64(s[0]))
		case shardify.I8:
			out = append(out, float64(int8(s[0])))
		case shardify.I16:
			out = append(out, float64(int16(binary.LittleEndian.Uint16(s))))
		case shardify.U16:
			out = append(out, float64(binary.LittleEndian.Uint16(s)))
		case shardify.I32:
			out = append(out, float64(int32(binary.LittleEndian.Uint32(s))))
		case shardify.U32:
			out = append(out, float64(binary.LittleEndian.Uint32(s)))
		case shardify.I64:
			out = append(out, float64(int64(binary.LittleEndian.Uint64(s))))
		case shardify.F32:
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(s))))
		case shardify.F64:
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(s)))
		}
	}
	return out
}

func lists(c *Column, v *Values) []any {
	out := []any{}
	per := int64(c.Field.ElemBytes())
	ends := v.Offsets[0]
	for i := 1; i < len(ends) && len(out) < 40; i++ {
		if c.Field.Media == "txt" {
			out = append(out, string(v.Data[ends[i-1]:ends[i]]))
			continue
		}
		out = append(out, numbers(c, v.Data[ends[i-1]*per:ends[i]*per]))
	}
	return out
}

// trimmed is a list of texts without spaces at their ends.
func trimmed(v any) string {
	list, _ := v.([]any)
	for i := range list {
		if s, ok := list[i].(string); ok {
			list[i] = strings.TrimRight(s, " ")
		}
	}
	return string(mustJSON(list))
}
