package hdu

import (
	"context"
	"io"
	"sync"

	"github.com/shardify/shardify"
)

// Pixels reads the numbers of an image of a file.
type Pixels struct {
	*Image
	f      *File
	x      *HDU
	tiled  *Tiled
	sums   bool
	summed sync.Once
	wrong  error
}

// Pixels prepares reading an image. raw: the stored numbers. sums: they are compared with DATASUM, if there is one.
func (f *File) Pixels(x *HDU, raw, sums bool) (p *Pixels, err error) {
	p = &Pixels{f: f, x: x, sums: sums && x.Summed()}
	if x.Kind != Tiles {
		p.Image, err = x.Image(raw)
	} else if f.Packed {
		return nil, shardify.Unsupported("a compressed image in a file that is packed by gzip; gunzip FILE unpacks it")
	} else if p.tiled, err = x.Tiled(raw); err == nil {
		p.Image = p.tiled.Image
	}
	if err == nil && len(p.Shape) == 0 {
		err = shardify.Corrupt(x.Data, "an image without axes")
	}
	return p, err
}

const blockBytes = 128 << 10

var blocks = sync.Pool{New: func() any { b := make([]byte, blockBytes); return &b }}

var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// Read decodes the places [lo, hi) along the first axis. All of them are one read, without a pass over the data before.
func (p *Pixels) Read(ctx context.Context, lo, hi int64, dst []byte) error {
	return shardify.Annotate(p.read(ctx, lo, hi, dst), "read", "", p.x.String())
}

func (p *Pixels) read(ctx context.Context, lo, hi int64, dst []byte) error {
	f, whole := p.f, lo == 0 && hi == p.Shape[0]
	if p.sums && (!whole || p.tiled != nil) && !f.Packed {
		if p.summed.Do(func() { p.wrong = p.x.SumData(f.in) }); p.wrong != nil {
			return p.wrong
		}
	}
	if p.tiled != nil {
		d := decoders.Get().(*Decoder)
		defer decoders.Put(d)
		return p.tiled.Decode(f.in, d, dst, lo, hi)
	}
	n := int64(len(dst) / p.DType.Size())
	from := p.x.Data + n/max(hi-lo, 1)*lo*p.Width
	var src io.Reader = io.NewSectionReader(f.in, from, f.size-from)
	if f.Packed {
		src = f.unpack()
		if _, err := io.CopyN(io.Discard, src, from); err != nil {
			return broken(err)
		}
	}
	sum, err := p.copy(ctx, src, dst, n, from)
	if err != nil {
		return err
	}
	if p.sums && whole {
		pad := make([]byte, max(min(p.x.Held, 1<<62)-n*p.Width, 0))
		if k, err := io.ReadFull(src, pad); err != nil && (!f.Packed || err != io.ErrUnexpectedEOF && err != io.EOF) {
			return f.broken(err)
		} else if err := p.x.CheckSum(Sum(sum, pad[:k])); err != nil {
			return err
		}
	}
	if f.Packed {
		return drain(src)
	}
	return nil
}

// copy converts n numbers, and returns their sum.
func (p *Pixels) copy(ctx context.Context, src io.Reader, dst []byte, n, at int64) (sum uint32, err error) {
	f, buf := p.f, blocks.Get().(*[]byte)
	defer blocks.Put(buf)
	size, width := int64(p.DType.Size()), p.Width
	step := int64(blockBytes) / width
	for done := int64(0); done < n; done += step {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		k := min(step, n-done)
		to := dst[done*size : (done+k)*size]
		b := to
		if !p.Same() {
			b = (*buf)[:k*width]
		}
		if _, err := io.ReadFull(src, b); err != nil {
			return 0, f.broken(err)
		}
		if p.sums {
			sum = Sum(sum, b)
		}
		if err := p.Convert(to, b, at+done*width); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
