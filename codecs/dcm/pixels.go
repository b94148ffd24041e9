package dcm

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/images/jpeg"
)

// fragments are the places of a frame in a file.
type fragments struct {
	at, n []int64
}

// NewDecoder finds the frames of a file.
func NewDecoder(r io.ReaderAt, im *Image) (*Decoder, error) {
	d := &Decoder{r: r, im: im}
	if im.f.length >= 0 {
		return d, nil
	}
	return d, d.index()
}

// index finds the fragments of pixels, and which frame they belong to.
func (d *Decoder) index() error {
	f := d.im.f
	in := newInput(d.r, f.size)
	in.Pos, in.Ahead = f.at, 64
	var table []uint32
	var all fragments
	var offs []int64
	first := int64(0)
	for k := 0; ; k++ {
		b, err := in.Take(8)
		if err != nil {
			return err
		}
		tag, n := Tag(binary.LittleEndian.Uint16(b))<<16|Tag(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
		switch {
		case tag == tagSeqEnd:
			return d.assign(&all, offs, table)
		case tag != tagItem:
			return shardify.Corrupt(in.Pos-8, "element %v between the fragments of pixels", tag)
		case n == undefined || int64(n) > f.size-in.Pos:
			return shardify.Corrupt(in.Pos-8, "a fragment of %d bytes, and %d are left", n, f.size-in.Pos)
		case k == 0:
			if n%4 != 0 || int(n) > 4*d.im.Frames+4 {
				return shardify.Corrupt(in.Pos-8, "an offset table of %d bytes for %d frames", n, d.im.Frames)
			}
			if b, err = in.Take(int64(n)); err != nil {
				return err
			}
			for i := 0; i < len(b); i += 4 {
				table = append(table, binary.LittleEndian.Uint32(b[i:]))
			}
			first = in.Pos
		default:
			all.at, all.n, offs = append(all.at, in.Pos), append(all.n, int64(n)), append(offs, in.Pos-8-first)
			if err := in.Skip(int64(n)); err != nil {
				return err
			}
		}
	}
}

// assign gives each frame its fragments: one each, or as the offset table says.
func (d *Decoder) assign(all *fragments, offs []int64, table []uint32) error {
	frames, f := d.im.Frames, d.im.f
	switch {
	case len(all.at) == frames:
		for i := range all.at {
			d.frames = append(d.frames, fragments{all.at[i : i+1], all.n[i : i+1]})
		}
	case frames == 1 && len(all.at) > 0:
		if f.Syntax == rleSyntax || len(table) > 1 {
			return shardify.Corrupt(f.at, "%d fragments, an offset table of %d frames, and NumberOfFrames says 1", len(all.at), len(table))
		}
		d.frames = []fragments{*all}
	case len(table) == frames && frames > 0:
		k := 0
		for i := range table {
			if k >= len(offs) || offs[k] != int64(table[i]) {
				return shardify.Corrupt(f.at, "the offset table says byte %d for frame %d, where no fragment begins", table[i], i+1)
			}
			from := k
			for k++; k < len(offs) && (i+1 == len(table) || offs[k] < int64(table[i+1])); k++ {
			}
			d.frames = append(d.frames, fragments{all.at[from:k], all.n[from:k]})
		}
	default:
		return shardify.Unsupported("%d fragments for %d frames, and no offset table", len(all.at), frames)
	}
	return nil
}

// buffers are what frames are decoded with.
type buffers struct {
	src, plane []byte // a frame as it is stored, and planes of RLE
	jpeg       jpeg.Decoder
	lossless   lossless
}

// spares are those of other files: many have one frame each.
var spares = sync.Pool{New: func() any { return new(buffers) }}

// Read decodes frames [lo, hi) of pixels. A deflated data set is read from its beginning.
func (d *Decoder) Read(dst []byte, lo, hi int) error {
	d.buffers = spares.Get().(*buffers)
	defer func() {
		spares.Put(d.buffers)
		d.buffers = nil
	}()
	im := d.im
	size := im.FrameBytes()
	if im.f.length < 0 {
		for i := lo; i < hi; i++ {
			if err := d.packed(dst[(i-lo)*size:(i-lo+1)*size], &d.frames[i]); err != nil {
				return shardify.Annotate(err, "", "", "frame "+strconv.Itoa(i+1))
			}
		}
		return nil
	}
	perFrame := im.frameBits()
	from, to := int64(lo)*perFrame, int64(hi)*perFrame
	first, last := from/8, (to+7)/8
	swapped := im.f.big && im.allocated == 8 && im.f.vr == "OW"
	if swapped {
		first, last = first&^1, min((last+1)&^1, im.f.length)
	}
	if im.asStored() && !swapped {
		if err := im.f.bytes(d.r, dst, first); err != nil {
			return err
		}
		im.finish(dst)
		return nil
	}
	d.src = grown(d.src, int(last-first))
	if err := im.f.bytes(d.r, d.src, first); err != nil {
		return err
	}
	if swapped {
		for i := 0; i+1 < len(d.src); i += 2 {
			d.src[i], d.src[i+1] = d.src[i+1], d.src[i]
		}
	}
	if im.allocated == 1 {
		for i := range int64(hi-lo) * perFrame {
			bit := from - first*8 + i
			dst[i] = d.src[bit/8] >> (bit % 8) & 1
		}
		return nil
	}
	src := d.src[from/8-first:]
	for i := range hi - lo {
		im.plain(dst[i*size:(i+1)*size], src[int64(i)*perFrame/8:])
	}
	return nil
}

func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// bytes reads bytes of the element with the pixels.
func (f *File) bytes(r io.ReaderAt, dst []byte, from int64) error {
	if f.Syntax == deflatedLE {
		in := newInput(r, f.size)
		in.Pos = f.set
		in = in.Unpack()
		if err := in.Skip(f.at + from); err != nil {
			return err
		}
		return in.Fill(dst)
	}
	return readat.Full(r, dst, f.at+from)
}

// plain makes a frame of its stored bytes: numbers of the machine's order, samples of a pixel together.
func (im *Image) plain(dst, src []byte) {
	w, n := im.DType.Size(), im.Rows*im.Columns
	switch {
	case im.halved:
		for i := 0; i < n/2; i++ { // two lumas, then the chroma of both
			p, q := src[4*i:4*i+4], dst[6*i:6*i+6]
			q[0], q[1], q[2], q[3], q[4], q[5] = p[0], p[2], p[3], p[1], p[2], p[3]
		}
	case im.planar && im.Samples == 3:
		for s := range 3 {
			for i := range n {
				copy(dst[(i*3+s)*w:(i*3+s+1)*w], src[(s*n+i)*w:])
			}
		}
	default:
		copy(dst, src[:len(dst)])
	}
	im.finish(dst)
}

// asStored reports whether the numbers of a frame are in their order in the file.
func (im *Image) asStored() bool {
	return im.allocated > 1 && !im.halved && !(im.planar && im.Samples == 3)
}

// finish makes values of stored numbers, in place.
func (im *Image) finish(b []byte) {
	if im.f.big {
		voxels.Swap(b, im.DType.Size())
	}
	im.extend(b)
	im.toRGB(b)
}

// extend makes bits above those that are stored copies of the sign, or 0: they are no data.
func (im *Image) extend(b []byte) {
	k := im.allocated - im.stored
	if k == 0 || im.DType.IsFloat() {
		return
	}
	switch im.DType {
	case shardify.U8:
		for i := range b {
			b[i] = b[i] << k >> k
		}
	case shardify.I8:
		for i := range b {
			b[i] = byte(int8(b[i]<<k) >> k)
		}
	case shardify.U16:
		for i := 0; i+1 < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], binary.LittleEndian.Uint16(b[i:])<<k>>k)
		}
	case shardify.I16:
		for i := 0; i+1 < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], uint16(int16(binary.LittleEndian.Uint16(b[i:])<<k)>>k))
		}
	case shardify.U32:
		for i := 0; i+3 < len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], binary.LittleEndian.Uint32(b[i:])<<k>>k)
		}
	default:
		for i := 0; i+3 < len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], uint32(int32(binary.LittleEndian.Uint32(b[i:])<<k)>>k))
		}
	}
}

// The factors of the conversion from luma and chroma, as pydicom has them, in f32.
const (
	greenBlue = float32(-0.114 * 1.772 / 0.587)
	greenRed  = float32(-0.299 * 1.402 / 0.587)
	blue      = float32(1.772)
	red       = float32(1.402)
)

// toRGB makes RGB of luma and chroma.
func (im *Image) toRGB(b []byte) {
	if !im.ybr {
		return
	}
	for i := 0; i+2 < len(b); i += 3 {
		y, cb, cr := float32(b[i]), float32(b[i+1])-128, float32(b[i+2])-128
		b[i] = clip(y + float32(cr*red))
		b[i+1] = clip(y + float32(cb*greenBlue) + float32(cr*greenRed))
		b[i+2] = clip(y + float32(cb*blue))
	}
}

func clip(v float32) byte {
	return byte(max(0, min(255, math.Floor(float64(v+0.5)))))
}

// jpegStart is what a JPEG image begins with, and what is nowhere else in one.
var jpegStart = []byte("\xff\xd8\xff")

// packed decodes a frame of fragments.
func (d *Decoder) packed(dst []byte, f *fragments) error {
	im := d.im
	n := int64(0)
	for _, k := range f.n {
		n += k
	}
	src := grown(d.src, int(n))
	d.src = src
	for i, at := range f.at {
		if err := readat.Full(d.r, src[:f.n[i]], at); err != nil {
			return err
		}
		if i > 0 && bytes.HasPrefix(src, jpegStart) {
			return shardify.Corrupt(at, "fragment %d of the frame begins another image: NumberOfFrames is too small", i+1)
		}
		src = src[f.n[i]:]
	}
	src = d.src
	switch im.f.Syntax {
	case rleSyntax:
		d.plane = grown(d.plane, 2*im.Rows*im.Columns)
		if err := rleFrame(dst, src, im.Rows*im.Columns, im.Samples, im.allocated/8, d.plane); err != nil {
			return err
		}
	case jpegBase:
		if err := d.baseline(dst, src); err != nil {
			return err
		}
	default:
		if err := d.lossless.decode(dst, src, im); err != nil {
			return err
		}
	}
	im.extend(dst)
	im.toRGB(dst)
	return nil
}

// unconverted is an Adobe marker that says that colours are not converted.
var unconverted = []byte("\xff\xd8\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00")

// baseline decodes a JPEG frame. What its colours are the elements say, not the markers of the frame.
func (d *Decoder) baseline(dst, src []byte) error {
	im := d.im
	if im.allocated != 8 || im.signed {
		return shardify.Unsupported("JPEG baseline with BitsAllocated %d", im.allocated)
	}
	if im.Samples == 3 {
		var err error
		if src, err = unmarked(src); err != nil {
			return err
		}
	}
	h, err := d.jpeg.Open(src)
	if err != nil {
		return err
	}
	if h.W != im.Columns || h.H != im.Rows || h.Components != im.Samples {
		return shardify.Corrupt(-1, "the JPEG frame has %d x %d pixels of %d samples, the elements say %d x %d of %d", h.H, h.W, h.Components, im.Rows, im.Columns, im.Samples)
	}
	return d.jpeg.Decode(dst, jpeg.Options{Native: true})
}

// unmarked is a JPEG file without its markers of applications, and with one that says that colours are not converted.
func unmarked(src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte("\xff\xd8")) {
		return nil, shardify.Corrupt(-1, "no JPEG file in a fragment")
	}
	out := append(make([]byte, 0, len(src)+len(unconverted)), unconverted...)
	for src = src[2:]; len(src) >= 4 && src[0] == 0xff && src[1] != 0xda; {
		if src[1] == 0xff {
			src = src[1:]
			continue
		}
		n := 2 + int(binary.BigEndian.Uint16(src[2:]))
		if n > len(src) {
			return nil, shardify.Corrupt(-1, "a marker of a JPEG file goes beyond it")
		}
		if src[1]&0xf0 != 0xe0 {
			out = append(out, src[:n]...)
		}
		src = src[n:]
	}
	return append(out, src...), nil
}
