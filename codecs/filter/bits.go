package filter

import "encoding/binary"

// bitReader reads numbers of any width from bytes, most significant bit first. The
// caller has checked that the bits are there.
type bitReader struct {
	src []byte
	at  int // in bits
}

// read returns the next n <= 64 bits.
func (r *bitReader) read(n int) uint64 {
	if n > 56 { // eight bytes may not hold it, as it begins anywhere in the first
		high := r.read(n - 32)
		return high<<32 | r.read(32)
	}
	i, skip := r.at>>3, r.at&7
	r.at += n
	if i+8 <= len(r.src) {
		return binary.BigEndian.Uint64(r.src[i:]) << skip >> 1 >> (63 - n)
	}
	var v uint64
	for k := range 8 {
		v <<= 8
		if i+k < len(r.src) {
			v |= uint64(r.src[i+k])
		}
	}
	return v << skip >> 1 >> (63 - n)
}

// put stores the low size bytes of v, size being 1, 2, 4 or 8.
func put(dst []byte, v uint64, size int, big bool) {
	switch {
	case size == 1:
		dst[0] = byte(v)
	case size == 2 && big:
		binary.BigEndian.PutUint16(dst, uint16(v))
	case size == 2:
		binary.LittleEndian.PutUint16(dst, uint16(v))
	case size == 4 && big:
		binary.BigEndian.PutUint32(dst, uint32(v))
	case size == 4:
		binary.LittleEndian.PutUint32(dst, uint32(v))
	case big:
		binary.BigEndian.PutUint64(dst, v)
	default:
		binary.LittleEndian.PutUint64(dst, v)
	}
}
