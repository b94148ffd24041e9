package png

import "encoding/binary"

// Filters, as rows name them.
const (
	none = iota
	sub
	up
	average
	paeth
)

// unfilter writes the bytes of a row to dst, from those of the file in src and of the row above. A
// pixel has bpp bytes. It reports whether there is such a filter.
func unfilter(filter byte, dst, src, above []byte, bpp int) bool {
	src, above = src[:len(dst)], above[:len(dst)]
	done := 0
	switch filter {
	case none:
		copy(dst, src)
		return true
	case up:
		for ; len(dst)-done >= 8; done += 8 {
			binary.LittleEndian.PutUint64(dst[done:], addBytes(binary.LittleEndian.Uint64(src[done:]), binary.LittleEndian.Uint64(above[done:])))
		}
		for i := done; i < len(dst); i++ {
			dst[i] = src[i] + above[i]
		}
		return true
	case sub, average, paeth:
		done = unfilterFast(filter, dst, src, above, bpp)
	default:
		return false
	}
	for i := done; i < min(bpp, len(dst)); i++ {
		dst[i] = src[i]
		switch filter {
		case average:
			dst[i] += above[i] / 2
		case paeth:
			dst[i] += above[i]
		}
		done = i + 1
	}
	switch filter {
	case sub:
		for i := done; i < len(dst); i++ {
			dst[i] = src[i] + dst[i-bpp]
		}
	case average:
		for i := done; i < len(dst); i++ {
			dst[i] = src[i] + byte((int(dst[i-bpp])+int(above[i]))/2)
		}
	case paeth:
		for i := done; i < len(dst); i++ {
			dst[i] = src[i] + nearest(int(dst[i-bpp]), int(above[i]), int(above[i-bpp]))
		}
	}
	return true
}

// addBytes adds the eight bytes of a and b, each modulo 256.
func addBytes(a, b uint64) uint64 {
	const high = 0x8080808080808080
	return (a&^high + b&^high) ^ (a^b)&high
}

// nearest returns the one of a, b and c that is nearest to a+b-c.
func nearest(a, b, c int) byte {
	pa, pb := b-c, a-c
	pc := abs(pa + pb)
	pa, pb = abs(pa), abs(pb)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
