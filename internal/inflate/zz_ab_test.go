package inflate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestZZAB(t *testing.T) {
	b := os.Getenv("ZZB")
	if b == "" {
		t.Skip()
	}
	for _, k := range kinds {
		comp, err := os.ReadFile("/tmp/infl/data/" + k.name)
		if err != nil {
			continue
		}
		dst := make([]byte, 4<<20)
		var d Decoder
		best := 0.0
		for range 25 {
			s := time.Now()
			n, _, err := d.Deflate(dst, comp)
			if err != nil || n != len(dst) {
				t.Fatal(err)
			}
			best = max(best, 4.194304/time.Since(s).Seconds())
		}
		fmt.Println("AB", filepath.Base(b), k.name, best)
	}
}

func TestZZGen(t *testing.T) {
	if os.Getenv("ZZG") == "" {
		t.Skip()
	}
	for _, k := range kinds {
		os.WriteFile("/tmp/infl/raw/"+k.name, k.make(4<<20), 0o644)
	}
}
