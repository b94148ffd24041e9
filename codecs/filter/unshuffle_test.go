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

// bothKernels runs f with the kernels of the machine and with those in Go.
func bothKernels(f func(kernels string)) {
	defer func(was bool) { haveAVX2 = was }(haveAVX2)
	f("machine's")
	haveAVX2 = false
	f("Go")
}

func TestUnshuffleUndoesTheDefinition(t *testing.T) {
	bothKernels(func(kernels string) { testUnshuffle(t, kernels) })
}

func testUnshuffle(t *testing.T, kernels string) {
	for _, size := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 100} {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 200} {
			for _, rest := range []int{0, 1, size - 1} {
				data := noise(n*size+rest, uint64(n))
				buf := bytes.Repeat([]byte{0xa5}, len(data)+64)
				got := buf[32 : 32+len(data)]
				unshuffle(got, shuffled(data, size), size)
				if !bytes.Equal(got, data) {
					t.Errorf("%s kernels: size %d, %d elements and %d bytes: differs", kernels, size, n, rest)
				}
				if !bytes.Equal(buf[:32], buf[len(buf)-32:]) || buf[0] != 0xa5 {
					t.Fatalf("%s kernels: size %d, %d elements and %d bytes: wrote outside", kernels, size, n, rest)
				}
			}
		}
	}
}

// bitShuffled is the plain definition of the order of bits in a block.
func bitShuffled(data []byte, size int) []byte {
	row := len(data) / size / 8
	out := make([]byte, len(data))
	for e := range len(data) / size {
		for j := range size {
			for i := range 8 {
				out[(8*j+i)*row+e/8] |= data[e*size+j] >> i & 1 << (e % 8)
			}
		}
	}
	return out
}

func TestBitUnshuffleUndoesTheDefinition(t *testing.T) {
	bothKernels(func(kernels string) {
		var tmp []byte
		for _, size := range []int{1, 2, 3, 4, 5, 8, 12, 16, 33} {
			for _, rows := range []int{1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 65, 128, 200, 1030} {
				data := noise(8*rows*size, uint64(rows))
				buf := bytes.Repeat([]byte{0xa5}, len(data)+64)
				got := buf[32 : 32+len(data)]
				bitUnshuffle(got, bitShuffled(data, size), size, &tmp)
				if !bytes.Equal(got, data) {
					t.Errorf("%s kernels: size %d, %d elements: differs", kernels, size, 8*rows)
				}
				if !bytes.Equal(buf[:32], buf[len(buf)-32:]) || buf[0] != 0xa5 {
					t.Fatalf("%s kernels: size %d, %d elements: wrote outside", kernels, size, 8*rows)
				}
			}
		}
	})
}

func BenchmarkUnshuffle(b *testing.B) {
	bothKernels(func(kernels string) {
		for _, size := range []int{2, 3, 4, 8, 12, 16, 40} {
			src := noise(1<<18/size*size, 1)
			dst := make([]byte, len(src))
			b.Run(fmt.Sprintf("%s/%d", kernels[:2], size), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					unshuffle(dst, src, size)
				}
			})
		}
		for _, size := range []int{1, 2, 4, 8} {
			src := noise(8192, 1)
			dst := make([]byte, len(src))
			var tmp []byte
			b.Run(fmt.Sprintf("%s/bits-%d", kernels[:2], size), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					bitUnshuffle(dst, src, size, &tmp)
				}
			})
		}
	})
}

func BenchmarkFletcher(b *testing.B) {
	src := noise(1<<18, 1)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		fletcher(src)
	}
}
