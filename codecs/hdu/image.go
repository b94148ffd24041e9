package hdu

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/voxels"
)

// Image is how the numbers of an image are stored, and what they become.
type Image struct {
	Shape  []int64 // slowest first
	Stored shardify.DType
	DType  shardify.DType
	Width  int64 // bytes of a stored number

	form        form
	scale, zero float64
	blank       int64
	hasBlank    bool
}

type form uint8

const (
	asStored form = iota
	flipped       // the top bit: unsigned numbers, or signed bytes
	scaled
)

var storedTypes = map[int64]shardify.DType{8: shardify.U8, 16: shardify.I16, 32: shardify.I32, 64: shardify.I64, -32: shardify.F32, -64: shardify.F64}

var unsigned = map[int64]struct {
	zero float64
	to   shardify.DType
}{8: {-128, shardify.I8}, 16: {1 << 15, shardify.U16}, 32: {1 << 31, shardify.U32}, 64: {1 << 63, shardify.U64}}

// Image is the image of an HDU, compressed or not. raw: the stored numbers are wanted, unscaled.
func (x *HDU) Image(raw bool) (*Image, error) {
	bitpix, shape := x.bitpix, x.shape
	if x.Kind == Tiles {
		var err error
		if bitpix, shape, err = x.tiledAxes(); err != nil {
			return nil, err
		}
	}
	im := &Image{Shape: shape, Stored: storedTypes[bitpix], Width: abs(bitpix) / 8}
	im.DType = im.Stored
	var err error
	if im.scale, err = x.number("BSCALE", 1); err != nil {
		return nil, err
	}
	if im.zero, err = x.number("BZERO", 0); err != nil {
		return nil, err
	}
	if raw {
		return im, nil
	}
	key := "BLANK"
	if _, ok := x.values[key]; !ok && x.Kind == Tiles {
		key = "ZBLANK"
	}
	if _, ok := x.values[key]; ok && bitpix > 0 {
		if im.blank, err = x.whole(key, 0); err != nil {
			return nil, err
		}
		im.hasBlank = true
	}
	u := unsigned[bitpix]
	switch {
	case bitpix > 0 && im.scale == 1 && im.zero == u.zero:
		im.form, im.DType = flipped, u.to
	case im.scale != 1 || im.zero != 0 || im.hasBlank:
		im.form, im.DType = scaled, shardify.F64
		if bitpix == 8 || bitpix == 16 || bitpix == -32 {
			im.DType = shardify.F32
		}
	}
	return im, nil
}

// Convert makes values of stored, big-endian numbers; src is changed. at is the place of the first in the file, for
// errors. dst and src may be the same where Same says so.
func (im *Image) Convert(dst, src []byte, at int64) error {
	if im.form == flipped && im.hasBlank {
		for i := 0; i < len(src); i += int(im.Width) {
			if integer(src[i:], int(im.Width)) == im.blank {
				return shardify.Unsupported("a blank value at byte %d of an image of unsigned numbers, which have none; --scaled no reads stored numbers", at+int64(i))
			}
		}
	}
	voxels.Swap(src, int(im.Width))
	switch {
	case im.form != scaled:
		copy(dst, src)
		flip(dst, int(im.Width), im.form)
	case im.DType == shardify.F32:
		im.scale32(dst, src)
	default:
		im.scale64(dst, src)
	}
	return nil
}

// Scale is how stored numbers would be scaled: by 1 and 0 where the header has no BSCALE and no BZERO.
func (im *Image) Scale() (scale, zero float64) { return im.scale, im.zero }

// Same reports whether values take the bytes of stored numbers, so that Convert may work in place.
func (im *Image) Same() bool { return im.form != scaled }

func flip(b []byte, width int, f form) {
	if f == flipped {
		for i := width - 1; i < len(b); i += width {
			b[i] ^= 0x80
		}
	}
}

// integer is a stored whole number.
func integer(b []byte, width int) int64 {
	switch width {
	case 1:
		return int64(b[0])
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

// The bits of NaN, as NumPy has them.
const (
	nan32 = 0x7fc00000
	nan   = 0x7ff8000000000000
)

// scale32 multiplies and adds in f32, as astropy does.
func (im *Image) scale32(dst, src []byte) {
	to := shardify.View[float32](dst)
	switch im.Stored {
	case shardify.U8:
		scale(to, src, float32(im.scale), float32(im.zero))
		blanks(to, shardify.View[uint8](src), im, math.Float32frombits(nan32))
	case shardify.I16:
		v := shardify.View[int16](src)
		scale(to, v, float32(im.scale), float32(im.zero))
		blanks(to, v, im, math.Float32frombits(nan32))
	default:
		scale(to, shardify.View[float32](src), float32(im.scale), float32(im.zero))
	}
}

func (im *Image) scale64(dst, src []byte) {
	to := shardify.View[float64](dst)
	switch im.Stored {
	case shardify.I32:
		v := shardify.View[int32](src)
		scale(to, v, im.scale, im.zero)
		blanks(to, v, im, math.Float64frombits(nan))
	case shardify.I64:
		v := shardify.View[int64](src)
		scale(to, v, im.scale, im.zero)
		blanks(to, v, im, math.Float64frombits(nan))
	default:
		scale(to, shardify.View[float64](src), im.scale, im.zero)
	}
}

// scale rounds the product and the sum each; a factor of 1 and a sum of 0 change nothing.
func scale[T shardify.Number, F float32 | float64](dst []F, src []T, factor, zero F) {
	dst = dst[:len(src)]
	switch {
	case factor == 1:
		for i, v := range src {
			dst[i] = F(v) + zero
		}
	case zero == 0:
		for i, v := range src {
			dst[i] = F(v) * factor
		}
	default:
		for i, v := range src {
			dst[i] = F(F(v)*factor) + zero
		}
	}
}

// blanks makes missing numbers NaN.
func blanks[T uint8 | int16 | int32 | int64, F float32 | float64](dst []F, src []T, im *Image, nan F) {
	if !im.hasBlank {
		return
	}
	for i, v := range src {
		if int64(v) == im.blank {
			dst[i] = nan
		}
	}
}
