package page

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/guard"
)

// maxWindow bounds what a zstd frame may have a decoder keep.
const maxWindow = 16 << 20

// Prefix decodes the first bytes of a compressed page without the rest of it: as many as
// fit into dst, or fewer. The memory that it takes does not depend on the page.
func Prefix(c format.CompressionCodec, dst []byte, src io.Reader) (n int, err error) {
	err = guard.Do(func() error {
		switch c {
		case format.Snappy, format.Lz4Raw, lz4Hadoop:
			b := make([]byte, len(dst)+len(dst)/8+64)
			k, err := io.ReadFull(src, b)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			n = block(c, dst, b[:k])
			return nil
		}
		r, err := stream(c, src)
		if err != nil {
			return err
		}
		if z, ok := r.(*zstd.Decoder); ok {
			defer z.Close()
		}
		if n, err = io.ReadFull(r, dst); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		return err
	})
	return n, err
}

// stream decodes what can be read from its begin on.
func stream(c format.CompressionCodec, src io.Reader) (io.Reader, error) {
	switch c {
	case format.Uncompressed:
		return src, nil
	case format.Gzip:
		return gzip.NewReader(src)
	case format.Brotli:
		return brotli.NewReader(src), nil
	case format.Zstd:
		return zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	}
	return nil, shardify.Unsupported("compression %v", c)
}

// block decodes the begin of a block of bytes and copies of bytes before them.
func block(c format.CompressionCodec, dst, src []byte) int {
	if c == format.Snappy {
		_, k := binary.Uvarint(src)
		return snappyPrefix(dst, src[max(k, 0):])
	}
	if c == lz4Hadoop && len(src) > 8 {
		out, in := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[4:])
		if in <= out+out/255+16 && src[0] == 0 { // a block with its sizes before it
			src = src[8:min(int64(len(src)), 8+int64(in))]
		}
	}
	return lz4Prefix(dst, src)
}

// prefix is the begin of what a block decodes to.
type prefix struct {
	dst []byte
	n   int
}

// literal appends n bytes, those of them that are there, and reports whether all are.
func (p *prefix) literal(src []byte, n int) ([]byte, bool) {
	k := copy(p.dst[p.n:], src[:min(n, len(src))])
	p.n += k
	return src[k:], k == n
}

// repeat appends n bytes that begin off bytes before the end, and reports whether it can.
func (p *prefix) repeat(off, n int) bool {
	if off <= 0 || off > p.n {
		return false
	}
	for ; n > 0 && p.n < len(p.dst); n-- {
		p.dst[p.n] = p.dst[p.n-off]
		p.n++
	}
	return n == 0
}

func snappyPrefix(dst, src []byte) int {
	p := prefix{dst: dst}
	for ok := true; ok && len(src) > 0; {
		tag := int(src[0])
		size := [4]int{0, 1, 2, 4}[tag&3] // of what follows the tag
		n, off := tag>>2+1, 0
		if tag&3 == 0 && n > 60 {
			size = n - 60
		}
		if src = src[1:]; len(src) < size {
			break
		}
		v := 0
		for i := size - 1; i >= 0; i-- {
			v = v<<8 | int(src[i])
		}
		src = src[size:]
		switch tag & 3 {
		case 0:
			if size > 0 {
				n = v + 1
			}
			src, ok = p.literal(src, n)
			continue
		case 1:
			n, off = tag>>2&7+4, tag>>5<<8|v
		default:
			off = v
		}
		ok = p.repeat(off, n)
	}
	return p.n
}

func lz4Prefix(dst, src []byte) int {
	p := prefix{dst: dst}
	for len(src) > 0 {
		token := int(src[0])
		n, rest, ok := lz4Length(token>>4, src[1:])
		if !ok {
			break
		}
		if src, ok = p.literal(rest, n); !ok || len(src) < 2 {
			break
		}
		off := int(binary.LittleEndian.Uint16(src))
		if n, src, ok = lz4Length(token&15, src[2:]); !ok || !p.repeat(off, n+4) {
			break
		}
	}
	return p.n
}

// lz4Length completes a length that begins in a token.
func lz4Length(n int, src []byte) (int, []byte, bool) {
	if n < 15 {
		return n, src, true
	}
	for len(src) > 0 {
		b := src[0]
		n, src = n+int(b), src[1:]
		if b < 255 {
			return n, src, true
		}
	}
	return n, src, false
}
