package codecs

import (
	"bytes"
	"compress/bzip2"
	"io"

	"github.com/shardify/shardify/internal/guard"
)

// Bzip2AtMost decodes one or more bzip2 streams and verifies their checksums. They may
// decode to fewer bytes than dst holds. It allocates up to 4 MB a call, as the standard
// library's reader cannot be reused.
func Bzip2AtMost(dst, src []byte) (n int, err error) {
	err = guard.Do(func() error {
		r := bzip2.NewReader(bytes.NewReader(src))
		more := make([]byte, 1)
		for {
			to := dst[min(n, len(dst)):]
			if len(to) == 0 {
				to = more // the last checksum is read with the end of the stream
			}
			m, err := r.Read(to)
			n += m
			if err == io.EOF || n > len(dst) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if err != nil {
		return damaged("bzip2", n, err)
	}
	if n > len(dst) {
		return size("bzip2", n, dst)
	}
	return n, nil
}
