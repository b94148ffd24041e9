package inflate

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
)

// fenced is memory between two pages that may not be touched.
func fenced(t *testing.T, pages int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, (pages+2)*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory map: ", err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	for _, fence := range [][]byte{m[:page], m[len(m)-page:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Skip("no protection of memory: ", err)
		}
	}
	return m[page : len(m)-page]
}

// TestBuffersBetweenFences decodes from memory to memory whose neighbours may not be
// touched, with buffers of every length up to 64 bytes less and more than the data.
func TestBuffersBetweenFences(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	srcs := small(t)
	for range 40 / thin {
		srcs = append(srcs, randomStream(r, 1500), byteStream(r, 1500))
	}
	for _, k := range kinds {
		srcs = append(srcs, deflated(t, k.make(9000), 6))
	}
	const most = 1 << 20
	ins, outs := fenced(t, most/syscall.Getpagesize()), fenced(t, most/syscall.Getpagesize())
	for i, src := range srcs {
		want, _, err := oracle(src, most/2)
		if err != nil || len(want) > most/2 || len(src) > most {
			continue
		}
		// At the end of the memory and at its start.
		decode := func(in, out int, ok bool) {
			for _, last := range []bool{true, false} {
				s, d := ins[:in], outs[:out]
				if last {
					s, d = ins[len(ins)-in:], outs[len(outs)-out:]
				}
				copy(s, src)
				n, _, err := Deflate(d, s)
				if ok != (err == nil) || n > len(want) || !bytes.Equal(d[:n], want[:n]) {
					t.Fatalf("stream %d, %d of %d bytes to %d of %d: %d bytes: %v", i, in, len(src), out, len(want), n, err)
				}
			}
		}
		forms(func() {
			for by := -64; by <= 64; by += thin {
				if out := len(want) + by; out >= 0 {
					decode(len(src), out, by >= 0)
				}
				if in := len(src) + by; by < 0 && in >= 0 {
					decode(in, len(want), false)
					decode(in, len(want)+2*fastOut, false)
				}
			}
		})
	}
}
