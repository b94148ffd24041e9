package augment

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/shardify/shardify/images/exif"
)

// TestOrient: whatever the tag says, the pixels come out as those of the upright image.
func TestOrient(t *testing.T) {
	var up []byte
	for o := 1; o <= 8; o++ {
		b, err := os.ReadFile(fmt.Sprintf("../images/exif/testdata/%d.png", o))
		if err != nil {
			t.Fatal(err)
		}
		s := new(buffers)
		p, err := s.decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if p = s.orient(p, exif.Orientation(b)); o == 1 {
			up = bytes.Clone(p.pix)
		}
		if p.w != 3 || p.h != 2 || !bytes.Equal(p.pix, up) {
			t.Errorf("orientation %d: %d x %d, %v, want %v", o, p.w, p.h, p.pix, up)
		}
	}
}
