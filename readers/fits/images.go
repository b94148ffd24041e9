package fits

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/hdu"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

var images = arrayfile.Kind{Name: "fits", Title: "FITS", Key: "fits 1", Own: own, Look: lookImages}

// reader makes an io.ReaderAt of a file.
type reader struct{ f *arrayfile.File }

func (r reader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.f.ReadAt(p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lookImages says which images a file has.
func lookImages(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) {
	c, err := newContents(reader{f}, f.Size)
	if err == nil {
		err = c.choose(o)
	}
	if err != nil {
		return nil, err
	}
	if c.kind() == hdu.Tables {
		return nil, shardify.Unsupported("%s, where other files have images", describe(c.chosen[0]))
	}
	out := &arrayfile.Header{Remark: strings.Join(c.notes, "; ")}
	raw := !arrayfile.Scaled(o)
	for i, x := range c.chosen {
		im := &image{contents: c, x: x, sums: o[optSums] != "off"}
		if err := im.open(raw); err != nil {
			return nil, shardify.Annotate(err, "", "", x.String())
		}
		a := arrayfile.Array{Field: shardify.Field{Name: c.fieldOf(i), DType: im.DType}, Read: im.read}
		for _, d := range im.Shape {
			a.Shape = append(a.Shape, int(d))
		}
		if o[sampleaxis.SampleOption] == bySection {
			if len(a.Shape) < 2 {
				return nil, shardify.Unsupported("%v has %d axes: no sections", x, len(a.Shape))
			}
			if out.Sections > 0 && out.Sections != im.Shape[0] {
				return nil, shardify.Unsupported("%v has %d sections, %v has %d", x, im.Shape[0], c.chosen[0], out.Sections)
			}
			a.Shape, out.Sections = a.Shape[1:], im.Shape[0]
			im.sections = true
		}
		if unit, ok := x.Text("BUNIT"); ok && unit != "" {
			a.Attrs = map[string]string{"unit": unit}
		}
		out.Arrays = append(out.Arrays, a)
		out.Lines = append(out.Lines, describe(x))
		if raw {
			slope, inter := im.Scale()
			s, z := arrayfile.Numbers(a.Name+".slope", nil, slope), arrayfile.Numbers(a.Name+".inter", nil, inter)
			s.Asked, z.Asked = false, false
			out.Arrays = append(out.Arrays, s, z)
		}
	}
	out.Arrays = append(out.Arrays, c.cards()...)
	return out, nil
}

// fieldOf is the name of an image's field: image, or those of the extensions where there are several.
func (c *contents) fieldOf(i int) string {
	if len(c.chosen) == 1 {
		return "image"
	}
	name := func(x *hdu.HDU) string {
		if x.Name == "" {
			return "hdu" + strconv.Itoa(x.Index)
		}
		return strings.ToLower(x.Name)
	}
	x := c.chosen[i]
	number, again := x.Ver, false
	for _, other := range c.chosen[:i] {
		if name(other) != name(x) {
			continue
		}
		if again = true; other.Ver == x.Ver {
			number = int64(x.Index)
		}
	}
	if again {
		return fmt.Sprintf("%s_%d", name(x), number)
	}
	return name(x)
}

// cards are the keywords of the headers as fields, for those who name them.
func (c *contents) cards() []arrayfile.Array {
	taken := map[string]bool{}
	var out []arrayfile.Array
	for _, x := range append([]*hdu.HDU{c.chosen[0]}, &c.hdus[0]) {
		for _, k := range x.Header.Keywords() {
			if taken[k.Name] {
				continue
			}
			taken[k.Name] = true
			a := arrayfile.Array{Field: shardify.Field{Name: k.Name}, Asked: true}
			switch v := k.Value.(type) {
			case bool:
				a.DType, a.Value = shardify.Bool, []byte{0}
				if v {
					a.Value[0] = 1
				}
			case int64:
				a.DType, a.Value = shardify.I64, shardify.Bytes([]int64{v})
			case float64:
				a.DType, a.Value = shardify.F64, shardify.Bytes([]float64{v})
			case string:
				a.DType, a.Media, a.Levels, a.Rows, a.Value = shardify.U8, "txt", 1, int64(len(v)), []byte(v)
			}
			out = append(out, a)
		}
	}
	return out
}

// image is an image that is read.
type image struct {
	*contents
	*hdu.Image
	x        *hdu.HDU
	tiled    *hdu.Tiled
	sections bool
	sums     bool
	summed   sync.Once
	wrong    error
}

func (im *image) open(raw bool) (err error) {
	im.sums = im.sums && im.x.Summed()
	if im.x.Kind != hdu.Tiles {
		im.Image, err = im.x.Image(raw)
		return err
	}
	if im.packed {
		return shardify.Unsupported("a compressed image in a file that is packed by gzip; gunzip FILE unpacks it")
	}
	if im.tiled, err = im.x.Tiled(raw); err == nil {
		im.Image = im.tiled.Image
	}
	return err
}

const blockBytes = 128 << 10

var blocks = sync.Pool{New: func() any { b := make([]byte, blockBytes); return &b }}

var decoders = sync.Pool{New: func() any { return new(hdu.Decoder) }}

// read decodes samples [lo, hi).
func (im *image) read(ctx context.Context, lo, hi int64, dst []byte) error {
	err := im.readAll(ctx, lo, hi, dst)
	return shardify.Annotate(err, "read", "", im.x.String())
}

func (im *image) readAll(ctx context.Context, lo, hi int64, dst []byte) error {
	whole := !im.sections || lo == 0 && hi == im.Shape[0]
	if im.sums && (!whole || im.tiled != nil) && !im.packed {
		if im.summed.Do(func() { im.wrong = im.x.SumData(im.in) }); im.wrong != nil {
			return im.wrong
		}
	}
	if im.tiled != nil {
		if !im.sections {
			lo, hi = 0, im.Shape[0]
		}
		d := decoders.Get().(*hdu.Decoder)
		defer decoders.Put(d)
		return im.tiled.Decode(im.in, d, dst, lo, hi)
	}
	if !im.sections {
		lo = 0
	}
	n := int64(len(dst) / im.DType.Size())
	from := im.x.Data + n/max(hi-lo, 1)*lo*im.Width
	if !im.sections {
		from = im.x.Data
	}
	var src io.Reader = io.NewSectionReader(im.in, from, im.size-from)
	if im.packed {
		src = im.unpack()
		if _, err := io.CopyN(io.Discard, src, from); err != nil {
			return broken(err)
		}
	}
	sum, err := im.copy(ctx, src, dst, n, from)
	if err != nil {
		return err
	}
	if im.sums && whole {
		pad := make([]byte, max(min(im.x.Held, 1<<62)-n*im.Width, 0))
		if k, err := io.ReadFull(src, pad); err != nil && (!im.packed || err != io.ErrUnexpectedEOF && err != io.EOF) {
			return broken(err)
		} else if err := im.x.CheckSum(hdu.Sum(sum, pad[:k])); err != nil {
			return err
		}
	}
	if im.packed {
		return drain(src)
	}
	return nil
}

// copy converts n numbers, and returns their sum.
func (im *image) copy(ctx context.Context, src io.Reader, dst []byte, n, at int64) (sum uint32, err error) {
	buf := blocks.Get().(*[]byte)
	defer blocks.Put(buf)
	size, width := int64(im.DType.Size()), im.Width
	step := int64(blockBytes) / width
	for done := int64(0); done < n; done += step {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		k := min(step, n-done)
		to := dst[done*size : (done+k)*size]
		b := to
		if !im.Same() {
			b = (*buf)[:k*width]
		}
		if _, err := io.ReadFull(src, b); err != nil {
			return 0, broken(err)
		}
		if im.sums {
			sum = hdu.Sum(sum, b)
		}
		if err := im.Convert(to, b, at+done*width); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
