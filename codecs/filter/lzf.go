package filter

import "github.com/shardify/shardify"

// lzf is filter 32000. A control byte c begins each piece:
//
//	c < 32  c+1 literal bytes follow
//	else    a copy of length (c>>5)+2, or, when c>>5 is 7, of 9 more than the
//	        next byte, from (c&31)<<8 + the next byte + 1 bytes back
type lzf struct{}

func (lzf) encoded(n int) (int, bool) { return expanded(n) }

func (lzf) decode(dst, src []byte, exact bool, _ *Scratch) ([]byte, error) {
	n, ok := lzfDecode(dst, src)
	if !ok {
		return nil, shardify.Corrupt(-1, "lzf: data make no sense after %d decoded bytes of %d", n, len(dst))
	}
	return sized("lzf", dst, n, exact)
}

// lzfDecode returns the bytes decoded and whether all of src made sense.
func lzfDecode(dst, src []byte) (int, bool) {
	o, i := 0, 0
	for i < len(src) {
		c := int(src[i])
		i++
		if c < 32 {
			n := c + 1
			if len(dst)-o >= 32 && len(src)-i >= 32 {
				// The bytes behind the literals are written over by what follows.
				*(*[32]byte)(dst[o:]) = *(*[32]byte)(src[i:])
			} else if len(dst)-o < n || len(src)-i < n {
				return o, false
			} else {
				copy(dst[o:], src[i:i+n])
			}
			o += n
			i += n
			continue
		}
		n := c>>5 + 2
		if c >= 7<<5 {
			if i == len(src) {
				return o, false
			}
			n += int(src[i])
			i++
		}
		if i == len(src) {
			return o, false
		}
		dist := (c&31)<<8 + int(src[i]) + 1
		i++
		if dist > o || n > len(dst)-o {
			return o, false
		}
		copyMatch(dst, o, dist, n)
		o += n
	}
	return o, true
}
