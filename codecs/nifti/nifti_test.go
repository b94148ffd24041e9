package nifti

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
)

// FuzzOpen reads files in memory. That the values are right is tested beside the reader.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("../../readers/nifti/testdata/*.nii*")
	if err != nil || len(names) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Open(b)
		var values []byte
		if err == nil && v.stored() <= 64<<20 {
			values, err = v.Append(nil)
		}
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Error(err)
		}
		if values != nil && int64(len(values)) != v.values()*int64(v.DType().Size()) {
			t.Errorf("%d bytes of %v", len(values), v.Shape())
		}
	})
}
