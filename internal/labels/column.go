package labels

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// Bytes is what sample k takes in a batch.
func (c *Column) Bytes(k int64) int64 {
	n := int64(8)
	if c.texts != nil {
		n += int64(len(c.texts[k]))
	}
	if c.missing != nil {
		n++
	}
	return n
}

// Batch makes the column of samples [lo, hi).
func (c *Column) Batch(lo, hi int64, mem *shardify.Arena) shardify.Column {
	n := int(hi - lo)
	out := shardify.Column{Field: c.Field}
	if c.missing != nil {
		out.Valid = mem.Alloc(n)
		for i, m := range c.missing[lo:hi] {
			out.Valid[i] = 1
			if m {
				out.Valid[i] = 0
			}
		}
	}
	switch {
	case c.Field.DType == shardify.Bool:
		out.Data = mem.Alloc(n)
		for i, v := range c.ints[lo:hi] {
			out.Data[i] = byte(v)
		}
	case c.ints != nil:
		data := mem.Int64s(n)
		copy(data, c.ints[lo:hi])
		out.Data = shardify.Bytes(data)
	case c.floats != nil:
		out.Data = mem.Alloc(8 * n)
		copy(out.Data, shardify.Bytes(c.floats[lo:hi]))
	default:
		offsets, total := mem.Int64s(n+1), int64(0)
		offsets[0] = 0
		for i, s := range c.texts[lo:hi] {
			total += int64(len(s))
			offsets[i+1] = total
		}
		out.Data, out.Offsets = mem.Alloc(int(total)), [][]int64{offsets}
		at := 0
		for _, s := range c.texts[lo:hi] {
			at += copy(out.Data[at:], s)
		}
	}
	return out
}

// AppendState encodes the values of all columns, whose fields and number of samples
// stand elsewhere:
//
//	per column:  u8 1 if values are missing, then a bit for each sample
//	             zigzag varints, or 8 bytes each, or uvarint length and bytes
func AppendState(b []byte, columns []Column) []byte {
	for i := range columns {
		c := &columns[i]
		b = append(b, flag(c.missing != nil))
		if c.missing != nil {
			bits := make([]byte, (len(c.missing)+7)/8)
			for k, m := range c.missing {
				bits[k/8] |= flag(m) << (k % 8)
			}
			b = append(b, bits...)
		}
		for _, v := range c.ints {
			b = binary.AppendVarint(b, v)
		}
		for _, v := range c.floats {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		for _, s := range c.texts {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ReadState is the inverse of AppendState; it returns what follows.
func ReadState(b []byte, fields []shardify.Field, samples int) (columns []Column, rest []byte, err error) {
	r := stateReader{b: b}
	for _, f := range fields {
		c := Column{Field: f}
		if err := f.Validate(); err != nil {
			return nil, nil, err
		}
		if r.byte() == 1 {
			bits := r.take((samples + 7) / 8)
			if r.bad {
				break
			}
			c.missing = make([]bool, samples)
			for k := range c.missing {
				c.missing[k] = bits[k/8]>>(k%8)&1 != 0
			}
		}
		if (c.missing != nil) && !f.Nullable || samples > len(r.b) { // a value takes a byte
			r.bad = true
			break
		}
		switch {
		case f.DType == shardify.U8 && f.Levels == 1 && f.Media == "txt":
			c.texts = make([]string, samples)
			for k := range c.texts {
				c.texts[k] = string(r.take(int(min(r.uvarint(), math.MaxInt32))))
			}
		case f.Levels == 0 && f.Shape == nil && (f.DType == shardify.I64 || f.DType == shardify.Bool):
			c.ints = make([]int64, samples)
			for k := range c.ints {
				v := r.uvarint()
				c.ints[k] = int64(v>>1) ^ -int64(v&1)
				r.bad = r.bad || f.DType == shardify.Bool && v > 2
			}
		case f.Levels == 0 && f.Shape == nil && f.DType == shardify.F64:
			c.floats = make([]float64, samples)
			for k := range c.floats {
				if v := r.take(8); v != nil {
					c.floats[k] = math.Float64frombits(binary.LittleEndian.Uint64(v))
				}
			}
		default:
			r.bad = true
		}
		columns = append(columns, c)
	}
	if r.bad {
		return nil, nil, shardify.Corrupt(-1, "the labels in the plan")
	}
	return columns, r.b, nil
}

type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *stateReader) byte() byte {
	v := r.take(1)
	if v == nil {
		return 0
	}
	return v[0]
}

func (r *stateReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}
