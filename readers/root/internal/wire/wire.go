package wire

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// wireKind is how the bytes of an entry hold one value. Everything is big-endian there.
type wireKind uint8

const (
	wireBool   wireKind = iota + 1 // 1 byte, any non-zero is true
	wire1                          // 1 byte as it is
	wire2                          // 2 bytes
	Bytes4                         // 4 bytes
	wire8                          // 8 bytes
	wireF4F8                       // f4 on disk, f8 in memory: Double32_t without a range
	wireRange8                     // u32 a: a/factor + lo as f8: Double32_t in a range
	wireRange4                     // the same as f4: Float16_t in a range
	wireTrunc8                     // u8 exponent, u16 mantissa as f8: Double32_t with few bits
	wireTrunc4                     // the same as f4: Float16_t
)

// Wire is the form of one value on disk, and what it becomes.
type Wire struct {
	Kind  wireKind
	Size  int // bytes on disk
	DType shardify.DType
	// of Double32_t and Float16_t
	factor, lo float64
	bits       uint8
}

// Bytes is the size in memory.
func (w *Wire) Bytes() int { return w.DType.Size() }

// Plain makes the wire of a type that is stored unchanged.
func Plain(t shardify.DType) Wire {
	w := Wire{Size: t.Size(), DType: t}
	switch {
	case t == shardify.Bool:
		w.Kind = wireBool
	case w.Size == 1:
		w.Kind = wire1
	case w.Size == 2:
		w.Kind = wire2
	case w.Size == 4:
		w.Kind = Bytes4
	default:
		w.Kind = wire8
	}
	return w
}

// Decode writes the values of src, len(src)/w.size of them, to dst, which has
// room for exactly as many.
func (w *Wire) Decode(dst, src []byte) {
	switch w.Kind {
	case wireBool:
		decodeBool(dst, src)
	case wire1:
		copy(dst, src)
	case wire2:
		swap2(dst, src)
	case Bytes4:
		swap4(dst, src)
	case wire8:
		swap8(dst, src)
	case wireF4F8:
		out := shardify.View[float64](dst)
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.BigEndian.Uint32(src[4*i:])))
		}
	case wireRange8:
		out := shardify.View[float64](dst)
		for i := range out {
			out[i] = float64(binary.BigEndian.Uint32(src[4*i:]))/w.factor + w.lo
		}
	case wireRange4:
		out := shardify.View[float32](dst)
		for i := range out {
			out[i] = float32(float64(binary.BigEndian.Uint32(src[4*i:]))/w.factor + w.lo)
		}
	case wireTrunc8:
		out := shardify.View[float64](dst)
		for i := range out {
			out[i] = float64(truncated(src[3*i:3*i+3], w.bits))
		}
	case wireTrunc4:
		out := shardify.View[float32](dst)
		for i := range out {
			out[i] = truncated(src[3*i:3*i+3], w.bits)
		}
	}
}

// truncated is the float of an exponent byte and a mantissa of bits bits with
// the sign above them.
func truncated(b []byte, bits uint8) float32 {
	m := uint32(b[1])<<8 | uint32(b[2])
	v := math.Float32frombits(uint32(b[0])<<23 | (m&(1<<(bits+1)-1))<<(23-bits))
	if m&(1<<(bits+1)) != 0 {
		return -v
	}
	return v
}

// The loops below move eight bytes at a time. dst and src have the same length
// and may be the same memory.

func decodeBool(dst, src []byte) {
	i := 0
	for ; i+8 <= len(src); i += 8 {
		v := binary.LittleEndian.Uint64(src[i:])
		// A byte's low bit becomes the or of its bits.
		v |= v >> 4 & 0x0f0f0f0f0f0f0f0f
		v |= v >> 2 & 0x3f3f3f3f3f3f3f3f
		v |= v >> 1 & 0x7f7f7f7f7f7f7f7f
		binary.LittleEndian.PutUint64(dst[i:], v&0x0101010101010101)
	}
	for ; i < len(src); i++ {
		dst[i] = 0
		if src[i] != 0 {
			dst[i] = 1
		}
	}
}

func swap2(dst, src []byte) {
	i := 0
	for ; i+16 <= len(src); i += 16 {
		s, d := src[i:i+16], dst[i:i+16]
		a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		a = a>>8&0x00ff00ff00ff00ff | a&0x00ff00ff00ff00ff<<8
		b = b>>8&0x00ff00ff00ff00ff | b&0x00ff00ff00ff00ff<<8
		binary.LittleEndian.PutUint64(d, a)
		binary.LittleEndian.PutUint64(d[8:], b)
	}
	for ; i+2 <= len(src); i += 2 {
		binary.LittleEndian.PutUint16(dst[i:], binary.BigEndian.Uint16(src[i:]))
	}
}

func swap4(dst, src []byte) {
	i := 0
	for ; i+16 <= len(src); i += 16 {
		s, d := src[i:i+16], dst[i:i+16]
		a, b := binary.BigEndian.Uint64(s), binary.BigEndian.Uint64(s[8:])
		binary.LittleEndian.PutUint64(d, a>>32|a<<32)
		binary.LittleEndian.PutUint64(d[8:], b>>32|b<<32)
	}
	for ; i+4 <= len(src); i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], binary.BigEndian.Uint32(src[i:]))
	}
}

func swap8(dst, src []byte) {
	i := 0
	for ; i+16 <= len(src); i += 16 {
		s, d := src[i:i+16], dst[i:i+16]
		a, b := binary.BigEndian.Uint64(s), binary.BigEndian.Uint64(s[8:])
		binary.LittleEndian.PutUint64(d, a)
		binary.LittleEndian.PutUint64(d[8:], b)
	}
	for ; i+8 <= len(src); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.BigEndian.Uint64(src[i:]))
	}
}

// Strided decodes per values each of n records: record i begins at i*stride of src. It
// separates the leaves of a leaf-list.
func (w *Wire) Strided(dst, src []byte, stride, per, n int) {
	size, step := w.Size*per, w.Bytes()*per
	if stride == size {
		w.Decode(dst[:n*step], src[:n*size])
		return
	}
	if per == 1 {
		switch w.Kind {
		case Bytes4:
			for i := range n {
				binary.LittleEndian.PutUint32(dst[4*i:], binary.BigEndian.Uint32(src[i*stride:]))
			}
			return
		case wire8:
			for i := range n {
				binary.LittleEndian.PutUint64(dst[8*i:], binary.BigEndian.Uint64(src[i*stride:]))
			}
			return
		}
	}
	for i := range n {
		w.Decode(dst[i*step:(i+1)*step], src[i*stride:i*stride+size])
	}
}
