package dcm

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// segment packs bytes by runs and literals of any length, and bytes that mean nothing.
func segment(rng *rand.Rand, want []byte) (out []byte) {
	for len(want) > 0 {
		run := 1
		for run < len(want) && run < 128 && want[run] == want[0] {
			run++
		}
		switch {
		case rng.IntN(20) == 0:
			out = append(out, 128)
		case run > 1:
			out = append(out, byte(257-run), want[0])
			want = want[run:]
		default:
			n := min(1+rng.IntN(1+rng.IntN(128)), len(want))
			out = append(append(out, byte(n-1)), want[:n]...)
			want = want[n:]
		}
	}
	return out
}

// TestRLE decodes frames of random planes, with numbers of every width, and no byte too few.
func TestRLE(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 4} {
		for _, samples := range []int{1, 3} {
			for _, pixels := range []int{1, 3, 8, 31, 4096, 5001} {
				want := make([]byte, pixels*samples*width)
				for i := 0; i < len(want); {
					v := byte(rng.Uint32())
					for n := 1 + rng.IntN(1+rng.IntN(300)); n > 0 && i < len(want); n-- {
						want[i] = v
						i++
					}
				}
				frame, last := make([]byte, 64), 0
				binary.LittleEndian.PutUint32(frame, uint32(samples*width))
				for k := range samples * width {
					plane := make([]byte, pixels)
					for i := range plane {
						plane[i] = want[i*samples*width+k/width*width+width-1-k%width]
					}
					binary.LittleEndian.PutUint32(frame[4+4*k:], uint32(len(frame)))
					last = len(frame)
					frame = append(frame, segment(rng, plane)...)
				}
				got, plane := make([]byte, len(want)), make([]byte, 2*pixels)
				if err := rleFrame(got, frame, pixels, samples, width, plane); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d pixels of %d samples of %d bytes: %v, or other values", pixels, samples, width, err)
				}
				for n := last; n < len(frame)-2; n += 1 + rng.IntN(200) {
					if err := rleFrame(got, frame[:n], pixels, samples, width, plane); err == nil {
						t.Fatalf("%d pixels of %d samples of %d bytes: %d of %d bytes are enough", pixels, samples, width, n, len(frame))
					}
				}
			}
		}
	}
}
