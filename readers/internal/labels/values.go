package labels

import (
	"bytes"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
)

// appendState encodes the values of all columns, whose fields and number of samples
// are stored elsewhere:
//
//	per column:  u8 1 if values are missing, then a bit for each sample
//	             uvarint lengths of the lists at each level, unless the first column with
//	             the counter has said them; those of texts are lengths in bytes
//	             zigzag varints, varints without a sign, or 8 bytes each; or the bytes of texts,
//	             of which those that are no list are uvarint length and bytes each
func appendState(b []byte, columns []shardify.Column, samples int) []byte {
	counted := map[string]bool{}
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
		if c.Media == "txt" && c.Levels == 1 {
			for k := range samples {
				text := c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]]
				b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
			}
			continue
		}
		for l, o := range c.Offsets {
			if l > 0 || c.Counter == "" || !counted[c.Counter] {
				for k := range o[1:] {
					b = binary.AppendUvarint(b, uint64(o[k+1]-o[k]))
				}
			}
			if l == 0 && c.Counter != "" {
				counted[c.Counter] = true
			}
		}
		b = appendValues(b, c)
	}
	return b
}

func appendValues(b []byte, c *shardify.Column) []byte {
	switch {
	case c.Media == "txt":
		b = append(b, c.Data...)
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
		b = append(b, c.Data...) // floats
	}
	return b
}

// readState is the inverse of appendState; it returns what follows.
func readState(b []byte, fields []shardify.Field, samples int) (columns []shardify.Column, rest []byte, err error) {
	r := varint.Reader{B: b}
	counted := map[string][]int64{}
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
		if c.Valid != nil && !f.Nullable {
			r.Bad = true
			break
		}
		if f.Media == "txt" && f.Levels == 1 {
			if samples > len(r.B) { // a length takes a byte
				r.Bad = true
				break
			}
			for range samples {
				c.Data = append(c.Data, r.Bytes(r.U())...)
				c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
			}
		} else {
			readLists(&r, &c, samples, counted)
		}
		columns = append(columns, c)
		if r.Bad {
			break
		}
	}
	if r.Bad {
		return nil, nil, shardify.Corrupt(-1, "the labels in the plan")
	}
	return columns, r.B, nil
}

// readLists reads the lengths of lists, and the values.
func readLists(r *varint.Reader, c *shardify.Column, samples int, counted map[string][]int64) {
	n := int64(samples)
	for l := range c.Offsets {
		o := counted[c.Counter]
		if l > 0 || c.Counter == "" || o == nil {
			if n > int64(len(r.B)) { // a length takes a byte
				r.Bad = true
				return
			}
			o = make([]int64, n+1)
			for k := range n {
				size := r.U()
				if r.Bad = r.Bad || size > maxTable || o[k] > maxTable; r.Bad {
					return
				}
				o[k+1] = o[k] + int64(size)
			}
		}
		if l == 0 && c.Counter != "" {
			counted[c.Counter] = o
		}
		c.Offsets[l], n = o, o[n]
	}
	readValues(r, c, n)
}

// readValues reads the values of n elements, each of which takes a byte or more.
func readValues(r *varint.Reader, c *shardify.Column, n int64) {
	each := int64(c.Elem())
	if each > 0 && n > int64(len(r.B))/each {
		r.Bad = true
		return
	}
	n *= each
	switch {
	case c.Media == "txt":
		c.Data = bytes.Clone(r.Bytes(uint64(n)))
	case c.Media != "" || c.Ragged:
		r.Bad = true
	case c.DType == shardify.Bool:
		c.Data = make([]byte, n)
		for k := range c.Data {
			v := r.U()
			c.Data[k] = byte(v / 2)
			r.Bad = r.Bad || v > 2 || v == 1
		}
	case c.DType == shardify.I64 || c.DType == shardify.U64:
		values := make([]uint64, n)
		for k := range values {
			if values[k] = r.U(); c.DType == shardify.I64 {
				values[k] = values[k]>>1 ^ -(values[k] & 1)
			}
		}
		c.Data = shardify.Bytes(values)
	case c.DType == shardify.F64, c.DType == shardify.F32:
		c.Data = bytes.Clone(r.Bytes(uint64(c.DType.Size()) * uint64(n)))
	default:
		r.Bad = true
	}
}
