package hdf5

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// TestFlippedBitsLoseNoColumn flips bits of files that are metadata for the most part, none
// of them compressed. What is read without an error has all samples, and all columns except
// those of unsupported types, which are named.
func TestFlippedBitsLoseNoColumn(t *testing.T) {
	race.Sequential(t)
	step := 211
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	name := filepath.Join(t.TempDir(), "f.h5")
	read := func(b []byte) (*memory, error) {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return load([]string{name}, nil, format.Options{"sample": "axis"})
	}
	for _, n := range []string{"flips_old.h5", "flips_new.h5"} {
		good, err := os.ReadFile(filepath.Join("testdata", n))
		if err != nil {
			t.Fatal(err)
		}
		want, err := read(good)
		if err != nil {
			t.Fatal(err)
		}
		refused, same, named := 0, 0, 0
		for i := 0; i < 8*len(good); i += step {
			b := bytes.Clone(good)
			b[i/8] ^= 1 << (i % 8)
			got, err := read(b)
			switch {
			case err != nil && !clean(err):
				t.Errorf("%s, bit %d: error of no kind: %v", n, i, err)
			case err != nil:
				refused++
			case got.samples != want.samples || len(got.cols)+len(got.left) < len(want.cols):
				t.Errorf("%s, bit %d of byte %d flipped: %d samples, columns %v, left out %v", n, i%8, i/8, got.samples, got.order, got.left)
			case len(got.cols) < len(want.cols):
				named++
			default:
				same++
			}
		}
		t.Logf("%s: %d flips refused, %d read with all columns, %d with one that has another type", n, refused, same, named)
	}
}
