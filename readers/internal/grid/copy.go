package grid

import "encoding/binary"

var le = binary.LittleEndian

// Copy copies n pieces of size bytes, the first to the begin of dst from that of src, the next
// ones to and from so many bytes further.
func Copy(dst, src []byte, n, size, to, from int64) {
	var t, f int64
	switch size { // single values
	case 1:
		for range n {
			dst[t] = src[f]
			t, f = t+to, f+from
		}
	case 2:
		for range n {
			le.PutUint16(dst[t:], le.Uint16(src[f:]))
			t, f = t+to, f+from
		}
	case 4:
		for range n {
			le.PutUint32(dst[t:], le.Uint32(src[f:]))
			t, f = t+to, f+from
		}
	case 8:
		for range n {
			le.PutUint64(dst[t:], le.Uint64(src[f:]))
			t, f = t+to, f+from
		}
	default:
		for range n {
			copy(dst[t:t+size], src[f:f+size])
			t, f = t+to, f+from
		}
	}
}
