package filter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// shuffled is the plain definition of the filter.
func shuffled(data []byte, size int) []byte {
	n := len(data) / size
	out := bytes.Clone(data)
	for e := range n {
		for j := range size {
			out[j*n+e] = data[e*size+j]
		}
	}
	return out
}

func noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func TestUnshuffleUndoesTheDefinition(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 100} {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 200} {
			for _, rest := range []int{0, 1, size - 1} {
				data := noise(n*size+rest, uint64(n))
				buf := bytes.Repeat([]byte{0xa5}, len(data)+64)
				got := buf[32 : 32+len(data)]
				unshuffle(got, shuffled(data, size), size)
				if !bytes.Equal(got, data) {
					t.Errorf("size %d, %d elements and %d bytes: differs", size, n, rest)
				}
				if !bytes.Equal(buf[:32], buf[len(buf)-32:]) || buf[0] != 0xa5 {
					t.Fatalf("size %d, %d elements and %d bytes: wrote outside", size, n, rest)
				}
			}
		}
	}
}

func BenchmarkUnshuffle(b *testing.B) {
	for _, size := range []int{2, 3, 4, 8, 12, 16, 40} {
		src := noise(1<<18/size*size, 1)
		dst := make([]byte, len(src))
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				unshuffle(dst, src, size)
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	src := noise(1<<18, 1)
	dst := make([]byte, len(src))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		copy(dst, src)
	}
}
