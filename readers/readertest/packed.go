package readertest

import (
	"bytes"
	"compress/gzip"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Gzip packs data, a text or bytes.
func Gzip[T string | []byte](data T) T {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(data)) // a Buffer takes all
	_ = w.Close()
	return T(b.Bytes())
}

// Zstd packs data, a text or bytes.
func Zstd[T string | []byte](data T) T { return T(encoder().EncodeAll([]byte(data), nil)) }

// encoder is one for all: each that is made clears megabytes.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w
})
