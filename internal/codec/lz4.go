package codec

import (
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
