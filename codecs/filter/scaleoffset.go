package filter

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// scaleOffset is filter 6: numbers as differences from the least of the chunk, in
// as few bits as the greatest difference needs. Stored form, little-endian:
//
//	offset  width  meaning
//	0       4      bits of a difference
//	4       1      width of the next: 8
//	5       8      the least number
//	13      8      zero
//	21      ...    the differences, most significant bit first; or the numbers
//	               themselves, if a difference needs all bits
//
// Floats are stored as integers after multiplication by a power of ten. The
// difference of all ones stands for the fill value, if one is defined.
type scaleOffset struct {
	elems   int
	size    int
	big     bool
	float   bool
	factor  int // floats: the power of ten
	hasFill bool
	fill    uint64
	plain   bool // stored as they are, without a header
}

const (
	scaleOffsetHeader = 21

	scaleFloatD  = 0
	scaleFloatE  = 1
	scaleInteger = 2
)

// Client data: kind, factor, elements, class (0 integer, 1 float), size, signed,
// order (1 big-endian), 1 if a fill value is defined, its words.
func newScaleOffset(f *Spec, chunkBytes int64) (stage, error) {
	var c [10]uint32
	if len(f.Client) < 8 {
		return nil, shardify.Corrupt(-1, "scaleoffset: %d parameters", len(f.Client))
	}
	copy(c[:], f.Client)
	s := scaleOffset{
		elems: int(c[2]), size: int(c[4]), big: c[6] == 1, float: c[3] == 1,
		factor: int(int32(c[1])), hasFill: c[7] != 0, fill: uint64(c[9])<<32 | uint64(c[8]),
	}
	switch kind := c[0]; {
	case kind == scaleFloatE:
		return nil, shardify.Unsupported("filter %d (%s) with the E-scale method cannot be decoded", f.ID, filterName(f))
	case kind == scaleFloatD && s.float && (s.size == 4 || s.size == 8):
	case kind == scaleInteger && c[3] == 0 && (s.size == 1 || s.size == 2 || s.size == 4 || s.size == 8):
		s.plain = s.factor == 8*s.size
	default:
		return nil, shardify.Corrupt(-1, "scaleoffset: kind %d for class %d of %d bytes", kind, c[3], c[4])
	}
	if int64(c[2])*int64(c[4]) != chunkBytes {
		return nil, shardify.Corrupt(-1, "scaleoffset: %d elements of %d bytes in a chunk of %d", s.elems, s.size, chunkBytes)
	}
	if s.plain {
		return identity{}, nil
	}
	return s, nil
}

func (f scaleOffset) encoded(n int) (int, bool) { return n + scaleOffsetHeader + 1, false }

func (f scaleOffset) decode(dst, src []byte, _ bool, _ *Scratch) ([]byte, error) {
	if f.elems*f.size != len(dst) {
		return nil, shardify.Corrupt(-1, "scaleoffset: %d elements of %d bytes in a chunk of %d", f.elems, f.size, len(dst))
	}
	if len(src) < scaleOffsetHeader || src[4] > 8 {
		return nil, shardify.Corrupt(-1, "scaleoffset: %d bytes are not a header", len(src))
	}
	width := int(min(binary.LittleEndian.Uint32(src), 1000))
	var least [8]byte
	copy(least[:src[4]], src[5:])
	src = src[scaleOffsetHeader:]
	if need := (int64(f.elems)*int64(width) + 7) / 8; width > 8*f.size || need > int64(len(src)) {
		return nil, shardify.Corrupt(-1, "scaleoffset: %d elements of %d bits in %d bytes", f.elems, width, len(src))
	}
	if width == 8*f.size {
		f.whole(dst, src)
		return dst, nil
	}
	r := bitReader{src: src}
	if f.float {
		f.floats(dst, &r, width, binary.LittleEndian.Uint64(least[:]))
		return dst, nil
	}
	f.integers(dst, &r, width, binary.LittleEndian.Uint64(least[:]))
	return dst, nil
}

// whole copies numbers that were stored as they are, though little-endian.
func (f *scaleOffset) whole(dst, src []byte) {
	copy(dst, src)
	if f.big {
		for i := 0; i < len(dst); i += f.size {
			slices.Reverse(dst[i : i+f.size])
		}
	}
}

func (f *scaleOffset) integers(dst []byte, r *bitReader, width int, least uint64) {
	none := uint64(1)<<width - 1
	for i := 0; i < len(dst); i += f.size {
		v := r.read(width)
		if f.hasFill && v == none {
			v = f.fill
		} else {
			v += least
		}
		put(dst[i:i+f.size], v, f.size, f.big)
	}
}

// floats computes in the precision of the elements, as the writer's library does.
func (f *scaleOffset) floats(dst []byte, r *bitReader, width int, least uint64) {
	none := uint64(1)<<width - 1
	scale := math.Pow10(f.factor)
	scale32, least32 := float32(scale), math.Float32frombits(uint32(least))
	least64 := math.Float64frombits(least)
	for i := 0; i < len(dst); i += f.size {
		v := r.read(width)
		switch {
		case f.hasFill && v == none:
			v = f.fill
		case f.size == 4:
			q := float32(int32(v)) / scale32
			v = uint64(math.Float32bits(q + least32))
		default:
			q := float64(int64(v)) / scale
			v = math.Float64bits(q + least64)
		}
		put(dst[i:i+f.size], v, f.size, f.big)
	}
}
