package codecs

import "github.com/shardify/shardify"

// lzma2 decodes the LZMA2 chunks at the start of src to the start of dst and
// returns the bytes written and used, the end marker included. The output is the
// dictionary, so that no memory depends on the size a header asks for.
//
// A chunk is a control byte, big-endian sizes and data:
//
//	00               end
//	01, 02           2 bytes size-1, the bytes themselves; 01 forgets what came before
//	80 + high bits   2 bytes size-1 (the control byte has 5 more, above), 2 bytes
//	                 packed size-1, LZMA data. Of the control byte, 20 resets the
//	                 model; 40 too, and a byte of properties follows; 60 forgets
//	                 what came before as well
func lzma2(dst, src []byte) (n, used int, err error) {
	s := lzmaStates.Get().(*lzmaState)
	defer lzmaStates.Put(s)
	base, hasDict, hasProps := 0, false, false
	for {
		if used >= len(src) {
			return n, used, shardify.Corrupt(-1, "LZMA2 data end without their end marker")
		}
		c, err := lzma2Header(src[used:], len(dst)-n)
		if err != nil {
			return n, used, err
		}
		if c.control == 0 {
			return n, used + 1, nil
		}
		if c.control == 1 || c.control >= 0xe0 {
			base, hasDict, hasProps = n, true, false
		}
		data := src[used+c.head : used+c.head+c.packed]
		switch {
		case !hasDict:
			return n, used, shardify.Corrupt(-1, "LZMA2 data begin in the middle")
		case c.control < 0x80:
			copy(dst[n:], data)
		default:
			if c.control >= 0xc0 {
				if hasProps = s.setProps(src[used+5]); !hasProps {
					return n, used, shardify.Corrupt(-1, "LZMA2 properties %#x", src[used+5])
				}
			}
			if !hasProps {
				return n, used, shardify.Corrupt(-1, "LZMA2 data without properties")
			}
			if c.control >= 0xa0 {
				s.reset()
			}
			if !s.decode(dst, base, n, n+c.size, data) {
				return n, used, shardify.Corrupt(-1, "LZMA data make no sense")
			}
		}
		n += c.size
		used += c.head + c.packed
	}
}

// lzma2Chunk is the header of a chunk.
type lzma2Chunk struct {
	control      byte
	head         int // bytes of the header
	size, packed int
}

// lzma2Header reads the header at the start of src and checks its sizes.
func lzma2Header(src []byte, room int) (lzma2Chunk, error) {
	c := lzma2Chunk{control: src[0], head: 3}
	switch {
	case c.control == 0:
		return c, nil
	case c.control > 2 && c.control < 0x80:
		return c, shardify.Corrupt(-1, "LZMA2 chunk of unknown kind %#x", c.control)
	case c.control >= 0xc0:
		c.head = 6
	case c.control >= 0x80:
		c.head = 5
	}
	if len(src) < c.head {
		return c, shardify.Corrupt(-1, "LZMA2 chunk header is cut")
	}
	c.size = (int(src[1])<<8 | int(src[2])) + 1
	c.packed = c.size
	if c.control >= 0x80 {
		c.size += int(c.control&0x1f) << 16
		c.packed = (int(src[3])<<8 | int(src[4])) + 1
	}
	if len(src)-c.head < c.packed {
		return c, shardify.Corrupt(-1, "LZMA2 chunk of %d bytes, %d are left", c.packed, len(src)-c.head)
	}
	if room < c.size {
		return c, shardify.Corrupt(-1, "LZMA2 data decode to more than they should")
	}
	return c, nil
}
