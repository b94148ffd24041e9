package wds

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// column turns one field of a batch into members.
type column struct {
	tar.Member
	field *shardify.Field
	elem  int
	npy   npy.Header
	// Of the current batch.
	data    []byte
	offsets []int64 // nil for a fixed field
	texts   []int64 // the second level
	valid   []byte
	shape   []byte // the companions' data
	ext     []byte
	rank    int
	frame   []byte // holds the values, if data does not
	place   int64  // of the sample's value in frame
	dims    []int64
	scratch []byte
}

func newColumn(schema []shardify.Field, m tar.Member) column {
	f := &schema[m.Field]
	c := column{Member: m, field: f, elem: f.ElemBytes()}
	if m.Kind == tar.MemberNPY {
		c.npy = npy.NewHeader(f)
	}
	if m.Shape >= 0 {
		c.rank = schema[m.Shape].Shape[0]
	}
	return c
}

// bind takes the column's data from a batch of the sink's schema.
func (c *column) bind(cols []shardify.Column) {
	col := &cols[c.Field]
	c.frame, c.data, c.valid, c.offsets, c.texts = nil, col.Data, col.Valid, nil, nil
	if col.Levels > 0 {
		c.offsets = col.Offsets[0]
	}
	if col.Levels > 1 {
		c.texts = col.Offsets[1]
	}
	if c.Shape >= 0 {
		c.shape = cols[c.Shape].Data
	}
	if c.Ext >= 0 {
		c.ext = cols[c.Ext].Data
	}
}

// member is the content of sample i's member: head, valid until the next call,
// then body.
func (c *column) member(i int) (head, body []byte, err error) {
	if c.valid != nil && c.valid[i] == 0 {
		if c.Kind == tar.MemberTexts {
			return append(c.scratch[:0], tar.NoTexts...), nil, nil
		}
		return nil, nil, nil
	}
	lo, hi := int64(i), int64(i)+1
	if c.offsets != nil {
		lo, hi = c.offsets[i], c.offsets[i+1]
	}
	switch c.Kind {
	case tar.MemberTexts:
		c.scratch, err = tar.AppendTexts(c.scratch[:0], c.data, c.texts[lo:hi+1])
		return c.scratch, nil, err
	case tar.MemberClass:
		c.scratch = c.class(c.data[i*c.elem:])
		return c.scratch, nil, nil
	}
	if c.frame != nil {
		return nil, c.frame[c.place : c.place+hi-lo], nil // opaque bytes, see bindFrame
	}
	body = c.data[lo*int64(c.elem) : hi*int64(c.elem)]
	switch {
	case c.Kind != tar.MemberNPY:
		return nil, body, nil
	case c.Shape >= 0:
		err = c.ragged(i, hi-lo)
	case c.offsets != nil:
		c.scratch = c.npy.Append(c.scratch[:0], hi-lo)
	default:
		return c.npy.Fixed(), body, nil
	}
	return c.scratch, body, err
}

// ragged is the header of an array whose shape is in the companion.
func (c *column) ragged(i int, n int64) error {
	c.dims = c.dims[:0]
	row := c.shape[i*c.rank*8 : (i+1)*c.rank*8]
	for ; len(row) > 0; row = row[8:] {
		c.dims = append(c.dims, int64(binary.LittleEndian.Uint64(row)))
	}
	for _, d := range c.field.Shape {
		c.dims = append(c.dims, int64(d))
	}
	size, ok := npy.Bytes(c.field.DType, c.dims)
	if !ok || size != n*int64(c.elem) || slices.ContainsFunc(c.dims, func(d int64) bool { return d < 0 }) {
		return shardify.Mismatch("shape %v for %d values", c.dims, n*int64(c.field.Elem()))
	}
	c.scratch = npy.AppendHeader(c.scratch[:0], c.field.DType, c.dims)
	return nil
}

// class is an integer in decimal.
func (c *column) class(b []byte) []byte {
	dst := c.scratch[:0]
	switch c.field.DType {
	case shardify.I8:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10)
	case shardify.I16:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(b))), 10)
	case shardify.I32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(b))), 10)
	case shardify.I64:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(b)), 10)
	case shardify.U8:
		return strconv.AppendUint(dst, uint64(b[0]), 10)
	case shardify.U16:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint16(b)), 10)
	case shardify.U32:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(b)), 10)
	}
	return strconv.AppendUint(dst, binary.LittleEndian.Uint64(b), 10)
}
