package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardify/shardify"
)

// Picture is an image in the memory of the device, and the part of it that is shown: struct picture
// of kernels.cu. One without an address becomes zeros.
type Picture struct {
	At              uint64
	Row, Col, Plane uint32 // bytes from one row, pixel, channel to the next
	Width, Height   uint32
	X0, Y0, X1, Y1  float32
	Mirrored        uint32
}

// PixelForm is what images become: U8 as they are, or F16, BF16 and F32, cast as Cast does it.
type PixelForm struct {
	Out                     uint64
	Width, Height, Channels int
	Last                    bool // channels are the last dimension, else the first
	To                      shardify.DType
	Scale, Shift            []float32 // of each channel, or nil
}

// The numbers of kernels.cu.
const (
	maxPictures     = 84
	maxCoefficients = 4096
	tileWidth       = 32
	tileHeight      = 8
	maxSide         = 1 << 16
)

// pictures is the parameter of the kernel pixels: struct pictures of kernels.cu.
type pictures struct {
	out                           uint64
	width, height, channels, last uint32
	to, each, scaled              uint32
	scale, shift                  [3]float32
	n                             uint32
	list                          [maxPictures]Picture
}

func (f *PixelForm) check() error {
	n := len(f.Scale)
	if f.Width < 1 || f.Width > maxSide || f.Height < 1 || f.Height > maxSide || f.Channels != 1 && f.Channels != 3 || n != len(f.Shift) || n != 0 && n != f.Channels {
		return fmt.Errorf("pixels of %dx%d, %d channels, %d scales and %d shifts", f.Height, f.Width, f.Channels, n, len(f.Shift))
	}
	if f.To != shardify.U8 && !slices.Contains(castTargets, f.To) || f.To == shardify.U8 && n > 0 {
		return fmt.Errorf("pixels as %v, %d scales: want u8, or f16, bf16 or f32", f.To, n)
	}
	return nil
}

func (p *Picture) check(f *PixelForm) error {
	within := func(lo, hi float32, size uint32) bool { return lo >= 0 && lo < hi && hi <= float32(size) }
	taps := func(lo, hi float32, n int) int { return 2*int(float64(hi-lo)/float64(n)) + 3 }
	switch {
	case p.At == 0:
		return nil
	case p.Width > maxSide || p.Height > maxSide || !within(p.X0, p.X1, p.Width) || !within(p.Y0, p.Y1, p.Height):
		return fmt.Errorf("part [%g, %g) x [%g, %g) of an image of %dx%d", p.Y0, p.Y1, p.X0, p.X1, p.Height, p.Width)
	case taps(p.X0, p.X1, f.Width)+taps(p.Y0, p.Y1, f.Height) > maxCoefficients:
		return shardify.Unsupported("part [%g, %g) x [%g, %g) becomes %dx%d on a GPU", p.Y0, p.Y1, p.X0, p.X1, f.Height, f.Width)
	}
	return nil
}

// Pixels makes one array of images, in order of a stream: a launch for each 84 of them.
func (d *Device) Pixels(stream uintptr, f *PixelForm, list []Picture) error {
	if err := f.check(); err != nil {
		return err
	}
	for i := range list {
		if err := list[i].check(f); err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
	}
	across, down := (f.Width+tileWidth-1)/tileWidth, (f.Height+tileHeight-1)/tileHeight
	p := &pictures{out: f.Out, width: uint32(f.Width), height: uint32(f.Height), channels: uint32(f.Channels), to: uint32(slices.Index(castSources, f.To))}
	p.each = uint32(min(across*down, maxItems/maxPictures))
	if f.Last {
		p.last = 1
	}
	if len(f.Scale) > 0 {
		p.scaled = 1
		copy(p.scale[:], f.Scale)
		copy(p.shift[:], f.Shift)
	}
	return d.do(func() error {
		if err := d.captured(stream); err != nil {
			return err
		}
		for len(list) > 0 {
			n := copy(p.list[:], list)
			p.n = uint32(n)
			if err := d.drv.launchStruct(d.kernels["pixels"], p.n*p.each, tileWidth*tileHeight, stream, unsafe.Pointer(p)); err != nil {
				return err
			}
			list = list[n:]
			p.out += uint64(n) * uint64(f.Width) * uint64(f.Height) * uint64(f.Channels*f.To.Size())
		}
		return nil
	})
}
