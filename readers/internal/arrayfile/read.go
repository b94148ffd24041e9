package arrayfile

import (
	"context"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// worker reads the spans of one reader.
type worker struct {
	file *File
	*blocks
}

// blocks are a block as it is stored, and planes that are to be turned.
type blocks struct{ raw, out []byte }

// spares are the blocks of closed readers: many read one file each.
var spares = sync.Pool{New: func() any { return new(blocks) }}

// Take implements set.Worker.
func (w *worker) Take(f *File, _ *set.Input, _ *shardify.Batch) error {
	if w.file = f; w.blocks == nil {
		w.blocks = spares.Get().(*blocks)
	}
	return nil
}

// Drop implements set.Worker.
func (w *worker) Drop() { w.file = nil }

// Close implements set.Worker.
func (w *worker) Close() {
	if w.blocks != nil {
		spares.Put(w.blocks)
		w.blocks = nil
	}
}

// Read implements set.Worker.
func (w *worker) Read(ctx context.Context, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	if n := w.file.samples(); n != in.Samples {
		return changed("it has %d samples, had %d", n, in.Samples)
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		if in.Field(i) < 0 {
			continue
		}
		var a *Array
		if k := slices.IndexFunc(w.file.Arrays, func(a Array) bool { return a.Name == c.Name }); k >= 0 {
			a = &w.file.Arrays[k]
		} else if a = w.file.made(c.Name); a == nil {
			return changed("it has no field %s", c.Name)
		}
		if a.DType != c.DType || a.Levels != c.Levels || !slices.Equal(a.Shape, c.Shape) {
			return changed("field %s is %s %v, was %s %v", c.Name, a.DType, a.Shape, c.DType, c.Shape)
		}
		if err := w.column(ctx, a, sp, c, mem); err != nil {
			if a.In != nil && a.In != w.file {
				err = shardify.Annotate(err, "read", a.In.path, "")
			}
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Field == "" {
					e.Field = c.Name
				}
			})
		}
	}
	return nil
}

// column reads samples of a field.
func (w *worker) column(ctx context.Context, a *Array, sp shardify.Span, c *shardify.Column, mem *shardify.Arena) error {
	if a.Levels > 0 {
		off := mem.Int64s(2)
		off[0], off[1] = 0, a.Rows
		c.Offsets = [][]int64{off}
	}
	n := sp.Samples()
	c.Data = mem.Alloc(int(n * a.values() * int64(a.DType.Size())))
	switch {
	case a.Value != nil:
		for at := 0; at < len(c.Data); {
			at += copy(c.Data[at:], a.Value)
		}
		return nil
	case a.Read != nil:
		return a.Read(ctx, sp.Lo, sp.Hi, c.Data)
	}
	src := &feed{ctx: ctx, f: a.In, at: a.At + sp.Lo*a.sampleBytes()}
	if err := src.open(); err != nil {
		return err
	}
	defer src.close()
	dims := a.turned()
	if dims == nil {
		if err := w.straight(src, a, c.Data); err != nil {
			return err
		}
		return src.end()
	}
	each := len(c.Data) / int(n)
	for data := c.Data; len(data) > 0; data = data[each:] {
		if err := w.sample(src, a, dims, data[:each]); err != nil {
			return err
		}
	}
	return src.end()
}

// feed reads the bytes of a file in order.
type feed struct {
	ctx context.Context
	f   *File
	at  int64
	gz  *stream
}

// inOrder is how many packed bytes are read at once.
const inOrder = 256 << 10

func (s *feed) open() (err error) {
	if s.f.Packed {
		s.gz, err = s.f.stream(s.at, inOrder)
	}
	return err
}

func (s *feed) close() {
	if s.gz != nil {
		s.gz.close()
	}
}

// fill fills p, by pieces between which a cancelled run ends.
func (s *feed) fill(p []byte) error {
	for len(p) > 0 {
		if err := context.Cause(s.ctx); err != nil {
			return err
		}
		piece := p[:min(len(p), 1<<20)]
		var err error
		if s.gz != nil {
			err = s.gz.fill(piece)
		} else {
			err = readat.Full(s.f, piece, s.at)
		}
		if err != nil {
			return err
		}
		s.at += int64(len(piece))
		p = p[len(piece):]
	}
	return nil
}

// end compares the checksum of a packed file.
func (s *feed) end() error {
	if s.gz != nil {
		return s.gz.finish()
	}
	return nil
}

// blockBytes is about what is read and converted at once; it stays in the cache.
const blockBytes = 128 << 10

// straight reads values in their order.
func (w *worker) straight(src *feed, a *Array, dst []byte) error {
	if a.Kernel == nil {
		block := len(dst)
		if a.Swap > 1 {
			block = blockBytes
		}
		for len(dst) > 0 {
			p := dst[:min(len(dst), block)]
			if err := src.fill(p); err != nil {
				return err
			}
			voxels.Swap(p, a.Swap)
			dst = dst[len(p):]
		}
		return nil
	}
	size := a.DType.Size()
	for each := blockBytes / (size * a.width()) * size * a.width(); len(dst) > 0; {
		n := min(len(dst)/size, each/a.width())
		if err := w.block(src, a, dst[:n*size]); err != nil {
			return err
		}
		dst = dst[n*size:]
	}
	return nil
}

// block reads and converts values.
func (w *worker) block(src *feed, a *Array, dst []byte) error {
	n := len(dst) / a.DType.Size() * a.width()
	w.raw = voxels.Grow(w.raw, n)
	if err := src.fill(w.raw); err != nil {
		return err
	}
	voxels.Swap(w.raw, a.Swap)
	a.Kernel(dst, w.raw)
	return nil
}
