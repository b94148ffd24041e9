package inflate

import (
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
)

// frame is what surrounds a deflate stream.
type frame int

const (
	rawFrame frame = iota
	zlibFrame
	gzipFrame
)

// sum checks the decoded bytes of one deflate stream against its frame.
type sum struct {
	check uint32 // CRC-32 or Adler-32
	size  uint32 // modulo 2^32
}

func (f frame) start() sum {
	if f == zlibFrame {
		return sum{check: 1}
	}
	return sum{}
}

func (f frame) add(s *sum, p []byte) {
	switch f {
	case zlibFrame:
		s.check = adler32(s.check, p)
	case gzipFrame:
		s.check = crc32.Update(s.check, crc32.IEEETable, p)
		s.size += uint32(len(p))
	}
}

func (f frame) header(src *source) error {
	switch f {
	case zlibFrame:
		return zlibHeader(src)
	case gzipFrame:
		return gzipHeader(src)
	}
	return nil
}

func (f frame) trailer(src *source, s sum) error {
	switch f {
	case zlibFrame:
		return zlibTrailer(src, s)
	case gzipFrame:
		return gzipTrailer(src, s)
	}
	return nil
}

const methodDeflate = 8

func zlibHeader(src *source) error {
	f := field{src: src}
	cmf, flg := f.byte(), f.byte()
	switch {
	case f.err != nil:
		return src.ended(f.err, "zlib header")
	case (uint(cmf)<<8|uint(flg))%31 != 0:
		return src.fail(ErrCorrupt, "zlib header check")
	case cmf&15 != methodDeflate:
		return src.fail(ErrUnsupported, fmt.Sprintf("zlib method %d", cmf&15))
	case cmf>>4 > 7:
		return src.fail(ErrCorrupt, "zlib window size")
	case flg&0x20 != 0:
		return src.fail(ErrUnsupported, "zlib preset dictionary")
	}
	return nil
}

func zlibTrailer(src *source, s sum) error {
	f := field{src: src}
	want := bits.ReverseBytes32(f.uint32())
	if f.err != nil {
		return src.ended(f.err, "zlib trailer")
	}
	if want != s.check {
		return src.fail(ErrCorrupt, fmt.Sprintf("Adler-32: trailer says %08x, data has %08x", want, s.check))
	}
	return nil
}

const (
	gzipMagic0 = 0x1f
	gzipMagic1 = 0x8b

	gzipHeaderCRC = 2
	gzipExtra     = 4
	gzipName      = 8
	gzipComment   = 16
	gzipReserved  = 0xe0
)

func gzipHeader(src *source) error {
	f := field{src: src}
	m0, m1 := f.byte(), f.byte()
	if f.err == nil && (m0 != gzipMagic0 || m1 != gzipMagic1) {
		return src.fail(ErrCorrupt, "no gzip header")
	}
	method, flg := f.byte(), f.byte()
	if f.err == nil && method != methodDeflate {
		return src.fail(ErrUnsupported, fmt.Sprintf("gzip method %d", method))
	}
	if f.err == nil && flg&gzipReserved != 0 {
		return src.fail(ErrUnsupported, "reserved gzip flags")
	}
	f.skip(6)
	if flg&gzipExtra != 0 {
		f.skip(int(f.uint16()))
	}
	if flg&gzipName != 0 {
		f.skipString()
	}
	if flg&gzipComment != 0 {
		f.skipString()
	}
	if flg&gzipHeaderCRC != 0 {
		have := uint16(f.crc)
		if want := f.uint16(); f.err == nil && want != have {
			return src.fail(ErrCorrupt, fmt.Sprintf("gzip header CRC: header says %04x, its bytes have %04x", want, have))
		}
	}
	if f.err != nil {
		return src.ended(f.err, "gzip header")
	}
	return nil
}

func gzipTrailer(src *source, s sum) error {
	f := field{src: src}
	crc, size := f.uint32(), f.uint32()
	switch {
	case f.err != nil:
		return src.ended(f.err, "gzip trailer")
	case crc != s.check:
		return src.fail(ErrCorrupt, fmt.Sprintf("CRC-32: trailer says %08x, data has %08x", crc, s.check))
	case size != s.size:
		return src.fail(ErrCorrupt, fmt.Sprintf("size: trailer says %d, data has %d", size, s.size))
	}
	return nil
}

// gzipNext reports whether another member follows the one that ended. Zero bytes
// between members or up to the end, as tapes and block devices leave them, are
// skipped. When something else follows, it and the zeros before it are not
// touched if the source is whole, and an error otherwise.
func gzipNext(src *source) (bool, error) {
	start := src.ip
	for {
		c, err := src.next()
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case c == 0:
			continue
		}
		src.ip--
		if c == gzipMagic0 {
			return true, nil
		}
		if src.r == nil {
			src.ip = start
			return false, nil
		}
		return false, src.fail(ErrCorrupt, "gzip data followed by something else")
	}
}
