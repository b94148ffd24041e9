package dcm

import (
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
)

// Image is what the elements say of the pixels.
type Image struct {
	Frames, Rows, Columns, Samples int
	Photometric                    string
	DType                          shardify.DType

	f                 *File
	allocated, stored int
	signed, planar    bool
	ybr, halved       bool // colours are luma and chroma; of the chroma there is half
}

// short is a number of 16 bits.
func (f *File) short(tag Tag) (n int, ok bool, err error) {
	b, ok := f.value(tag)
	if !ok || len(b) == 0 {
		return 0, false, nil
	}
	if len(b) < 2 {
		return 0, false, shardify.Corrupt(-1, "element %v has %d bytes, not 2", tag, len(b))
	}
	if f.big {
		return int(binary.BigEndian.Uint16(b)), true, nil
	}
	return int(binary.LittleEndian.Uint16(b)), true, nil
}

// shorts reads numbers that must be there, or have another value where they are absent.
type shorts struct {
	f   *File
	err error
}

func (s *shorts) must(tag Tag) int {
	n, ok, err := s.f.short(tag)
	if err == nil && !ok {
		err = shardify.Corrupt(-1, "element %v is missing, which pixels need", tag)
	}
	if s.err == nil {
		s.err = err
	}
	return n
}

func (s *shorts) may(tag Tag, absent int) int {
	n, ok, err := s.f.short(tag)
	if s.err == nil {
		s.err = err
	}
	if !ok {
		return absent
	}
	return n
}

// Image checks what the elements say of the pixels, against the bytes that are there.
func (f *File) Image() (*Image, error) {
	s := shorts{f: f}
	im := &Image{f: f, Frames: 1, Samples: s.may(tagSamples, 1), Rows: s.must(tagRows), Columns: s.must(tagColumns)}
	if f.pixels != tagPixels {
		im.allocated, im.stored, im.DType = 32, 32, shardify.F32
		if f.pixels == tagDoubles {
			im.allocated, im.stored, im.DType = 64, 64, shardify.F64
		}
	} else {
		im.allocated, im.signed = s.must(tagAllocated), s.may(tagSigned, 0) == 1
		im.stored = s.may(tagStored, im.allocated)
		if high := s.may(tagHigh, im.stored-1); s.err == nil && high != im.stored-1 {
			return nil, shardify.Unsupported("HighBit %d where %d bits are stored", high, im.stored)
		}
	}
	im.planar = s.may(tagPlanar, 0) == 1
	if s.err != nil {
		return nil, s.err
	}
	if text, ok := f.Text(tagFrames); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1<<31-1 {
			return nil, shardify.Corrupt(-1, "NumberOfFrames is %.40q", text)
		}
		im.Frames = max(n, 1)
	}
	if err := im.bits(); err != nil {
		return nil, err
	}
	if err := im.colours(); err != nil {
		return nil, err
	}
	return im, im.room()
}

// bits checks how many bits a number has.
func (im *Image) bits() error {
	switch im.allocated {
	case 1, 8, 16, 32:
	case 64:
		if im.f.pixels != tagDoubles {
			return shardify.Unsupported("BitsAllocated 64")
		}
	default:
		return shardify.Unsupported("BitsAllocated %d: 1, 8, 16 and 32 are read", im.allocated)
	}
	if im.stored < 1 || im.stored > im.allocated {
		return shardify.Corrupt(-1, "BitsStored %d, of %d that are allocated", im.stored, im.allocated)
	}
	if im.DType != shardify.Invalid {
		return nil
	}
	types := map[int][2]shardify.DType{1: {shardify.U8, shardify.U8}, 8: {shardify.U8, shardify.I8}, 16: {shardify.U16, shardify.I16}, 32: {shardify.U32, shardify.I32}}
	if im.DType = types[im.allocated][0]; im.signed {
		im.DType = types[im.allocated][1]
	}
	return nil
}

// colours checks the photometric interpretation.
func (im *Image) colours() error {
	im.Photometric, _ = im.f.Text(tagPhotometric)
	if im.Samples != 1 && im.Samples != 3 {
		return shardify.Unsupported("%d samples a pixel: 1 and 3 are read", im.Samples)
	}
	switch im.Photometric {
	case "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR":
		if im.Samples != 1 {
			return shardify.Corrupt(-1, "%s with %d samples a pixel", im.Photometric, im.Samples)
		}
	case "RGB":
	case "YBR_FULL", "YBR_FULL_422":
		im.ybr = true
		im.halved = im.Photometric == "YBR_FULL_422" && im.f.length >= 0
		if im.allocated != 8 || im.Samples != 3 || im.halved && (im.planar || im.Columns%2 != 0) {
			return shardify.Unsupported("%s of %d bits and %d samples, %d columns", im.Photometric, im.allocated, im.Samples, im.Columns)
		}
	default:
		return shardify.Unsupported("PhotometricInterpretation %.40q", im.Photometric)
	}
	if im.ybr || im.Photometric == "RGB" {
		if im.Samples != 3 || im.allocated == 1 {
			return shardify.Corrupt(-1, "%s with %d samples a pixel of %d bits", im.Photometric, im.Samples, im.allocated)
		}
	}
	return nil
}

// Shape is that of all frames: one frame alone has no axis for frames, grey pixels none for colours.
func (im *Image) Shape() []int {
	shape := []int{im.Rows, im.Columns}
	if im.Frames > 1 {
		shape = append([]int{im.Frames}, shape...)
	}
	if im.Samples > 1 {
		shape = append(shape, im.Samples)
	}
	return shape
}

// FrameBytes is what a decoded frame takes.
func (im *Image) FrameBytes() int { return im.Rows * im.Columns * im.Samples * im.DType.Size() }

// frameBits is what a frame without compression takes in the file.
func (im *Image) frameBits() int64 {
	n := int64(im.Rows) * int64(im.Columns) * int64(im.Samples) * int64(im.allocated)
	if im.halved {
		n = n / 3 * 2
	}
	return n
}

// room refuses more pixels than the bytes can hold.
func (im *Image) room() error {
	if im.Rows == 0 || im.Columns == 0 {
		return shardify.Corrupt(-1, "an image of %d rows and %d columns", im.Rows, im.Columns)
	}
	f := im.f
	hi, need := bits.Mul64(uint64(im.frameBits()), uint64(im.Frames))
	switch {
	case hi != 0 || need > 1<<60:
		return shardify.Corrupt(-1, "%d frames of %d x %d pixels are more than any file holds", im.Frames, im.Rows, im.Columns)
	case f.length >= 0:
		if need = (need + 7) / 8; int64(need) > f.length {
			return shardify.Corrupt(f.at, "the pixels have %d bytes, %d frames of %d x %d need %d: %d are missing", f.length, im.Frames, im.Rows, im.Columns, need, int64(need)-f.length)
		}
		if more := (f.length - int64(need+need&1)) / ((im.frameBits() + 7) / 8); more > 0 {
			return shardify.Corrupt(f.at, "the pixels have %d bytes, %d frames of %d x %d need %d: %d frames more are there than NumberOfFrames says", f.length, im.Frames, im.Rows, im.Columns, need, more)
		}
		limit := f.size
		if f.Syntax == deflatedLE {
			limit = (f.size - f.set) * inflate.Most
		}
		if have := limit - f.at; int64(need) > have {
			return shardify.Corrupt(f.at, "the file ends within the pixels: %d of %d bytes are missing", int64(need)-have, need)
		}
	case f.Syntax != rleSyntax && f.Syntax != jpegBase && f.Syntax != jpegLossless && f.Syntax != jpegLossless1:
		return shardify.Corrupt(f.at, "pixels in fragments, which transfer syntax %s does not have", f.Syntax)
	case int64(need/8) > (f.size-f.at)*maxRatio:
		return shardify.Corrupt(f.at, "%d bytes of fragments for %d bytes of pixels", f.size-f.at, need/8)
	}
	if f.length < 0 != (f.Syntax == rleSyntax || f.Syntax == jpegBase || f.Syntax == jpegLossless || f.Syntax == jpegLossless1) {
		return shardify.Corrupt(f.at, "pixels without fragments in transfer syntax %s", f.Syntax)
	}
	return nil
}

// maxRatio is how many bytes of pixels a byte of a fragment may become: 64 of RLE, and more of JPEG, where a bit is at
// least a part of a block of 64 pixels.
const maxRatio = 1024

// Rescale is slope and intercept; ok is false without them.
func (f *File) Rescale() (slope, inter float64, ok bool, err error) {
	a, err := f.Numbers(tagSlope, 1)
	if err != nil {
		return 0, 0, false, err
	}
	b, err := f.Numbers(tagIntercept, 1)
	if err != nil || a == nil || b == nil {
		return 1, 0, false, err
	}
	return a[0], b[0], true, nil
}

// PerFrame reports whether frames have attributes of their own, and the file has no slope for all.
func (f *File) PerFrame() bool {
	_, ok := f.Text(tagSlope)
	return !ok && f.perFrame
}

// Decoder decodes frames.
type Decoder struct {
	r      io.ReaderAt
	im     *Image
	frames []fragments // of pixels in fragments
	*buffers
}
