package augment

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/jpeg"
	"github.com/shardify/shardify/transform/op"
)

// encode makes files of raw pixels.
type encode struct {
	glob, format string
	how          jpeg.Encoding
	decoding
	pool sync.Pool

	n    int
	plan []imageColumn
	out  []shardify.Field
}

func newEncode(a *args, _ Env) (shardify.Transform, error) {
	e := &encode{glob: a.text("field"), format: a.text("")}
	if e.format == "jpeg" {
		e.format = "jpg"
	}
	if e.format != "jpg" && e.format != "png" {
		return nil, fmt.Errorf("%q: want jpg or png", e.format)
	}
	var err error
	if e.decoding, err = newDecoding(a); err != nil {
		return nil, err
	}
	sampling := a.text("chroma")
	k := slices.Index([]string{"4:2:0", "4:2:2", "4:4:4"}, sampling)
	if k < 0 {
		return nil, fmt.Errorf("chroma=%s: want 4:2:0, 4:2:2 or 4:4:4", sampling)
	}
	e.how.Sampling = jpeg.Sampling(k)
	e.how.Quality, err = a.whole("quality", 1, 100)
	return e, err
}

// Needs names the field, if it is a name.
func (e *encode) Needs() []string { return plain([]string{e.glob}) }

// Schema makes encoded images of raw ones.
func (e *encode) Schema(in []shardify.Field) ([]shardify.Field, error) {
	mine, err := chosen(in, e.glob, func(f *shardify.Field) bool { return encoded(f) && targetOf(f) == "" || raw(f) || rawMask(f) }, "jpg, png, gif or webp images")
	if err != nil {
		return nil, err
	}
	e.n, e.plan, e.out = len(in), nil, nil
	for i := range in {
		f := in[i]
		if owner, ok := companionOf(in, i); ok && mine[owner] {
			continue
		}
		c := imageColumn{from: i, shape: -1}
		if mine[i] {
			c.picture = true
			if f.Ragged {
				c.shape = shardify.FieldIndex(in, f.Name+shardify.ShapeSuffix)
			}
			attrs := maps.Clone(f.Attrs)
			delete(attrs, AttrImage)
			if len(attrs) == 0 {
				attrs = nil
			}
			format := e.format
			if rawMask(&f) {
				if format, c.mask = "png", new(target{size: f.DType.Size()}); f.DType == shardify.U16 {
					attrs[attrWide] = "u16"
				} else if f.DType != shardify.U8 {
					return nil, shardify.Mismatch("class numbers of field %s are %v: PNG has u8 and u16", f.Name, f.DType)
				}
			}
			f = shardify.Field{Name: f.Name, DType: shardify.U8, Levels: 1, Media: format, Nullable: f.Nullable, Attrs: attrs}
		}
		e.plan, e.out = append(e.plan, c), append(e.out, f)
	}
	return e.out, nil
}

// Cost is at most as much again: encoded images are smaller than raw ones, but those
// that come encoded are decoded one by one.
func (e *encode) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 1.5, Sample: 256} }

// Apply encodes every picture of a batch.
func (e *encode) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, e.n); err != nil {
		return nil, err
	}
	s, _ := e.pool.Get().(*buffers)
	if s == nil {
		s = new(buffers)
	}
	defer e.pool.Put(s)
	s.decoding = e.decoding
	out := *b
	out.Columns = make([]shardify.Column, len(e.plan))
	for k, c := range e.plan {
		src := &b.Columns[c.from]
		if !c.picture {
			out.Columns[k] = *src
			continue
		}
		dst := shardify.Column{Field: e.out[k], Valid: src.Valid}
		var shape *shardify.Column
		if c.shape >= 0 {
			shape = &b.Columns[c.shape]
		}
		if err := e.column(&dst, src, shape, c.mask, b, s, mem); err != nil {
			return nil, err
		}
		out.Columns[k] = dst
	}
	return &out, nil
}

func (e *encode) column(dst, src, shape *shardify.Column, mask *target, b *shardify.Batch, s *buffers, mem *shardify.Arena) error {
	offsets := mem.Int64s(b.Samples + 1)
	offsets[0] = 0
	w := bytes.NewBuffer(s.out[:0])
	for i := range b.Samples {
		if present(src, i) {
			var err error
			if mask != nil {
				err = mask.write(w, src, shape, i, s)
			} else {
				var p picture
				if p, err = load(src, shape, i, s); err == nil {
					err = e.write(w, p, s)
				}
			}
			if err != nil {
				return shardify.Amend(err, func(x *shardify.Error) {
					x.Op, x.Field, x.Sample, x.At = "augment", src.Name, b.ID(i).Sample, new(b.ID(i))
				})
			}
		}
		offsets[i+1] = int64(w.Len())
	}
	s.out = w.Bytes()
	dst.Offsets = [][]int64{offsets}
	dst.Data = mem.Alloc(len(s.out))
	copy(dst.Data, s.out)
	return nil
}

// write encodes one picture.
func (e *encode) write(w *bytes.Buffer, p picture, s *buffers) error {
	if p.w == 0 || p.h == 0 {
		return shardify.Mismatch("an image of %d x %d pixels", p.w, p.h)
	}
	if e.format == "jpg" {
		out, err := s.encoder.Encode(w.AvailableBuffer(), p.pix, p.w, p.h, 3, e.how)
		w.Write(out)
		return err
	}
	m := image.NRGBA{Pix: grow(&s.one, 4*p.w*p.h), Stride: 4 * p.w, Rect: image.Rect(0, 0, p.w, p.h)}
	for i, k := 0, 0; i < len(p.pix); i, k = i+3, k+4 {
		m.Pix[k], m.Pix[k+1], m.Pix[k+2], m.Pix[k+3] = p.pix[i], p.pix[i+1], p.pix[i+2], 255
	}
	enc := png.Encoder{BufferPool: &s.pngBuffer}
	return enc.Encode(w, &m)
}

// rawMask reports whether a field holds class numbers as arrays.
func rawMask(f *shardify.Field) bool { return targetOf(f) == attrMask && f.Attrs[AttrImage] == hw }

// write encodes class numbers, as a grey PNG.
func (t *target) write(w *bytes.Buffer, src, shape *shardify.Column, i int, s *buffers) error {
	wide, high, pix, err := t.load(src, shape, i, s)
	if err != nil {
		return err
	}
	if wide == 0 || high == 0 {
		return shardify.Mismatch("a mask of %d x %d pixels", wide, high)
	}
	area, enc := image.Rect(0, 0, wide, high), png.Encoder{BufferPool: &s.pngBuffer}
	if t.size == 1 {
		return enc.Encode(w, &image.Gray{Pix: pix, Stride: wide, Rect: area})
	}
	deep := grow(&s.one, len(pix))
	for k := 0; k < len(pix); k += 2 {
		deep[k], deep[k+1] = pix[k+1], pix[k]
	}
	return enc.Encode(w, &image.Gray16{Pix: deep, Stride: 2 * wide, Rect: area})
}
