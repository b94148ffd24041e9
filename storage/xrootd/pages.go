package xrootd

import (
	"encoding/binary"
	"errors"

	"github.com/shardify/shardify/codecs/crc32c"
	"github.com/shardify/shardify/storage/remote"
)

func checksum(b []byte) uint32 { return crc32c.Update(0, b) }

const pageBytes = 4096

var errPage = &remote.Error{Err: errors.New("a page came with a wrong checksum"), Kind: remote.Broken}

// pages copies what pgread sent for offset off of the file to b: pages, each behind its
// checksum. The first ends where a page of the file does.
func pages(b, data []byte, off int64) (n int, err error) {
	for len(data) > 0 {
		k := pageBytes - int((off+int64(n))%pageBytes)
		if len(data) <= 4 || min(k, len(data)-4) > len(b)-n {
			return n, errors.New("the pages of the server have another length")
		}
		k = min(k, len(data)-4)
		if checksum(data[4:4+k]) != binary.BigEndian.Uint32(data) {
			return n, errPage
		}
		n += copy(b[n:], data[4:4+k])
		data = data[4+k:]
	}
	return n, nil
}
