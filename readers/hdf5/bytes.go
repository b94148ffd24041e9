package hdf5

import "encoding/binary"

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// fill repeats a pattern over dst.
func fill(dst, pattern []byte) {
	if len(pattern) == 0 {
		clear(dst)
		return
	}
	n := copy(dst, pattern)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// dimsBytes is the product of dims and size, or -1 if it does not fit.
func dimsBytes(dims []int64, size int64) int64 {
	n := size
	for _, d := range dims {
		if d < 0 || d > 0 && n > maxBytes/d {
			return -1
		}
		n *= d
	}
	return n
}

// maxBytes bounds what one data set may claim.
const maxBytes = 1 << 60
