// Package msgpack makes JSON of values in MessagePack.
//
//	text, err := msgpack.JSON(nil, value)
//
//	in the value                      JSON
//	nil, booleans, integers, floats   the same; NaN, Infinity
//	text                              a text, which must be UTF-8
//	arrays, maps with names           the same
//	an array of NumPy (msgpack-numpy) an array of arrays
//
// Bytes and other extensions have no form in JSON: they are an error. All lengths are checked against the bytes there are.
package msgpack

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds arrays and maps in each other.
const maxDepth = 64

// ErrDamaged is the error of bytes that are no value.
var ErrDamaged = errors.New("not MessagePack, or damaged")

type decoder struct {
	b   []byte
	i   int
	out []byte
}

// IsMap reports whether bytes begin as a map with names does.
func IsMap(b []byte) bool {
	d := decoder{b: b}
	kind, n, ok := d.head()
	if !ok || kind != 'm' {
		return false
	}
	if n == 0 {
		return len(b) == d.i
	}
	kind, n, ok = d.head()
	return ok && kind == 's' && n <= len(b)-d.i && utf8.Valid(b[d.i:d.i+n])
}

// JSON appends the JSON text of a value to out.
func JSON(out, b []byte) ([]byte, error) {
	d := decoder{b: b, out: out}
	if err := d.value(0); err != nil {
		return out, err
	}
	if d.i != len(b) {
		return out, fmt.Errorf("%w: %d bytes behind the value", ErrDamaged, len(b)-d.i)
	}
	return d.out, nil
}

// take is the next n bytes; nil if there are fewer.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b)-d.i {
		return nil
	}
	d.i += n
	return d.b[d.i-n : d.i : d.i]
}

// uint reads a number of n bytes.
func (d *decoder) uint(n int) (uint64, bool) {
	b := d.take(n)
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v, b != nil
}

// head reads what a value is: m, a, s and b are maps, arrays, texts and bytes of n parts; others have the byte that they
// begin with as n, which is not read beyond.
func (d *decoder) head() (kind byte, n int, ok bool) {
	if d.i >= len(d.b) {
		return 0, 0, false
	}
	c := d.b[d.i]
	d.i++
	long := func(kind byte, bytes int) (byte, int, bool) {
		v, ok := d.uint(bytes)
		return kind, int(v), ok && v <= uint64(len(d.b)-d.i)
	}
	switch {
	case c&0xf0 == 0x80:
		return 'm', int(c & 15), true
	case c&0xf0 == 0x90:
		return 'a', int(c & 15), true
	case c&0xe0 == 0xa0:
		return 's', int(c & 31), true
	case c >= 0xc4 && c <= 0xc6:
		return long('b', 1<<(c-0xc4))
	case c >= 0xd9 && c <= 0xdb:
		return long('s', 1<<(c-0xd9))
	case c == 0xdc || c == 0xdd:
		return long('a', 2<<(c-0xdc))
	case c == 0xde || c == 0xdf:
		return long('m', 2<<(c-0xde))
	}
	return 'x', int(c), true
}

func (d *decoder) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: a depth of more than %d", ErrDamaged, maxDepth)
	}
	at := d.i
	kind, n, ok := d.head()
	if !ok {
		return ErrDamaged
	}
	switch kind {
	case 'm':
		if array, err := d.numpy(n); array || err != nil {
			return err
		}
		d.out = append(d.out, '{')
		for i := range n {
			if i > 0 {
				d.out = append(d.out, ',')
			}
			if kind, size, ok := d.head(); !ok || kind != 's' {
				return fmt.Errorf("a map whose keys are not texts")
			} else if err := d.text(size); err != nil {
				return err
			}
			d.out = append(d.out, ':')
			if err := d.value(depth + 1); err != nil {
				return err
			}
		}
		d.out = append(d.out, '}')
	case 'a':
		d.out = append(d.out, '[')
		for i := range n {
			if i > 0 {
				d.out = append(d.out, ',')
			}
			if err := d.value(depth + 1); err != nil {
				return err
			}
		}
		d.out = append(d.out, ']')
	case 's':
		return d.text(n)
	case 'b':
		return fmt.Errorf("bytes (at byte %d of the value), which only values that are nothing else may be", at)
	default:
		return d.scalar(byte(n), at)
	}
	return nil
}

func (d *decoder) scalar(c byte, at int) error {
	width := func(first byte) int { return 1 << (c - first) }
	ok := true
	var v uint64
	switch {
	case c < 0x80:
		d.out = strconv.AppendInt(d.out, int64(c), 10)
	case c >= 0xe0:
		d.out = strconv.AppendInt(d.out, int64(int8(c)), 10)
	case c == 0xc0:
		d.out = append(d.out, "null"...)
	case c == 0xc2:
		d.out = append(d.out, "false"...)
	case c == 0xc3:
		d.out = append(d.out, "true"...)
	case c == 0xca:
		v, ok = d.uint(4)
		d.float(float64(math.Float32frombits(uint32(v))))
	case c == 0xcb:
		v, ok = d.uint(8)
		d.float(math.Float64frombits(v))
	case c >= 0xcc && c <= 0xcf:
		v, ok = d.uint(width(0xcc))
		d.out = strconv.AppendUint(d.out, v, 10)
	case c >= 0xd0 && c <= 0xd3:
		n := width(0xd0)
		v, ok = d.uint(n)
		d.out = strconv.AppendInt(d.out, int64(v<<(64-8*n))>>(64-8*n), 10)
	default:
		return fmt.Errorf("an extension (at byte %d of the value), whose meaning is that of a program", at)
	}
	if !ok {
		return ErrDamaged
	}
	return nil
}

// float writes a number that is no integer in JSON.
func (d *decoder) float(v float64) {
	switch {
	case math.IsNaN(v):
		d.out = append(d.out, "NaN"...)
	case math.IsInf(v, 1):
		d.out = append(d.out, "Infinity"...)
	case math.IsInf(v, -1):
		d.out = append(d.out, "-Infinity"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		d.out = append(strconv.AppendFloat(d.out, v, 'f', -1, 64), ".0"...)
	default:
		d.out = strconv.AppendFloat(d.out, v, 'e', -1, 64)
	}
}

func (d *decoder) text(n int) error {
	t := d.take(n)
	if t == nil && n > 0 {
		return ErrDamaged
	}
	if !utf8.Valid(t) {
		return fmt.Errorf("a text that is not UTF-8: %.40q", t)
	}
	b, err := json.Marshal(string(t))
	d.out = append(d.out, b...)
	return err
}

// numpy reads a map of n names as an array of NumPy, if it is what msgpack-numpy writes: nd, type, kind, shape and data,
// as bytes or as texts. Else it goes back.
func (d *decoder) numpy(n int) (bool, error) {
	at := d.i
	if n < 4 || n > 5 {
		return false, nil
	}
	var dtype, data []byte
	var shape []int
	nd := false
	for range n {
		kind, size, ok := d.head()
		name := d.take(size)
		if !ok || kind != 's' && kind != 'b' {
			break
		}
		kind, size, ok = d.head()
		switch {
		case !ok:
		case string(name) == "nd" && kind == 'x' && byte(size) == 0xc3:
			nd = true
		case string(name) == "type" && kind == 's':
			dtype = d.take(size)
		case string(name) == "data" && kind == 'b':
			data = d.take(size)
		case string(name) == "kind" && (kind == 's' || kind == 'b'):
			d.take(size)
		case string(name) == "shape" && kind == 'a' && size <= 32:
			for range size {
				m, ok := d.length()
				if !ok {
					break
				}
				shape = append(shape, m)
			}
		}
	}
	if !nd || dtype == nil || data == nil {
		d.i = at
		return false, nil
	}
	return true, d.array(string(dtype), shape, data)
}

// length reads a number of elements.
func (d *decoder) length() (int, bool) {
	kind, c, ok := d.head()
	switch {
	case !ok || kind != 'x':
		return 0, false
	case c < 0x80:
		return c, true
	case c >= 0xcc && c <= 0xcf:
		v, ok := d.uint(1 << (c - 0xcc))
		return int(v), ok && v < 1<<31
	}
	return 0, false
}

// array writes an array of little-endian numbers.
func (d *decoder) array(dtype string, shape []int, data []byte) error {
	if len(dtype) != 3 || dtype[0] == '>' {
		return fmt.Errorf("an array of the type %.20q", dtype)
	}
	size, n := int(dtype[2]-'0'), 1
	for _, m := range shape {
		if m > 0 && n > len(data)/m {
			return fmt.Errorf("%w: an array of %d bytes and the shape %v", ErrDamaged, len(data), shape)
		}
		n *= m
	}
	known := map[string]bool{"b1": true, "i1": true, "i2": true, "i4": true, "i8": true, "u1": true, "u2": true, "u4": true, "u8": true, "f4": true, "f8": true}
	if !known[dtype[1:]] || n*size != len(data) {
		return fmt.Errorf("an array of %d bytes, of the type %.20q and the shape %v", len(data), dtype, shape)
	}
	if n == 0 { // whatever the other lengths are
		d.out = append(d.out, "[]"...)
		return nil
	}
	d.level(dtype[1], size, shape, data)
	return nil
}

func (d *decoder) level(kind byte, size int, shape []int, data []byte) {
	if len(shape) > 0 {
		d.out = append(d.out, '[')
		for i := range shape[0] {
			if i > 0 {
				d.out = append(d.out, ',')
			}
			part := len(data) / shape[0]
			d.level(kind, size, shape[1:], data[i*part:(i+1)*part])
		}
		d.out = append(d.out, ']')
		return
	}
	var wide [8]byte
	copy(wide[:], data[:size])
	v := binary.LittleEndian.Uint64(wide[:])
	switch {
	case kind == 'b':
		d.out = strconv.AppendBool(d.out, v != 0)
	case kind == 'u':
		d.out = strconv.AppendUint(d.out, v, 10)
	case kind == 'i':
		d.out = strconv.AppendInt(d.out, int64(v<<(64-8*size))>>(64-8*size), 10)
	case size == 4:
		d.float(float64(math.Float32frombits(uint32(v))))
	default:
		d.float(math.Float64frombits(v))
	}
}
