package codecs

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"

	"github.com/shardify/shardify"
)

const (
	xzMagic  = "\xfd7zXZ\x00"
	xzEnds   = "YZ"
	xzFrame  = 12 // bytes of the stream header, and of the footer
	xzLZMA2  = 0x21
	xzCRC32  = 1
	xzCRC64  = 4
	xzSHA256 = 10
)

var (
	ecma = crc64.MakeTable(crc64.ECMA)

	// xzCheckSize gives the bytes of the check after each block by its kind, also
	// of the kinds that the format reserves.
	xzCheckSize = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
)

// XZ decodes an .xz file: one or more streams with the LZMA2 filter alone. It
// verifies the checksums of headers, index and data.
func XZ(dst, src []byte) (n int, err error) {
	x := xzReader{src: src}
	for {
		m, err := x.stream(dst[n:])
		n += m
		if err != nil {
			return n, err
		}
		for len(x.src)-x.at >= 4 && binary.LittleEndian.Uint32(x.src[x.at:]) == 0 { // padding of a stream
			x.at += 4
		}
		if x.at == len(src) {
			return size("xz", n, dst)
		}
	}
}

// xzReader goes through an .xz file.
type xzReader struct {
	src []byte
	at  int

	blocks []xzBlock // of the stream
}

// xzBlock is what the index repeats of a block.
type xzBlock struct{ unpadded, decoded uint64 }

func (x *xzReader) corrupt(format string, args ...any) error {
	return shardify.Corrupt(int64(x.at), "xz: "+format, args...)
}

// next returns the next n bytes and passes them.
func (x *xzReader) next(n int, what string) ([]byte, error) {
	if len(x.src)-x.at < n {
		return nil, x.corrupt("data end in the %s", what)
	}
	b := x.src[x.at : x.at+n : x.at+n]
	x.at += n
	return b, nil
}

// stream decodes one stream to the start of dst.
func (x *xzReader) stream(dst []byte) (n int, err error) {
	h, err := x.next(xzFrame, "header")
	if err != nil {
		return 0, err
	}
	if string(h[:6]) != xzMagic {
		return 0, x.corrupt("no xz header")
	}
	if crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return 0, x.corrupt("checksum of the header does not match")
	}
	if h[6] != 0 || h[7] > 15 {
		return 0, shardify.Unsupported("xz: stream flags %02x%02x", h[6], h[7])
	}
	check := h[7]
	x.blocks = x.blocks[:0]
	for {
		if x.at == len(x.src) {
			return n, x.corrupt("data end without an index")
		}
		if x.src[x.at] == 0 {
			return n, x.end([2]byte(h[6:8]))
		}
		m, err := x.block(dst[n:], check)
		n += m
		if err != nil {
			return n, err
		}
	}
}

// block decodes one block to the start of dst.
func (x *xzReader) block(dst []byte, check byte) (n int, err error) {
	start := x.at
	packed, decoded, err := x.blockHeader()
	if err != nil {
		return 0, err
	}
	n, used, err := lzma2(dst, x.src[x.at:])
	if err != nil {
		return 0, x.corrupt("%v", err)
	}
	if packed >= 0 && packed != int64(used) || decoded >= 0 && decoded != int64(n) {
		return 0, x.corrupt("a block of %d bytes in %d, its header says %d in %d", n, used, decoded, packed)
	}
	x.at += used
	sum, size := x.at-start, xzCheckSize[check]
	pad, err := x.next(-used&3, "padding of a block")
	if err != nil {
		return 0, err
	}
	if !zeros(pad) {
		return 0, x.corrupt("padding that is not zero")
	}
	want, err := x.next(size, "checksum")
	if err != nil {
		return 0, err
	}
	if !xzSumMatches(check, dst[:n], want) {
		return 0, x.corrupt("checksum of the data does not match")
	}
	x.blocks = append(x.blocks, xzBlock{uint64(sum + size), uint64(n)})
	return n, nil
}

// blockHeader reads the header of a block and returns the sizes it states, or -1.
func (x *xzReader) blockHeader() (packed, decoded int64, err error) {
	h, err := x.next((int(x.src[x.at])+1)*4, "block header")
	if err != nil {
		return 0, 0, err
	}
	h, sum := h[:len(h)-4], binary.LittleEndian.Uint32(h[len(h)-4:])
	if crc32.ChecksumIEEE(h) != sum {
		return 0, 0, x.corrupt("checksum of a block header does not match")
	}
	flags, f := h[1], xzFields{p: h[2:]}
	packed, decoded = -1, -1
	if flags&0x40 != 0 {
		packed = int64(f.number())
	}
	if flags&0x80 != 0 {
		decoded = int64(f.number())
	}
	id, props := f.number(), f.number()
	if !f.bad && (flags&0x3f != 0 || id != xzLZMA2) {
		return 0, 0, shardify.Unsupported("xz: filters other than LZMA2 (flags %02x, filter %#x)", flags, id)
	}
	if f.bad || props != 1 || len(f.p) < 1 || f.p[0] > 40 || !zeros(f.p[1:]) {
		return 0, 0, x.corrupt("block header makes no sense")
	}
	return packed, decoded, nil
}

// end verifies the index and the footer of a stream.
func (x *xzReader) end(flags [2]byte) error {
	start := x.at
	f := xzFields{p: x.src[x.at+1:]}
	if n := f.number(); f.bad || n != uint64(len(x.blocks)) {
		return x.corrupt("index of %d blocks after %d", n, len(x.blocks))
	}
	for i, b := range x.blocks {
		if got := (xzBlock{f.number(), f.number()}); f.bad || got != b {
			return x.corrupt("index does not match block %d", i)
		}
	}
	x.at = len(x.src) - len(f.p)
	pad, err := x.next(-(x.at-start)&3, "index")
	if err != nil {
		return err
	}
	body := x.src[start:x.at]
	sum, err := x.next(4, "index")
	if err != nil {
		return err
	}
	if !zeros(pad) || crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return x.corrupt("checksum of the index does not match")
	}
	size := x.at - start
	t, err := x.next(xzFrame, "footer")
	if err != nil {
		return err
	}
	switch {
	case string(t[10:]) != xzEnds || crc32.ChecksumIEEE(t[4:10]) != binary.LittleEndian.Uint32(t):
		return x.corrupt("checksum of the footer does not match")
	case [2]byte(t[8:10]) != flags:
		return x.corrupt("flags of footer and header differ")
	case (int64(binary.LittleEndian.Uint32(t[4:]))+1)*4 != int64(size):
		return x.corrupt("footer states another size of the index")
	}
	return nil
}

// xzFields reads numbers of seven bits a byte.
type xzFields struct {
	p   []byte
	bad bool
}

func (f *xzFields) number() uint64 {
	v, n := binary.Uvarint(f.p[:min(len(f.p), 9)])
	if n <= 0 || f.bad || n > 1 && f.p[n-1] == 0 {
		f.bad = true
		return 0
	}
	f.p = f.p[n:]
	return v
}

// xzSumMatches verifies data against the check of a kind. Kinds that the format
// reserves cannot be verified and pass.
func xzSumMatches(kind byte, data, want []byte) bool {
	switch kind {
	case xzCRC32:
		return crc32.ChecksumIEEE(data) == binary.LittleEndian.Uint32(want)
	case xzCRC64:
		return crc64.Checksum(data, ecma) == binary.LittleEndian.Uint64(want)
	case xzSHA256:
		return sha256.Sum256(data) == [32]byte(want)
	}
	return true
}

func zeros(p []byte) bool {
	for _, c := range p {
		if c != 0 {
			return false
		}
	}
	return true
}
