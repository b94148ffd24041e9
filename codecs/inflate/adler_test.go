package inflate

import (
	"bytes"
	std "hash/adler32"
	"testing"
)

func TestAdlerIsThatOfTheStandardLibrary(t *testing.T) {
	defer func(was bool) { haveAVX2 = was }(haveAVX2)
	data := append(noise(5000), bytes.Repeat([]byte{255}, 1<<16)...)
	for range 2 {
		for _, cut := range []int{0, 1, 7, 31, 32, 33, 175, 176, 177, 352, 4095, 4096, 5000, 5001, 9999, len(data)} {
			sum := adler32(adler32(1, data[:cut]), data[cut:])
			if want := std.Checksum(data); sum != want {
				t.Errorf("AVX2 %v, cut at %d: %08x, want %08x", haveAVX2, cut, sum, want)
			}
		}
		haveAVX2 = false
	}
}

func BenchmarkAdler(b *testing.B) {
	data := noise(1 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		adler32(1, data)
	}
}
