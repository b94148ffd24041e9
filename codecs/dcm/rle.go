package dcm

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// rleFrame decodes a frame of RLE Lossless: a segment for each byte of a number, the most significant first, of each
// sample. width is the bytes of a number; plane has room for two planes.
func rleFrame(dst, src []byte, pixels, samples, width int, plane []byte) error {
	if len(src) < 64 {
		return shardify.Corrupt(-1, "an RLE frame of %d bytes has no header of 64", len(src))
	}
	n := int(binary.LittleEndian.Uint32(src))
	if n > 15 {
		return shardify.Corrupt(-1, "the RLE header names %d segments, at most 15 are possible", n)
	}
	if n != samples*width {
		return shardify.Corrupt(-1, "%d RLE segments for %d samples of %d bytes", n, samples, width)
	}
	step := samples * width
	pair := plane[:0] // the first of two planes that are put in place together
	for k := range n {
		at, end := int64(binary.LittleEndian.Uint32(src[4+4*k:])), int64(len(src))
		if k+1 < n {
			end = int64(binary.LittleEndian.Uint32(src[8+4*k:]))
		}
		if at < 64 || at > end || end > int64(len(src)) {
			return shardify.Corrupt(-1, "RLE segment %d lies beyond the frame: bytes %d to %d of %d", k+1, at, end, len(src))
		}
		p := plane[len(pair):][:pixels]
		if step == 1 {
			p = dst[:pixels]
		}
		if done := packBits(p, src[at:end]); done < pixels {
			return shardify.Corrupt(-1, "RLE segment %d ends after %d of %d bytes", k+1, done, pixels)
		}
		switch {
		case step == 1:
		case step == 2 && width == 2 && k == 0:
			pair = p
		case step == 2 && width == 2:
			interleave(dst[:2*pixels], p, pair)
		default:
			to := dst[k/width*width+width-1-k%width:]
			for i, b := range p {
				to[i*step] = b
			}
		}
	}
	return nil
}

// interleave puts bytes of a and b one after the other.
func interleave(dst, a, b []byte) {
	i := 0
	for ; i+4 <= len(a); i += 4 {
		binary.LittleEndian.PutUint64(dst[2*i:], spread(binary.LittleEndian.Uint32(a[i:]))|spread(binary.LittleEndian.Uint32(b[i:]))<<8)
	}
	for ; i < len(a); i++ {
		dst[2*i], dst[2*i+1] = a[i], b[i]
	}
}

// spread puts a zero byte behind each of four.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	return (x | x<<8) & 0x00ff00ff00ff00ff
}

// packBits decodes runs, and returns how many bytes it made.
func packBits(dst, src []byte) int {
	done, at := 0, 0
	for at < len(src) && done < len(dst) {
		n := int(int8(src[at]))
		at++
		switch {
		case n == -128:
		case n >= 0:
			n++
			if n <= 16 && at+16 <= len(src) && done+16 <= len(dst) { // what is too much is written again
				s, d := src[at:at+16], dst[done:done+16]
				binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(s))
				binary.LittleEndian.PutUint64(d[8:], binary.LittleEndian.Uint64(s[8:]))
				done, at = done+n, at+n
				continue
			}
			k := copy(dst[done:], src[at:min(at+n, len(src))])
			done, at = done+k, min(at+n, len(src))
		case at < len(src):
			n, v := 1-n, uint64(src[at])*0x0101010101010101
			at++
			if done+n+7 <= len(dst) {
				for i := done; i < done+n; i += 8 {
					binary.LittleEndian.PutUint64(dst[i:], v)
				}
				done += n
				continue
			}
			for run := dst[done:min(done+n, len(dst))]; len(run) > 0; run = run[1:] {
				run[0] = byte(v)
				done++
			}
		}
	}
	return done
}
