package filter

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// deflate is filter 1: a zlib stream.
type deflate struct{}

func (deflate) encoded(n int) (int, bool) { return expanded(n) }

func (deflate) decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error) {
	n, _, err := s.inflate.Zlib(dst, src)
	if err != nil {
		// Also what zlib could do and this filter never does, as another method:
		// zeroed chunks look so.
		return nil, shardify.Corrupt(-1, "deflate: %v", err)
	}
	return sized("deflate", dst, n, exact)
}

// sized returns the first n bytes of dst, which must be all of it if exact.
func sized(name string, dst []byte, n int, exact bool) ([]byte, error) {
	if exact && n != len(dst) {
		return nil, shardify.Corrupt(-1, "%s: decoded to %d bytes, not %d", name, n, len(dst))
	}
	return dst[:n], nil
}

// zstd is filter 32015: one or more zstd frames.
type zstd struct{}

func (zstd) encoded(n int) (int, bool) { return expanded(n) }

func (zstd) decode(dst, src []byte, exact bool, _ *Scratch) ([]byte, error) {
	n, err := codecs.ZstdAtMost(dst, src)
	if err != nil {
		return nil, err
	}
	return sized("zstd", dst, n, exact)
}

// bzip2 is filter 307: a bzip2 stream.
type bzip2 struct{}

func (bzip2) encoded(n int) (int, bool) { return expanded(n) }

func (bzip2) decode(dst, src []byte, exact bool, _ *Scratch) ([]byte, error) {
	n, err := codecs.Bzip2AtMost(dst, src)
	if err != nil {
		return nil, err
	}
	return sized("bzip2", dst, n, exact)
}
