package page

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/internal/guard"
)

// Known reports whether a compression can be read.
func Known(c format.CompressionCodec) bool {
	switch c {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw, lz4Hadoop:
		return true
	}
	return false
}

// lz4Hadoop is the deprecated codec 5.
const lz4Hadoop = 5

// decompress decodes src, which must give exactly size bytes, into buf or a larger
// buffer. Uncompressed bytes are copied: the page outlives the window that they are in.
func decompress(c format.CompressionCodec, buf, src []byte, size int) ([]byte, error) {
	if err := plausible(c, src, size); err != nil {
		return buf, err
	}
	buf = grow(buf, size)
	if size == 0 {
		return buf, nil // some writers compress nothing to something, some to nothing
	}
	var n int
	var err error
	switch c {
	case format.Uncompressed:
		n = copy(buf, src)
	case format.Snappy:
		n, err = codecs.Snappy(buf, src)
	case format.Gzip:
		n, _, err = inflate.Gzip(buf, src)
		if err != nil {
			err = shardify.Corrupt(-1, "gzip: %v", err)
		}
	case format.Zstd:
		n, err = codecs.ZstdAtMost(buf, src)
	case format.Lz4Raw:
		n, err = codecs.LZ4Block(buf, src)
	case lz4Hadoop:
		n, err = hadoop(buf, src)
	case format.Brotli:
		n, err = unbrotli(buf, src)
	}
	if err != nil {
		return buf, err
	}
	if n != size {
		return buf, shardify.Corrupt(-1, "a page of %d bytes, its header says %d", n, size)
	}
	return buf, nil
}

// most is how many bytes one compressed byte can become, at the very most.
var most = map[format.CompressionCodec]int{
	format.Uncompressed: 1, format.Snappy: 64, format.Gzip: 1040, format.Lz4Raw: 256, lz4Hadoop: 256,
	format.Zstd: 64 << 10, format.Brotli: 1 << 20,
}

// large is a size above which a page's word is not enough.
const large = 16 << 20

// plausible refuses sizes that the compressed bytes cannot have, before memory is
// taken for them.
func plausible(c format.CompressionCodec, src []byte, size int) error {
	m, ok := most[c]
	switch {
	case !ok:
		return shardify.Unsupported("compression %v", c)
	case c == format.Uncompressed && size != len(src):
		return shardify.Corrupt(-1, "an uncompressed page of %d bytes, its header says %d", len(src), size)
	case size/m > len(src)+16:
		return shardify.Corrupt(-1, "%d bytes cannot become %d by %v", len(src), size, c)
	case size <= large:
		return nil
	}
	switch c {
	case format.Zstd:
		var h zstd.Header
		// There may be several frames, but not many.
		if h.Decode(src) == nil && h.HasFCS && !h.Skippable && (h.FrameContentSize > uint64(size) || h.FrameContentSize < uint64(size)/64) {
			return shardify.Corrupt(-1, "zstd frame of %d bytes in a page of %d", h.FrameContentSize, size)
		}
	case format.Gzip:
		if n := len(src); n < 18 || binary.LittleEndian.Uint32(src[n-4:]) != uint32(size) {
			return shardify.Corrupt(-1, "gzip data of another size than the page's %d bytes", size)
		}
	}
	return nil
}

// hadoop decodes LZ4 blocks with their sizes before them, or, as some writers of codec
// 5 leave those out, one bare block.
//
//	u32 decoded bytes, u32 encoded bytes, LZ4 block      big-endian, any number of them
func hadoop(dst, src []byte) (int, error) {
	n, rest := 0, src
	for len(rest) >= 8 {
		out, in := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if in > int64(len(rest)-8) || out > int64(len(dst)-n) {
			break
		}
		if _, err := codecs.LZ4Block(dst[n:n+int(out)], rest[8:8+in]); err != nil {
			break
		}
		n, rest = n+int(out), rest[8+in:]
	}
	if n == len(dst) && len(rest) == 0 {
		return n, nil
	}
	return codecs.LZ4Block(dst, src)
}

func unbrotli(dst, src []byte) (n int, err error) {
	err = guard.Do(func() error {
		r := brotli.NewReader(bytes.NewReader(src))
		if n, err = io.ReadFull(r, dst); err != nil {
			return shardify.Corrupt(-1, "brotli: %v", err)
		}
		var more [1]byte
		if k, err := r.Read(more[:]); k > 0 || err != io.EOF {
			return shardify.Corrupt(-1, "brotli data do not end where the page does")
		}
		return nil
	})
	return n, err
}
