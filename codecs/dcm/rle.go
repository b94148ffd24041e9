package dcm

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// rleFrame decodes a frame of RLE Lossless: a segment for each byte of a number, the most significant first, of each
// sample. step is the bytes of a pixel, and of a number width.
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
	for k := range n {
		at, end := int64(binary.LittleEndian.Uint32(src[4+4*k:])), int64(len(src))
		if k+1 < n {
			end = int64(binary.LittleEndian.Uint32(src[8+4*k:]))
		}
		if at < 64 || at > end || end > int64(len(src)) {
			return shardify.Corrupt(-1, "RLE segment %d lies beyond the frame: bytes %d to %d of %d", k+1, at, end, len(src))
		}
		if done := packBits(plane[:pixels], src[at:end]); done < pixels {
			return shardify.Corrupt(-1, "RLE segment %d ends after %d of %d bytes", k+1, done, pixels)
		}
		sample, byteOf := k/width, width-1-k%width
		to := dst[sample*width+byteOf:]
		if step := samples * width; step == 1 {
			copy(to, plane[:pixels])
		} else {
			for i, b := range plane[:pixels] {
				to[i*step] = b
			}
		}
	}
	return nil
}

// packBits decodes runs, and returns how many bytes it made.
func packBits(dst, src []byte) int {
	done := 0
	for len(src) > 0 && done < len(dst) {
		n := int(int8(src[0]))
		src = src[1:]
		switch {
		case n == -128:
		case n >= 0:
			k := copy(dst[done:], src[:min(n+1, len(src))])
			done += k
			src = src[min(n+1, len(src)):]
		case len(src) > 0:
			run := dst[done:min(done+1-n, len(dst))]
			for i := range run {
				run[i] = src[0]
			}
			done += len(run)
			src = src[1:]
		}
	}
	return done
}
