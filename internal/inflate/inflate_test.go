package inflate

import (
	"bytes"
	"testing"
)

func TestKinds(t *testing.T) {
	for _, k := range kinds {
		data := k.make(1 << 20)
		for level := -2; level <= 9; level++ {
			dst := make([]byte, len(data))
			comp := deflated(t, data, level)
			n, used, err := Deflate(dst, comp)
			if err != nil || n != len(data) || used != len(comp) || !bytes.Equal(dst, data) {
				t.Errorf("%s level %d: n %d of %d, used %d of %d, equal %v: %v", k.name, level, n, len(data), used, len(comp), bytes.Equal(dst, data), err)
			}
		}
	}
}
