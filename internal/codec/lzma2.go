package codec

import (
	"bytes"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/guard"
)

// lzma2 decodes the LZMA2 chunks at the start of src to the start of dst and
// returns the bytes written and used, the end marker included. The dictionary is
// as large as the output: no distance reaches further, whatever the header asks.
func lzma2(dst, src []byte) (n, used int, err error) {
	n, used, err = lzma2Extent(src, len(dst))
	if err != nil {
		return 0, 0, err
	}
	err = guard.Do(func() error {
		r, err := lzma.Reader2Config{DictCap: max(n, lzma.MinDictCap)}.NewReader2(bytes.NewReader(src[:used]))
		if err != nil {
			return err
		}
		_, err = io.ReadFull(r, dst[:n])
		return err
	})
	if err != nil {
		return 0, 0, shardify.Corrupt(-1, "%v", err)
	}
	return n, used, nil
}

// lzma2Extent walks over the chunk headers.
func lzma2Extent(src []byte, room int) (n, used int, err error) {
	for {
		if used >= len(src) {
			return 0, 0, shardify.Corrupt(int64(used), "LZMA2 data end without their end marker")
		}
		control := src[used]
		if control == 0 {
			return n, used + 1, nil
		}
		head, size, packed := 3, 0, 0
		switch {
		case control > 2 && control < 0x80:
			return 0, 0, shardify.Corrupt(int64(used), "LZMA2 chunk of unknown kind %#x", control)
		case control >= 0xc0:
			head = 6
		case control >= 0x80:
			head = 5
		}
		if len(src)-used < head {
			return 0, 0, shardify.Corrupt(int64(used), "LZMA2 chunk header is cut")
		}
		h := src[used:]
		size = (int(h[1])<<8 | int(h[2])) + 1
		packed = size
		if control >= 0x80 {
			size += int(control&0x1f) << 16
			packed = (int(h[3])<<8 | int(h[4])) + 1
		}
		if len(src)-used-head < packed {
			return 0, 0, shardify.Corrupt(int64(used), "LZMA2 chunk of %d bytes, %d are left", packed, len(src)-used-head)
		}
		if room-n < size {
			return 0, 0, shardify.Corrupt(int64(used), "LZMA2 data decode to more than %d bytes", room)
		}
		n += size
		used += head + packed
	}
}
