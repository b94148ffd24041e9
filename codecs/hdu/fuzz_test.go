package hdu

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

// FuzzHDU: any bytes are read, or refused with a reason.
func FuzzHDU(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(corpus.Path("science_images"), "fits", "*.fits"))
	for _, path := range files {
		if b, err := os.ReadFile(path); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte("SIMPLE  =                    T"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}
