package meta

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestEncIsTheNumberOfBytes(t *testing.T) {
	for n, want := range map[uint64]int{0: 1, 1: 1, 255: 1, 256: 2, 65535: 2, 65536: 3, 1<<24 - 1: 3, 1 << 24: 4, 1<<64 - 1: 8} {
		if got := Width(n); got != want {
			t.Errorf("enc(%d) = %d, want %d", n, got, want)
		}
	}
}

// The cache returns the bytes of the file, however small it is.
func TestCachedBytesAreTheFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	file := make([]byte, 5*blockSize+123)
	for i := range file {
		file[i] = byte(rng.Uint32())
	}
	c := newBlocks(bytes.NewReader(file), int64(len(file)), 1)
	for range 5000 {
		off := rng.IntN(len(file))
		n := rng.IntN(min(len(file)-off, 1<<rng.IntN(18)) + 1)
		b, err := c.bytes(int64(off), n)
		if err != nil || !bytes.Equal(b, file[off:off+n]) {
			t.Fatalf("%d bytes at %d: %v", n, off, err)
		}
	}
	if len(c.m) > cap(c.ring) {
		t.Errorf("%d blocks kept, at most %d", len(c.m), cap(c.ring))
	}
}
