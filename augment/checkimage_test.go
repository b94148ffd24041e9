package augment

import (
	"errors"
	"os"
	"testing"

	"github.com/shardify/shardify"
)

func TestCheckImage(t *testing.T) {
	good, err := os.ReadFile("../images/exif/testdata/1.png")
	if err != nil {
		t.Fatal(err)
	}
	n, err := CheckImage(good, 1<<20)
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if _, err := CheckImage(good, n-1); !errors.Is(err, shardify.ErrUnsupported) {
		t.Error("beyond the bound:", err)
	}
	if cost, err := CheckImage(good[:len(good)-20], n); !errors.Is(err, shardify.ErrCorrupt) || cost != n {
		t.Error("a cut image:", cost, err)
	}
	if _, err := CheckImage([]byte("no image"), n); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error("no image:", err)
	}
}
