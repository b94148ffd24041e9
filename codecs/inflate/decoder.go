package inflate

import (
	"io"
	"sync"
)

// A Decoder decodes whole buffers. It holds the tables, about 40 KiB, so that
// one Decoder per worker decodes any number of chunks without allocating. The
// zero value is ready. It must not be used concurrently.
//
// Zlib, like the functions Deflate, Zlib and Gzip, decodes the data at the start of src
// to the start of dst and returns the number of bytes written and of input bytes used.
// It writes len(dst) bytes at most: a stream that holds more is ErrTooLong. What dst has
// behind the n bytes is undefined. dst and src must not overlap. On an error n and
// consumed say how far it came.
type Decoder struct {
	f   inflater
	src source
}

// Zlib decodes a zlib stream (RFC 1950) and verifies its Adler-32.
func (d *Decoder) Zlib(dst, src []byte) (n, consumed int, err error) {
	return d.decode(zlibFrame, dst, src)
}

func (d *Decoder) decode(fr frame, dst, src []byte) (n, consumed int, err error) {
	d.src = source{buf: src}
	for again := true; again && err == nil; {
		var m int
		m, err = d.member(fr, dst[n:])
		n += m
		again = false
		if err == nil && fr == gzipFrame {
			again, err = gzipNext(&d.src)
		}
	}
	consumed = d.src.ip
	d.src.buf = nil // do not keep the caller's memory alive
	return n, consumed, err
}

// member decodes one deflate stream and what frames it.
func (d *Decoder) member(fr frame, dst []byte) (n int, err error) {
	if err := fr.header(&d.src); err != nil {
		return 0, err
	}
	d.f.reset()
	n, ip, st := d.f.run(dst, 0, len(dst)+1, d.src.buf, d.src.ip)
	d.src.ip = ip - int(d.f.n>>3)
	switch st {
	case finished:
	case needInput:
		return n, d.src.ended(io.EOF, "deflate data")
	case tooLong:
		return n, d.src.fail(ErrTooLong, "no space for the next bytes")
	default:
		return n, d.src.fail(ErrCorrupt, d.f.what)
	}
	s := fr.start()
	fr.add(&s, dst[:n])
	return n, fr.trailer(&d.src, s)
}

var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// Deflate decodes a raw deflate stream (RFC 1951), with a Decoder from a pool.
func Deflate(dst, src []byte) (n, consumed int, err error) {
	return pooled(rawFrame, dst, src)
}

// Zlib is Decoder.Zlib with a Decoder from a pool.
func Zlib(dst, src []byte) (n, consumed int, err error) {
	return pooled(zlibFrame, dst, src)
}

// Gzip decodes gzip members (RFC 1952) up to the end of src or to a byte that is not 1f,
// with which each begins, and verifies the checksums and sizes of all of them. Zero
// padding up to the end counts as used.
func Gzip(dst, src []byte) (n, consumed int, err error) {
	return pooled(gzipFrame, dst, src)
}

func pooled(fr frame, dst, src []byte) (n, consumed int, err error) {
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	return d.decode(fr, dst, src)
}
