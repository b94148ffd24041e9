package codecs

import "testing"

func TestXXH64Vectors(t *testing.T) {
	b := make([]byte, 101)
	g := uint32(2654435761) // the generator of the reference's own test
	for i := range b {
		b[i] = byte(g >> 24)
		g *= g
	}
	for _, c := range []struct {
		p    string
		want uint64
	}{
		{"", 0xef46db3751d8e999},
		{"a", 0xd24ec4f1a98c6e5b},
		{"as", 0x1c330fb2d66be179},
		{"asd", 0x631c37ce72a97393},
		{"asdf", 0x415872f599cea71e},
		{"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02a2e85470d6fd96},
		{string(b[:1]), 0x4fce394cc88952d8},
		{string(b[:14]), 0xcffa8db881bc3a3d},
		{string(b), 0x0eab543384f878ad},
	} {
		if got := XXH64([]byte(c.p)); got != c.want {
			t.Errorf("%q: %016x, want %016x", c.p, got, c.want)
		}
	}
}

func BenchmarkXXH64(b *testing.B) {
	data := synth(1 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		XXH64(data)
	}
}
