package codecs

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"

	"github.com/shardify/shardify/internal/guard"
)

// LZ4Block decodes one raw LZ4 block: no frame, no size, no checksum.
func LZ4Block(dst, src []byte) (n int, err error) {
	if len(src) == 0 {
		return size("lz4", 0, dst)
	}
	err = guard.Do(func() error {
		var err error
		n, err = lz4.UncompressBlock(src, dst)
		return err
	})
	if err != nil {
		return damaged("lz4", n, err)
	}
	return size("lz4", n, dst)
}

// LZ4Frame decodes one LZ4 frame. Checksums in it are not verified.
func LZ4Frame(dst, src []byte) (n int, err error) {
	const flags = 1<<6 | 1<<5 | 1<<4 | 1<<3 | 1<<2 // version 1, and what is known
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != 0x184d2204 || src[4]&0xc0 != 1<<6 || src[4]&^flags != 0 {
		return damaged("lz4", 0, errors.New("no frame, or one with a dictionary"))
	}
	linked, sums := src[4]&(1<<5) == 0, src[4]&(1<<4) != 0
	at := 7
	if src[4]&(1<<3) != 0 { // the size of the content
		at += 8
	}
	for {
		if at+4 > len(src) {
			return damaged("lz4", n, io.ErrUnexpectedEOF)
		}
		length := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if length == 0 {
			return size("lz4", n, dst)
		}
		stored := length>>31 != 0
		length &= 1<<31 - 1
		if int64(length) > int64(len(src)-at) {
			return damaged("lz4", n, io.ErrUnexpectedEOF)
		}
		block := src[at : at+int(length)]
		at += int(length)
		if sums {
			at += 4
		}
		if stored {
			if len(block) > len(dst)-n {
				return damaged("lz4", n, errors.New("more bytes than there are to be"))
			}
			n += copy(dst[n:], block)
			continue
		}
		err = guard.Do(func() error {
			var before []byte
			if linked {
				before = dst[max(0, n-64<<10):n]
			}
			k, err := lz4.UncompressBlockWithDict(block, dst[n:], before)
			n += max(k, 0)
			return err
		})
		if err != nil {
			return damaged("lz4", n, err)
		}
	}
}
