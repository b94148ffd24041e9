package codecs

import (
	"github.com/klauspost/compress/snappy"

	"github.com/shardify/shardify/internal/guard"
)

// Snappy decodes one snappy block: a length and the data, no frames.
func Snappy(dst, src []byte) (n int, err error) {
	if n, err = snappy.DecodedLen(src); err != nil {
		return damaged("snappy", 0, err)
	}
	// Before the library sees it: it would allocate for a greater length.
	if _, err := size("snappy", n, dst); err != nil {
		return 0, err
	}
	err = guard.Do(func() error {
		_, err := snappy.Decode(dst[:len(dst):len(dst)], src)
		return err
	})
	if err != nil {
		return damaged("snappy", 0, err)
	}
	return n, nil
}
