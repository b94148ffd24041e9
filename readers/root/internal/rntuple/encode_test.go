package rntuple

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
)

// encode is the bytes of a page: slow and plain.
func encode(c *written, v []uint64) []byte {
	t := columnTypes[c.Type]
	switch t.enc {
	case bit, packed, quantum:
		out := make([]byte, (len(v)*c.Bits+7)/8)
		for i, x := range v {
			for k := range c.Bits {
				if x>>k&1 != 0 {
					at := i*c.Bits + k
					out[at/8] |= 1 << (at % 8)
				}
			}
		}
		return out
	}
	if c.Type == colSwitch {
		var out []byte
		for i := 0; i < len(v); i += 2 {
			out = binary.LittleEndian.AppendUint64(out, v[i])
			out = binary.LittleEndian.AppendUint32(out, uint32(v[i+1]))
		}
		return out
	}
	w := t.width
	out := make([]byte, len(v)*w)
	last := uint64(0)
	for i, x := range v {
		switch t.enc {
		case zigzag:
			s := int64(x) << (64 - 8*w) >> (64 - 8*w)
			x = uint64(s<<1 ^ s>>63)
		case delta:
			x, last = x-last, x
		}
		for k := range w {
			at := i*w + k
			if t.enc != stored {
				at = k*len(v) + i
			}
			out[at] = byte(x >> (8 * k))
		}
	}
	return out
}

// inColumn is the element that a column stores for a value of the field.
func inColumn(f *model, c *written, v uint64) uint64 {
	if f.kind != number || !f.dtype.IsFloat() {
		return v
	}
	x := math.Float64frombits(v)
	if f.dtype == shardify.F32 {
		x = float64(math.Float32frombits(uint32(v)))
	}
	switch c.Type {
	case colReal16:
		return uint64(toHalf(float32(x)))
	case colReal32, colSplitReal32:
		return uint64(math.Float32bits(float32(x)))
	case colReal32Trunc:
		return v >> (32 - c.Bits)
	case colReal32Quant:
		unit := (c.Max - c.Min) / float64(uint64(1)<<c.Bits-1)
		return uint64(math.Round((x - c.Min) / unit))
	}
	return v
}

// toHalf is exact for the numbers that the tests use.
func toHalf(f float32) uint16 {
	if f == 0 {
		return 0
	}
	b := math.Float32bits(f)
	return uint16(b>>31)<<15 | uint16(int(b>>23&255)-112)<<10 | uint16(b>>13&0x3ff)
}

func zlibBlock(p []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(p)
	w.Close()
	c, u := b.Len(), len(p)
	return append([]byte{'Z', 'L', 8, byte(c), byte(c >> 8), byte(c >> 16), byte(u), byte(u >> 8), byte(u >> 16)}, b.Bytes()...)
}

// flush ends a cluster.
func (m *maker) flush(entries int64) {
	m.clusters = append(m.clusters, entries)
	for _, f := range m.fields {
		f.count, f.picked = 0, 0
		use := 0
		if f.kind == number && len(f.columns) > 1 {
			use = m.rng.IntN(len(f.columns))
		}
		for i, c := range f.columns {
			suppressed := f.kind == number && i != use
			m.chunk(f, c, suppressed)
		}
	}
}

func (m *maker) chunk(f *model, c *written, suppressed bool) {
	per := 1
	if c.Type == colSwitch {
		per = 2
	}
	v := c.elements
	ch := writtenChunk{offset: c.offset, suppressed: suppressed}
	c.offset += int64(len(v) / per)
	for !suppressed && len(v) > 0 {
		k := min(per*(1+m.rng.IntN(40)), len(v))
		el := make([]uint64, k)
		for i := range el {
			el[i] = inColumn(f, c, v[i])
		}
		p := encode(c, el)
		if m.rng.IntN(100) < m.compress {
			if z := zlibBlock(p); len(z) < len(p) {
				p = z
			}
		}
		w := writtenPage{n: k / per, at: int64(m.file.Len()), size: len(p), summed: m.plain || m.rng.IntN(4) > 0}
		m.file.Write(p)
		if w.summed {
			m.file.Write(le.AppendUint64(nil, xxh3.Hash(p)))
		}
		ch.pages = append(ch.pages, w)
		v = v[k:]
	}
	c.elements = c.elements[:0]
	c.clusters = append(c.clusters, ch)
}
