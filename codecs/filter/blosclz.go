package filter

// blosclzDecode decodes a blosclz stream to the start of dst and returns how many
// bytes it wrote and whether all of src made sense. A control byte c, of the first
// only the low five bits, begins each piece:
//
//	c < 32  c+1 literal bytes follow
//	else    a copy. Its length is (c>>5)+2; for 7 more is added: bytes up to and
//	        with the first that is not 255. Its distance is (c&31)<<8 + the next
//	        byte + 1; if these are 31 and 255, the next two bytes, high one first,
//	        + 8192.
func blosclzDecode(dst, src []byte) (int, bool) {
	o, i := 0, 1
	if len(src) == 0 {
		return 0, true
	}
	for c := int(src[0]) & 31; ; {
		if c < 32 {
			n := c + 1
			if len(dst)-o >= 32 && len(src)-i >= 32 {
				*(*[32]byte)(dst[o:]) = *(*[32]byte)(src[i:])
			} else if len(dst)-o < n || len(src)-i < n {
				return o, false
			} else {
				copy(dst[o:], src[i:i+n])
			}
			o += n
			i += n
		} else {
			n, dist := c>>5+2, (c&31)<<8
			if c >= 7<<5 {
				for {
					if i == len(src) {
						return o, false
					}
					b := int(src[i])
					i++
					if n += b; b != 255 {
						break
					}
				}
			}
			if i == len(src) {
				return o, false
			}
			b := int(src[i])
			i++
			if b == 255 && dist == 31<<8 {
				if len(src)-i < 2 {
					return o, false
				}
				dist = int(src[i])<<8 + int(src[i+1]) + 8191
				i += 2
			} else {
				dist += b
			}
			if dist++; dist > o || n > len(dst)-o {
				return o, false
			}
			copyMatch(dst, o, dist, n)
			o += n
		}
		if i >= len(src) {
			return o, i == len(src)
		}
		c = int(src[i])
		i++
	}
}
