package labels

import (
	"bytes"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/varint"
)

// Bytes is what sample k of a column takes in a batch.
func Bytes(c *shardify.Column, k int64) int64 {
	n := int64(8)
	if c.Levels > 0 {
		n += c.Offsets[0][k+1] - c.Offsets[0][k]
	}
	if c.Valid != nil {
		n++
	}
	return n
}

// Batch is samples [lo, hi) of a column.
func Batch(c *shardify.Column, lo, hi int64, mem *shardify.Arena) shardify.Column {
	out := shardify.Column{Field: c.Field}
	if c.Valid != nil {
		out.Valid = mem.Alloc(int(hi - lo))
		copy(out.Valid, c.Valid[lo:hi])
	}
	from, to := c.Range(int(lo), int(hi))
	out.Data = mem.Alloc(to - from)
	copy(out.Data, c.Data[from:to])
	if c.Levels > 0 {
		offsets := mem.Int64s(int(hi-lo) + 1)
		for i := range offsets {
			offsets[i] = c.Offsets[0][lo+int64(i)] - int64(from)
		}
		out.Offsets = [][]int64{offsets}
	}
	return out
}

// AppendState encodes the values of all columns, whose fields and number of samples
// are stored elsewhere:
//
//	per column:  u8 1 if values are missing, then a bit for each sample
//	             zigzag varints, varints without a sign, or 8 bytes each, or uvarint length
//	             and bytes
func AppendState(b []byte, columns []shardify.Column, samples int) []byte {
	for i := range columns {
		c := &columns[i]
		if c.Valid == nil {
			b = append(b, 0)
		} else {
			b = append(b, 1)
			bits := make([]byte, (samples+7)/8)
			for k, ok := range c.Valid {
				bits[k/8] |= (1 - ok) << (k % 8)
			}
			b = append(b, bits...)
		}
		switch {
		case c.Levels > 0:
			for k := range samples {
				text := c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]]
				b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
			}
		case c.DType == shardify.Bool:
			for _, v := range c.Data {
				b = binary.AppendVarint(b, int64(v))
			}
		case c.DType == shardify.I64:
			for _, v := range shardify.View[int64](c.Data) {
				b = binary.AppendVarint(b, v)
			}
		case c.DType == shardify.U64:
			for _, v := range shardify.View[uint64](c.Data) {
				b = binary.AppendUvarint(b, v)
			}
		default:
			for _, v := range shardify.View[uint64](c.Data) {
				b = binary.LittleEndian.AppendUint64(b, v)
			}
		}
	}
	return b
}

// ReadState is the inverse of AppendState; it returns what follows.
func ReadState(b []byte, fields []shardify.Field, samples int) (columns []shardify.Column, rest []byte, err error) {
	r := varint.Reader{B: b}
	for _, f := range fields {
		if err := f.Validate(); err != nil {
			return nil, nil, err
		}
		c := f.Empty()
		if missing := r.Bytes(1); len(missing) > 0 && missing[0] == 1 {
			bits := r.Bytes(uint64(samples+7) / 8)
			if r.Bad {
				break
			}
			c.Valid = make([]byte, samples)
			for k := range c.Valid {
				c.Valid[k] = 1 - bits[k/8]>>(k%8)&1
			}
		}
		if c.Valid != nil && !f.Nullable || samples > len(r.B) { // a value takes a byte
			r.Bad = true
			break
		}
		switch {
		case f.DType == shardify.U8 && f.Levels == 1 && f.Media == "txt":
			for range samples {
				c.Data = append(c.Data, r.Bytes(r.U())...)
				c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
			}
		case f.Levels > 0 || f.Shape != nil:
			r.Bad = true
		case f.DType == shardify.Bool:
			c.Data = make([]byte, samples)
			for k := range c.Data {
				v := r.U()
				c.Data[k] = byte(v / 2)
				r.Bad = r.Bad || v > 2 || v == 1
			}
		case f.DType == shardify.I64 || f.DType == shardify.U64:
			values := make([]uint64, samples)
			for k := range values {
				if values[k] = r.U(); f.DType == shardify.I64 {
					values[k] = values[k]>>1 ^ -(values[k] & 1)
				}
			}
			c.Data = shardify.Bytes(values)
		case f.DType == shardify.F64:
			c.Data = bytes.Clone(r.Bytes(8 * uint64(samples)))
		default:
			r.Bad = true
		}
		columns = append(columns, c)
	}
	if r.Bad {
		return nil, nil, shardify.Corrupt(-1, "the labels in the plan")
	}
	return columns, r.B, nil
}
