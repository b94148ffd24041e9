package filekind

import "testing"

func TestImagesOf16BitsAreCounted(t *testing.T) {
	var n tally
	head := "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01"
	for _, ihdr := range []string{"\x10\x00\x00\x00\x00", "\x10\x02\x00\x00\x00", "\x08\x00\x00\x00\x00", "\x10", ""} {
		n.add([]byte(head + ihdr))
	}
	if n.looked != 5 || n.grey != 1 || n.deep != 1 {
		t.Errorf("%+v", n)
	}
}
