package mds

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// kind is how a value is decoded.
type kind uint8

const (
	kindLeft    kind = iota // not at all
	kindFixed               // bytes of a fixed size
	kindBytes               // bytes of any size
	kindInt                 // a whole number as text
	kindFloat               // a number as text
	kindArray               // an array, with its type or shape in front if they vary
	kindList                // sizes, then items
	kindStrings             // a JSON list of texts
	kindImage               // width, height, mode, pixels
)

// column is one column of a set.
type column struct {
	text   bool   // that is to be read as bytes
	name   string // in the set
	kind   kind
	field  shardify.Field
	fixed  int64 // size of a value; -1 if it varies
	typed  bool  // of kindArray: the type is in front
	shaped bool  // of kindArray: the shape is in front
	spare  int   // of kindList: bytes in front of the number of items
	rank   int   // of kindArray and kindImage, of a ragged field
	err    error // of kindLeft: why
}

const (
	keyColumn = "__key__"
	keyField  = "key"
)

var numbers = map[string]shardify.DType{
	"int": shardify.I64, "uint8": shardify.U8, "uint16": shardify.U16, "uint32": shardify.U32, "uint64": shardify.U64,
	"int8": shardify.I8, "int16": shardify.I16, "int32": shardify.I32, "int64": shardify.I64,
	"float16": shardify.F16, "float32": shardify.F32, "float64": shardify.F64,
}

// arrayTypes are the codes of types in front of arrays.
var arrayTypes = map[byte]shardify.DType{
	8: shardify.U8, 9: shardify.I8, 16: shardify.U16, 17: shardify.I16, 18: shardify.F16, 32: shardify.U32,
	33: shardify.I32, 34: shardify.F32, 64: shardify.U64, 65: shardify.I64, 66: shardify.F64,
}

// texts are the encodings of opaque bytes, and their media.
var texts = map[string]string{"bytes": "bin", "str": "txt", "str_decimal": "txt", "json": "json", "jpeg": "jpg", "png": "png"}

// columnsOf understands the encodings. What is not known of arrays before one was seen is left open.
func columnsOf(c *config) ([]column, error) {
	list := make([]column, len(c.Names))
	seen := make(map[string]bool, len(c.Names))
	for i, name := range c.Names {
		x := &list[i]
		x.name = name
		if x.field.Name = format.PlainName(name); name == keyColumn {
			x.field.Name = keyField
		}
		if x.fixed = -1; c.Sizes[i] != nil {
			x.fixed = *c.Sizes[i]
		}
		want := x.understand(c.Encodings[i])
		if x.kind == kindLeft {
			want = x.fixed
		}
		if want != x.fixed || x.fixed > math.MaxUint32 || x.fixed < -1 {
			return nil, shardify.Corrupt(-1, "column %s of encoding %s: values of %d bytes", name, c.Encodings[i], x.fixed)
		}
		if err := shardify.ValidName(x.field.Name); err != nil {
			x.kind, x.err = kindLeft, err
		}
		if seen[x.field.Name] {
			return nil, shardify.Unsupported("two columns that become the field %s", x.field.Name)
		}
		seen[x.field.Name] = true
	}
	return list, nil
}

// understand takes an encoding, and returns the size of its values, -1 if it varies.
func (c *column) understand(encoding string) (size int64) {
	f := &c.field
	if d, ok := numbers[encoding]; ok {
		c.kind, f.DType = kindFixed, d
		return int64(d.Size())
	}
	if m, ok := texts[encoding]; ok {
		c.kind, f.DType, f.Levels, f.Media = kindBytes, shardify.U8, 1, m
		return -1
	}
	switch name, rest, _ := strings.Cut(encoding, ":"); {
	case encoding == "str_int":
		c.kind, f.DType = kindInt, shardify.I64
	case encoding == "str_float":
		c.kind, f.DType = kindFloat, shardify.F64
	case encoding == "jpeg_array" || encoding == "jpegarray":
		c.kind, f.DType, f.Levels, f.Media = kindList, shardify.U8, 2, "jpg"
	case encoding == "list[jpeg]" || encoding == "list[png]":
		c.kind, c.spare, f.DType, f.Levels, f.Media = kindList, 4, shardify.U8, 2, "jpg"
		if encoding == "list[png]" {
			f.Media = "png"
		}
	case encoding == "pil":
		c.kind, f.DType, f.Levels, f.Ragged, c.rank = kindImage, shardify.U8, 1, true, 3
	case name == "ndarray":
		return c.array(rest)
	case encoding == "pkl":
		c.err = shardify.Unsupported("a pickle is a program, and reading it would run it")
	case encoding == "list[pil]":
		c.err = shardify.Unsupported("the encoding %q is not read", encoding)
	default:
		c.err = shardify.Corrupt(-1, "the encoding %.60q, which the format does not have", encoding)
	}
	return -1
}

// array understands what follows "ndarray:".
func (c *column) array(text string) (size int64) {
	c.kind = kindArray
	dtype, shape, shaped := strings.Cut(text, ":")
	d, ok := numbers[dtype]
	if c.typed = dtype == ""; !c.typed && (!ok || dtype == "int") {
		c.kind, c.err = kindLeft, shardify.Corrupt(-1, "arrays of type %.60q, which the format does not have", dtype)
		return -1
	}
	c.field.DType = d
	if c.shaped = !shaped; c.shaped {
		return -1
	}
	size = 1
	for _, s := range strings.Split(shape, ",") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || size > math.MaxUint32/n {
			c.kind, c.err = kindLeft, shardify.Corrupt(-1, "arrays of shape %.60q", shape)
			return -1
		}
		size *= n
		c.field.Shape = append(c.field.Shape, int(n))
	}
	if c.typed {
		return -1
	}
	c.kind = kindFixed
	return size * int64(d.Size())
}

// settle takes what the first array says of the others.
func (c *column) settle(first []byte) error {
	a, err := c.parse(first)
	if err != nil {
		return err
	}
	c.field.DType = a.dtype
	switch {
	case !c.shaped:
	case len(a.dims) == 1:
		c.field.Levels = 1
	default:
		c.field.Levels, c.field.Ragged, c.rank = 1, true, len(a.dims)
	}
	return nil
}

// restore takes the field that a manifest of ours has for a column.
func (c *column) restore(f *shardify.Field, rank int) error {
	g := &c.field
	switch {
	case f.Levels == 2 && f.Media == "txt" && g.Media == "json":
		c.kind = kindStrings
	case f.DType == shardify.Bool && g.DType == shardify.U8 || f.DType == g.DType && g.DType != shardify.Invalid:
		if f.Media == "image" { // MDS keeps no NAME.ext
			clone := *f
			clone.Media = "bin"
			f = &clone
		}
		if c.kind != kindArray && (f.Levels != g.Levels || !slices.Equal(f.Shape, g.Shape)) || c.kind == kindArray && f.Levels != 1 {
			return shardify.Corrupt(-1, "column %s is %v of %s, the manifest says otherwise", f.Name, g.Shape, g.DType)
		}
	default:
		return shardify.Corrupt(-1, "column %s is of %s, the manifest says %s", f.Name, g.DType, f.DType)
	}
	*g, c.rank = *f, rank
	return nil
}

// array is a value of kindArray.
type array struct {
	dtype shardify.DType
	dims  []int64
	data  []byte
}

// parse decodes the header of an array.
func (c *column) parse(b []byte) (a array, err error) {
	a.dtype = c.field.DType
	if c.typed {
		if len(b) < 1 {
			return a, shardify.Corrupt(-1, "an array without its type")
		}
		d, ok := arrayTypes[b[0]]
		if !ok {
			return a, shardify.Corrupt(-1, "an array of type %d", b[0])
		}
		a.dtype, b = d, b[1:]
	}
	if !c.shaped {
		for _, d := range c.field.Shape {
			a.dims = append(a.dims, int64(d))
		}
	} else {
		if len(b) < 1 {
			return a, shardify.Corrupt(-1, "an array without its shape")
		}
		rank, width := int(b[0]>>2), 1<<(b[0]&3)
		if b = b[1:]; len(b) < rank*width || rank == 0 {
			return a, shardify.Corrupt(-1, "%d dimensions in %d bytes", rank, len(b))
		}
		for k := range rank {
			var w [8]byte
			copy(w[:], b[k*width:(k+1)*width])
			a.dims = append(a.dims, int64(binary.LittleEndian.Uint64(w[:])))
		}
		b = b[rank*width:]
	}
	n := int64(1)
	for _, d := range a.dims {
		if d < 0 || d > 0 && n > math.MaxUint32/d {
			return a, shardify.Corrupt(-1, "an array of shape %v in %d bytes", a.dims, len(b))
		}
		n *= d
	}
	// Booleans of ours are uint8.
	if int64(len(b)) != n*int64(a.dtype.Size()) {
		return a, shardify.Corrupt(-1, "an array of shape %v of %s in %d bytes", a.dims, a.dtype, len(b))
	}
	a.data = b
	return a, nil
}

// value is the range of a value in the bytes of a span.
type value struct{ lo, hi int64 }

// decode makes a column of values. shape is the companion of a ragged field. The error's Sample is
// counted from the first value.
func (c *column) decode(buf []byte, vals []value, to, shape *shardify.Column, mem *shardify.Arena) error {
	n := len(vals)
	var err error
	each := func(f func(i int, b []byte) error) error {
		for i, v := range vals {
			if err := f(i, buf[v.lo:v.hi]); err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Sample = int64(i) })
			}
		}
		return nil
	}
	if to.Levels > 0 {
		to.Offsets = append(to.Offsets[:0], mem.Int64s(n+1))
		to.Offsets[0][0] = 0
	}
	total := int64(0)
	switch c.kind {
	case kindFixed:
		to.Data = mem.Alloc(n * int(c.fixed))
		err = each(func(i int, b []byte) error {
			copy(to.Data[i*int(c.fixed):], b)
			return bools(to, b)
		})
	case kindBytes:
		for i, v := range vals {
			total += v.hi - v.lo
			to.Offsets[0][i+1] = total
		}
		to.Data = mem.Alloc(int(total))
		err = each(func(i int, b []byte) error { copy(to.Data[to.Offsets[0][i]:], b); return nil })
	case kindInt, kindFloat:
		to.Data = mem.Alloc(8 * n)
		err = each(func(i int, b []byte) error {
			var bits uint64
			if c.kind == kindInt {
				v, err := strconv.ParseInt(string(b), 10, 64)
				if err != nil {
					return shardify.Unsupported("%.40q as i64", b)
				}
				bits = uint64(v)
			} else {
				v, err := strconv.ParseFloat(string(b), 64)
				if err != nil {
					return shardify.Unsupported("%.40q as f64", b)
				}
				bits = math.Float64bits(v)
			}
			binary.LittleEndian.PutUint64(to.Data[8*i:], bits)
			return nil
		})
	case kindArray, kindImage:
		err = c.arrays(each, n, to, shape, mem)
	case kindList, kindStrings:
		err = c.lists(each, to, mem)
	}
	return err
}

// bools checks values of a boolean field.
func bools(c *shardify.Column, b []byte) error {
	if c.DType == shardify.Bool {
		for _, v := range b {
			if v > 1 {
				return shardify.Corrupt(-1, "bool with value %d", v)
			}
		}
	}
	return nil
}

type eachValue func(f func(i int, b []byte) error) error

// arrays decodes kindArray and kindImage, in two passes: shapes, then values.
func (c *column) arrays(each eachValue, n int, to, shape *shardify.Column, mem *shardify.Arena) error {
	var dims []int64
	if to.Ragged {
		dims = mem.Int64s(n * c.rank)
	}
	inner, total := int64(to.Elem()), int64(0)
	bytes := 0
	err := each(func(i int, b []byte) error {
		a, err := c.any(b)
		switch {
		case err != nil:
			return err
		case a.dtype != c.field.DType && !(c.field.DType == shardify.Bool && a.dtype == shardify.U8):
			return shardify.Unsupported("an array of %s, the first one is of %s", a.dtype, c.field.DType)
		}
		items := int64(len(a.data)) / int64(a.dtype.Size())
		switch {
		case to.Ragged:
			lead := len(a.dims) - len(to.Shape)
			if lead != c.rank || !sameDims(a.dims[lead:], to.Shape) {
				return shardify.Unsupported("an array of shape %v, the first one has %d dimensions", a.dims, c.rank+len(to.Shape))
			}
			copy(dims[i*c.rank:], a.dims[:lead])
			items /= max(inner, 1)
		case to.Levels > 0:
			if len(a.dims) != 1+len(to.Shape) || !sameDims(a.dims[1:], to.Shape) {
				return shardify.Unsupported("an array of shape %v, others are lists of %v", a.dims, to.Shape)
			}
			items = a.dims[0]
		}
		if total += items; to.Levels > 0 {
			to.Offsets[0][i+1] = total
		}
		bytes += len(a.data)
		return bools(to, a.data)
	})
	if err != nil {
		return err
	}
	to.Data = mem.Alloc(bytes)
	if to.Ragged {
		shape.Data = shardify.Bytes(dims)
	}
	at := 0
	return each(func(_ int, b []byte) error {
		a, err := c.any(b)
		at += copy(to.Data[at:], a.data)
		return err
	})
}

// any is an array, or an image as one.
func (c *column) any(b []byte) (array, error) {
	if c.kind == kindArray {
		return c.parse(b)
	}
	a := array{dtype: shardify.U8}
	if len(b) < 12 {
		return a, shardify.Corrupt(-1, "an image of %d bytes", len(b))
	}
	w, h, m := int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:])), int64(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; m > int64(len(b)) {
		return a, shardify.Corrupt(-1, "an image whose mode has %d bytes", m)
	}
	channels, ok := map[string]int64{"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4, "YCbCr": 3, "HSV": 3}[string(b[:m])]
	if !ok {
		return a, shardify.Unsupported("an image of mode %.20q", b[:m])
	}
	if a.data = b[m:]; w*h > int64(len(a.data)) || w*h*channels != int64(len(a.data)) {
		return a, shardify.Corrupt(-1, "an image of %d x %d x %d in %d bytes", w, h, channels, len(a.data))
	}
	a.dims = []int64{h, w, channels}
	return a, nil
}

func sameDims(a []int64, b []int) bool {
	return slices.EqualFunc(a, b, func(x int64, y int) bool { return x == int64(y) })
}

// lists decodes lists of items of any size.
func (c *column) lists(each eachValue, to *shardify.Column, mem *shardify.Arena) error {
	items, bytes := 0, 0
	walk := func(b []byte, item func(p []byte)) error {
		if c.kind == kindStrings {
			var list []string
			if err := json.Unmarshal(b, &list); err != nil {
				return shardify.Corrupt(-1, "no list of texts: %v", err)
			}
			for _, s := range list {
				item([]byte(s))
			}
			return nil
		}
		if len(b) < c.spare+4 {
			return shardify.Corrupt(-1, "a list of %d bytes", len(b))
		}
		b = b[c.spare:]
		n := int64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b))/4 {
			return shardify.Corrupt(-1, "a list of %d items in %d bytes", n, len(b))
		}
		sizes, rest := b[:4*n], b[4*n:]
		for ; len(sizes) > 0; sizes = sizes[4:] {
			k := int64(binary.LittleEndian.Uint32(sizes))
			if k > int64(len(rest)) {
				return shardify.Corrupt(-1, "an item of %d bytes in %d", k, len(rest))
			}
			item(rest[:k])
			rest = rest[k:]
		}
		if len(rest) > 0 {
			return shardify.Corrupt(-1, "%d bytes behind a list", len(rest))
		}
		return nil
	}
	err := each(func(i int, b []byte) error {
		err := walk(b, func(p []byte) { items, bytes = items+1, bytes+len(p) })
		to.Offsets[0][i+1] = int64(items)
		return err
	})
	if err != nil {
		return err
	}
	ends := mem.Int64s(items + 1)
	to.Offsets = append(to.Offsets, ends)
	to.Data = mem.Alloc(bytes)
	k, at := 0, 0
	ends[0] = 0
	return each(func(_ int, b []byte) error {
		return walk(b, func(p []byte) {
			at += copy(to.Data[at:], p)
			k++
			ends[k] = int64(at)
		})
	})
}
