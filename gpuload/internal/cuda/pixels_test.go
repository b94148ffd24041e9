//go:build linux

package cuda

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/fakecuda"
)

// taps is the pixels that pixel i of a side of n shows, of a source of size, and their weights.
func taps(lo, hi float32, n, size, i int) (first int, k []int64) {
	step := float64(hi-lo) / float64(n)
	reach := max(step, 1)
	center := float64(lo) + (float64(i)+0.5)*step
	first = max(int(center-reach+0.5), 0)
	var w []float64
	all := 0.0
	for x := first; x < min(int(center+reach+0.5), size); x++ {
		v := max(1-math.Abs((float64(x)-center+0.5)*(1/reach)), 0)
		w, all = append(w, v), all+v
	}
	for _, v := range w {
		k = append(k, int64(0.5+v/all*(1<<22)))
	}
	return first, k
}

func rounded(sum int64) int64 { return min(max((sum+(1<<21))>>22, 0), 255) }

// TestPixelsAreExact compares the kernel with sums in Go; the tests of Python compare it with Pillow.
func TestPixelsAreExact(t *testing.T) {
	for _, build := range [][]string{nil, fakecuda.Default()} {
		d := newFake(t, build...).open(t, Options{})
		pixelsExactly(t, d)
		for _, bad := range []PixelForm{{Width: 1, Height: 1, Channels: 2}, {Width: 0, Height: 1, Channels: 1}, {Width: 1, Height: 1, Channels: 3, To: shardify.F32, Scale: []float32{1}, Shift: []float32{1}}, {Width: 1, Height: 1, Channels: 1, To: shardify.I32}} {
			if d.Pixels(0, &bad, nil) == nil {
				t.Errorf("pixels as %+v", bad)
			}
		}
	}
}

func pixelsExactly(t *testing.T, d *Device) {
	r := rand.New(rand.NewPCG(1, 2))
	s := stream(t, d)
	for range 12 {
		width, height, channels := 1+r.IntN(90), 1+r.IntN(90), 1+2*r.IntN(2)
		f := PixelForm{Width: 1 + r.IntN(40), Height: 1 + r.IntN(20), Channels: channels, Last: r.IntN(2) == 0, To: shardify.U8}
		pixel := channels + r.IntN(2)
		row := width*pixel + r.IntN(5)
		host := alloc(t, d, int64(row*height))
		fill(host, width)
		out := alloc(t, d, int64(2*f.Width*f.Height*channels))
		w, err := d.NewWindow(int64(len(host)))
		check(t, err)
		check(t, w.Load(0, host))
		check(t, w.Wait(t.Context()))
		to, err := d.NewWindow(int64(len(out)))
		check(t, err)
		x0, y0 := r.Float32()*float32(width)*0.9, r.Float32()*float32(height)*0.9
		p := Picture{At: w.mem.at, Row: uint32(row), Col: uint32(pixel), Plane: 1, Width: uint32(width), Height: uint32(height), X0: x0, Y0: y0, X1: float32(width), Y1: float32(height), Mirrored: uint32(r.IntN(2))}
		f.Out = to.mem.at
		check(t, d.Pixels(s, &f, []Picture{{}, p}))
		check(t, d.do(func() error { return d.drv.copyToHost(addressOf(out), f.Out, int64(len(out)), s) }))
		check(t, d.bracket(d.drv.synchronize))
		want := make([]byte, len(out))
		for y := range f.Height {
			top, ky := taps(p.Y0, p.Y1, f.Height, height, y)
			for x := range f.Width {
				left, kx := taps(p.X0, p.X1, f.Width, width, x)
				for c := range channels {
					all := int64(0)
					for j, b := range ky {
						sum := int64(0)
						for i, a := range kx {
							sum += a * int64(host[(top+j)*row+(left+i)*pixel+c])
						}
						all += b * rounded(sum)
					}
					column := x
					if p.Mirrored != 0 {
						column = f.Width - 1 - x
					}
					at := ((channels+c)*f.Height+y)*f.Width + column
					if f.Last {
						at = ((f.Height+y)*f.Width+column)*channels + c
					}
					want[at] = byte(rounded(all))
				}
			}
		}
		if !bytes.Equal(out, want) {
			t.Fatalf("%+v of %+v differs", f, p)
		}
		p.X1++
		if d.Pixels(s, &f, []Picture{p}) == nil {
			t.Error("a part outside of an image is shown")
		}
		check(t, w.Close())
		check(t, to.Close())
	}
}
