package mds

import (
	"encoding/binary"
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

// Column is one column of a set.
type Column struct {
	Name   string // in the set
	Field  shardify.Field
	Fixed  int64 // size of a value; -1 if it varies
	Rank   int   // of the dimensions of a ragged field
	Err    error // why it is not read; else nil
	kind   kind
	typed  bool // of kindArray: the type is in front
	shaped bool // of kindArray: the shape is in front
	spare  int  // of kindList: bytes in front of the number of items
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
func columnsOf(c *config) ([]Column, error) {
	list := make([]Column, len(c.Names))
	seen := make(map[string]bool, len(c.Names))
	for i, name := range c.Names {
		x := &list[i]
		x.Name = name
		if x.Field.Name = format.PlainName(name); name == keyColumn {
			x.Field.Name = keyField
		}
		if x.Fixed = -1; c.Sizes[i] != nil {
			x.Fixed = *c.Sizes[i]
		}
		want := x.understand(c.Encodings[i])
		if x.kind == kindLeft {
			want = x.Fixed
		}
		if want != x.Fixed || x.Fixed > math.MaxUint32 || x.Fixed < -1 {
			return nil, shardify.Corrupt(-1, "column %s of encoding %s: values of %d bytes", name, c.Encodings[i], x.Fixed)
		}
		if err := shardify.ValidName(x.Field.Name); err != nil {
			x.kind, x.Err = kindLeft, err
		}
		if seen[x.Field.Name] {
			return nil, shardify.Unsupported("two columns that become the field %s", x.Field.Name)
		}
		seen[x.Field.Name] = true
	}
	return list, nil
}

// understand takes an encoding, and returns the size of its values, -1 if it varies.
func (c *Column) understand(encoding string) (size int64) {
	f := &c.Field
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
		c.kind, f.DType, f.Levels, f.Ragged, c.Rank = kindImage, shardify.U8, 1, true, 3
	case name == "ndarray":
		return c.array(rest)
	case encoding == "pkl":
		c.Err = shardify.Unsupported("a pickle is a program, and reading it would run it")
	case encoding == "list[pil]":
		c.Err = shardify.Unsupported("the encoding %q is not read", encoding)
	default:
		c.Err = shardify.Corrupt(-1, "the encoding %.60q, which the format does not have", encoding)
	}
	return -1
}

// array understands what follows "ndarray:".
func (c *Column) array(text string) (size int64) {
	c.kind = kindArray
	dtype, shape, shaped := strings.Cut(text, ":")
	d, ok := numbers[dtype]
	if c.typed = dtype == ""; !c.typed && (!ok || dtype == "int") {
		c.kind, c.Err = kindLeft, shardify.Corrupt(-1, "arrays of type %.60q, which the format does not have", dtype)
		return -1
	}
	c.Field.DType = d
	if c.shaped = !shaped; c.shaped {
		return -1
	}
	size = 1
	for _, s := range strings.Split(shape, ",") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || size > math.MaxUint32/n {
			c.kind, c.Err = kindLeft, shardify.Corrupt(-1, "arrays of shape %.60q", shape)
			return -1
		}
		size *= n
		c.Field.Shape = append(c.Field.Shape, int(n))
	}
	if c.typed {
		return -1
	}
	c.kind = kindFixed
	return size * int64(d.Size())
}

// Settle takes what the first array says of the others.
func (c *Column) Settle(first []byte) error {
	a, err := c.parse(first)
	if err != nil {
		return err
	}
	c.Field.DType = a.dtype
	switch {
	case !c.shaped:
	case len(a.dims) == 1:
		c.Field.Levels = 1
	default:
		c.Field.Levels, c.Field.Ragged, c.Rank = 1, true, len(a.dims)
	}
	return nil
}

// Restore takes the fields that a manifest of ours has for the columns. What it has no field for are the
// names of samples.
func (x *Index) Restore(schema []shardify.Field) error {
	for i := range x.Columns {
		c := &x.Columns[i]
		k := shardify.FieldIndex(schema, c.Field.Name)
		if k < 0 {
			continue
		}
		rank := 0
		if j := shardify.FieldIndex(schema, c.Field.Name+shardify.ShapeSuffix); schema[k].Ragged && j >= 0 && len(schema[j].Shape) == 1 {
			rank = schema[j].Shape[0]
		}
		if err := c.restore(&schema[k], rank); err != nil {
			return err
		}
	}
	return nil
}

// restore takes the field that a manifest of ours has for a column.
func (c *Column) restore(f *shardify.Field, rank int) error {
	g := &c.Field
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
	*g, c.Rank = *f, rank
	return nil
}

// array is a value of kindArray.
type array struct {
	dtype shardify.DType
	dims  []int64
	data  []byte
}

// parse decodes the header of an array.
func (c *Column) parse(b []byte) (a array, err error) {
	a.dtype = c.Field.DType
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
		for _, d := range c.Field.Shape {
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

// any is an array, or an image as one.
func (c *Column) any(b []byte) (array, error) {
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
