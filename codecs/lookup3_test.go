package codecs

import "testing"

func TestLookup3Vectors(t *testing.T) {
	for s, want := range map[string]uint32{
		"":                               0xdeadbeef,
		"Four score and seven years ago": 0x17770551,
	} {
		if got := Lookup3([]byte(s)); got != want {
			t.Errorf("%q: %08x, want %08x", s, got, want)
		}
	}
}
