package ase

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
)

// AppendFloat writes a number so that it is read as the same float again: with a point or an exponent.
func AppendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	at := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if !bytes.ContainsAny(b[at:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// Array writes little-endian numbers as an array of JSON: of columns, or a vector where columns is 0. dtype is NumPy's.
func Array(b []byte, name string, dtype string, columns int, data []byte) ([]byte, error) {
	size := sizes[dtype]
	if size == 0 || len(data)%(size*max(columns, 1)) != 0 {
		return b, corrupt("%s: %d bytes are no rows of %d numbers of the type %s", name, len(data), max(columns, 1), dtype)
	}
	shape := []int{len(data) / size}
	if columns > 0 {
		shape = []int{shape[0] / columns, columns}
	}
	return appendArray(b, dtype, shape, data), nil
}

var sizes = map[string]int{"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float32": 4, "float64": 8, "complex128": 16, "complex64": 8}

func appendArray(b []byte, dtype string, shape []int, data []byte) []byte {
	size := sizes[dtype]
	if dtype[0] == 'c' { // two numbers each
		dtype, size, shape = map[int]string{16: "float64", 8: "float32"}[size], size/2, append(shape[:len(shape):len(shape)], 2)
	}
	text, _ := json.Marshal(shape) // numbers
	b = append(append(append(b, `{"__ndarray__": [`...), text...), `, "`...)
	b = append(append(b, dtype...), `", [`...)
	for i := 0; i < len(data); i += size {
		if i > 0 {
			b = append(b, ',')
		}
		var wide [8]byte
		copy(wide[:], data[i:i+size])
		v := binary.LittleEndian.Uint64(wide[:])
		switch dtype[0] {
		case 'b':
			b = strconv.AppendBool(b, v != 0)
		case 'u':
			b = strconv.AppendUint(b, v, 10)
		case 'i':
			b = strconv.AppendInt(b, int64(v<<(64-8*size))>>(64-8*size), 10)
		default:
			if size == 4 {
				b = AppendFloat(b, float64(math.Float32frombits(uint32(v))))
			} else {
				b = AppendFloat(b, math.Float64frombits(v))
			}
		}
	}
	return append(b, "]]}"...)
}

// Data writes the JSON of a blob of data: behind arrays a text that says where they are, and before all where the text is.
func Data(b, blob []byte) ([]byte, error) {
	if len(blob) < 8 {
		return b, corrupt("data of %d bytes", len(blob))
	}
	at := binary.LittleEndian.Uint64(blob)
	if at < 8 || at > uint64(len(blob)) || !valid(blob[at:]) {
		return b, corrupt("data whose text begins at byte %d of %d, or is not JSON", at, len(blob))
	}
	text := blob[at:]
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			k := textEnd(text, i)
			b = append(b, text[i:k]...)
			i = k
			continue
		case c == '{' && bytes.HasPrefix(text[blanks(text, i+1):], []byte(`"__ndarray__"`)):
			k := end(text, i)
			m, err := members(text[i:k])
			if err != nil {
				return b, err
			}
			parts := items(m[0].value)
			var shape []int
			var dtype string
			var offset int
			if len(m) != 1 || len(parts) != 3 || json.Unmarshal(parts[0], &shape) != nil || json.Unmarshal(parts[1], &dtype) != nil || json.Unmarshal(parts[2], &offset) != nil {
				return b, corrupt("an array of data: %.80q", text[i:k])
			}
			size := sizes[dtype]
			for _, n := range shape {
				if n < 0 || n > 0 && size > int(at)/n {
					return b, corrupt("an array of data of the shape %v in %d bytes", shape, at)
				}
				size *= n
			}
			if sizes[dtype] == 0 || offset < 8 || offset > int(at) || size > int(at)-offset {
				return b, corrupt("an array of data at byte %d, of the type %.20q and the shape %v", offset, dtype, shape)
			}
			b = appendArray(b, dtype, shape, blob[offset:offset+size])
			i = k
			continue
		}
		b = append(b, text[i])
		i++
	}
	return b, nil
}
