package mds

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/shardify/shardify"
)

// Known reports whether the type and shape of a column's values are known without looking at one.
func (c *Column) Known() bool { return c.kind != kindArray }

// Leave leaves a column out.
func (c *Column) Leave(why error) { c.kind, c.Err = kindLeft, why }

// Measure checks a value, and returns how many elements or items it has, and the bytes of its data:
// 1 for fields of fixed size. dims receives the shape of a ragged field, if it is not nil.
func (c *Column) Measure(b []byte, dims []int64) (n, size int64, err error) {
	switch c.kind {
	case kindFixed:
		return 1, c.Fixed, c.bools(b)
	case kindInt, kindFloat:
		_, err := c.number(b)
		return 1, 8, err
	case kindArray, kindImage:
		a, err := c.matching(b)
		if err != nil {
			return 0, 0, err
		}
		copy(dims, a.dims)
		n, size = 1, int64(len(a.data))
		switch f := &c.Field; {
		case f.Ragged:
			n = size / int64(f.ElemBytes())
		case f.Levels > 0:
			n = a.dims[0]
		}
		return n, size, c.bools(a.data)
	case kindList, kindStrings:
		err = c.Items(b, func(p []byte) { n, size = n+1, size+int64(len(p)) })
		return n, size, err
	}
	return int64(len(b)), int64(len(b)), nil
}

// Fill puts a value that Measure has checked where its data belong.
func (c *Column) Fill(to, b []byte) (err error) {
	switch c.kind {
	case kindInt, kindFloat:
		v, err := c.number(b)
		if len(to) == 8 {
			binary.LittleEndian.PutUint64(to, v)
			return err
		}
	case kindArray, kindImage:
		a, err := c.any(b)
		if err != nil {
			return err
		}
		b = a.data
	}
	if len(to) != len(b) {
		return shardify.Corrupt(-1, "%d bytes, there were %d: the file changed while it was read", len(b), len(to))
	}
	copy(to, b)
	return nil
}

// number is a number as text, as its bits.
func (c *Column) number(b []byte) (uint64, error) {
	if c.kind == kindInt {
		v, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return 0, shardify.Unsupported("%.40q as i64", b)
		}
		return uint64(v), nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, shardify.Unsupported("%.40q as f64", b)
	}
	return math.Float64bits(v), nil
}

// matching is an array of the type and shape that the field has.
func (c *Column) matching(b []byte) (array, error) {
	a, err := c.any(b)
	f := &c.Field
	switch {
	case err != nil:
		return a, err
	case a.dtype != f.DType && !(f.DType == shardify.Bool && a.dtype == shardify.U8):
		return a, shardify.Unsupported("an array of %s, the first one is of %s", a.dtype, f.DType)
	}
	lead := len(a.dims) - len(f.Shape)
	switch {
	case f.Ragged && (lead != c.Rank || !sameDims(a.dims[lead:], f.Shape)):
		return a, shardify.Unsupported("an array of shape %v, the first one has %d dimensions", a.dims, c.Rank+len(f.Shape))
	case !f.Ragged && f.Levels > 0 && (lead != 1 || !sameDims(a.dims[1:], f.Shape)):
		return a, shardify.Unsupported("an array of shape %v, others are lists of %v", a.dims, f.Shape)
	case !f.Ragged && f.Levels == 0 && (lead != 0 || !sameDims(a.dims, f.Shape)):
		return a, shardify.Unsupported("an array of shape %v, others are of %v", a.dims, f.Shape)
	}
	a.dims = a.dims[:lead]
	return a, nil
}

// bools checks values of a boolean field.
func (c *Column) bools(b []byte) error {
	if c.Field.DType == shardify.Bool {
		for _, v := range b {
			if v > 1 {
				return shardify.Corrupt(-1, "bool with value %d", v)
			}
		}
	}
	return nil
}

// Items goes through the items of a list of texts or images.
func (c *Column) Items(b []byte, item func(p []byte)) error {
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
