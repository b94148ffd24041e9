package exif

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestOrientation(t *testing.T) {
	want := map[string]int{"6.jpg": 6, "6.webp": 6, "6.tif": 6}
	for i := 1; i <= 8; i++ {
		want[fmt.Sprintf("%d.png", i)] = i
	}
	for name, o := range want {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := Orientation(b); got != o {
			t.Errorf("%s: %d, want %d", name, got, o)
		}
		for n := range b { // cut anywhere: no tag, or the tag
			if got := Orientation(b[:n]); got != o && got != 1 {
				t.Errorf("%s of %d bytes: %d", name, n, got)
			}
		}
	}
}

func FuzzOrientation(f *testing.F) {
	for _, name := range []string{"6.jpg", "6.webp", "6.tif", "6.png"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if o := Orientation(b); o < 1 || o > 8 {
			t.Fatal(o)
		}
	})
}
