package wds

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// daliName is where DALI looks for the index of a tar: everything from the first
// dot of the base name becomes ".idx".
func daliName(shard string) string {
	dir, base := path.Split(shard)
	stem, _, _ := strings.Cut(base, ".")
	return dir + stem + tar.IndexExt
}

// daliIndex reads back the headers of a published shard and makes its index for
// DALI: a line with version and sample count, then for each sample the
// extension, offset of the data, size and name of every member. A space ends a
// token, which is one reason why names have none.
func daliIndex(store storage.Store, s *shardify.Shard) ([]byte, error) {
	r, err := store.Open(s.Name)
	if err != nil {
		return nil, shardify.Annotate(err, "read", s.Name, "")
	}
	defer r.Close()
	b, err := daliLines(r, s)
	return b, shardify.Annotate(err, "read", s.Name, "")
}

func daliLines(r storage.Blob, s *shardify.Shard) ([]byte, error) {
	if r.Size() != s.Bytes {
		return nil, shardify.Corrupt(-1, "shard has %d bytes, its record says %d", r.Size(), s.Bytes)
	}
	var w tar.Window
	w.Reset(r, r.Size(), make([]byte, 256<<10))
	walk := tar.Walker{Window: &w}
	walk.Part(0, s.Bytes-tar.End)
	b := strconv.AppendInt([]byte("v1.2 "), s.Samples, 10)
	var key []byte
	var samples int64
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		k, field, ok := tar.SplitKey(e.Name)
		if !ok {
			return nil, shardify.Corrupt(e.Offset, "tar member %s has no extension", e.Name)
		}
		if samples > 0 && bytes.Equal(k, key) {
			b = append(b, ' ')
		} else {
			b = append(b, '\n')
			key = append(key[:0], k...)
			samples++
		}
		b = append(append(b, field...), ' ')
		b = append(strconv.AppendInt(b, e.Data(), 10), ' ')
		b = append(strconv.AppendInt(b, e.Size, 10), ' ')
		b = append(b, e.Name...)
	}
	if samples != s.Samples {
		return nil, shardify.Corrupt(-1, "tar holds %d samples, its record says %d", samples, s.Samples)
	}
	return append(b, '\n'), nil
}
