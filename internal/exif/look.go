package exif

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// How many images Look reads at most: a plan is made before every conversion, and must
// not wait for them.
const (
	PlanImages    = 32
	InspectImages = 128
)

const (
	mostBytes = 32 << 20 // decoded
	spanBytes = 8 << 20
	maxSpans  = 1 << 20
	together  = 4        // images that follow each other: cheap where pages are decoded whole
	mostSpans = 64 << 20 // bytes of the spans they are from, which may be decoded whole, too
)

// Look reads some images, at most as many as `images`, spread over all, and says how many have a tag that turns them:
// "" if none has, or if the source has no images that can be read one by one. What cannot
// be read is left to those who read all. `also`, if it is not nil, gets every image: that of
// sample k of a batch, in a column. Without it the values that a source can show are enough.
func Look(ctx context.Context, src shardify.Source, images int, also func(b *shardify.Batch, c *shardify.Column, k int)) string {
	schema := src.Schema()
	var fields []int
	for i := range schema {
		if f := &schema[i]; f.Levels == 1 && slices.Contains([]string{"jpg", "png", "webp", "tif", "image"}, f.Media) {
			fields = append(fields, i)
		}
	}
	if fields == nil {
		return ""
	}
	t := tally{also: also}
	if p, ok := src.(format.Previewer); ok && also == nil {
		for _, i := range fields {
			p.Preview(ctx, schema[i].Name, max(images/len(fields), 1), t.add)
		}
	}
	if t.looked == 0 {
		t.read(ctx, src, fields, images)
	}
	if t.turned == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d images looked at have an EXIF tag that turns them: loaders that ignore it see them as they are stored; --augment orient turns the pixels", t.turned, t.looked)
}

// tally counts images.
type tally struct {
	looked, turned int
	also           func(b *shardify.Batch, c *shardify.Column, k int)
}

func (t *tally) add(image []byte) {
	if t.looked++; Orientation(image) != 1 {
		t.turned++
	}
}

// read counts those of samples.
func (t *tally) read(ctx context.Context, src shardify.Source, fields []int, images int) {
	r, err := src.Reader(0)
	if err != nil {
		return
	}
	defer r.Close()
	for _, s := range spread(ctx, src, images) {
		b, done := read(ctx, r, s)
		for _, i := range fields {
			for k := 0; b != nil && k < b.Samples; k++ {
				lo, hi := b.Columns[i].Range(k, k+1)
				if t.also != nil {
					t.also(b, &b.Columns[i], k)
				}
				t.add(b.Columns[i].Data[lo:hi])
			}
		}
		done()
	}
}

// spread is the first samples of spans that may be read in any order, evenly over all.
func spread(ctx context.Context, src shardify.Source, images int) (out []shardify.Span) {
	list := spans(ctx, src, images/together)
	var whole, bytes int64
	for i, s := range list {
		if whole += s.Bytes; whole > mostSpans {
			list = evenly(list, max(i, 1))
			break
		}
	}
	each := int64(images / max(len(list), 1))
	for _, s := range list {
		n := min(each, s.Samples())
		size := s.Bytes/s.Samples() + 1
		n = min(n, (mostBytes-bytes)/size)
		if n < 1 {
			return out
		}
		bytes += n * size
		s.Hi, s.Bytes = s.Lo+n, n*size
		out = append(out, s)
	}
	return out
}

// spans is at most as many spans as wanted, evenly over all.
func spans(ctx context.Context, src shardify.Source, most int) (list []shardify.Span) {
	every, n := 1, 0
	for s, err := range src.Spans(ctx, spanBytes) {
		if n++; err != nil || ctx.Err() != nil || n > maxSpans {
			break
		}
		if s.Run != 0 || s.Samples() == 0 || (n-1)%every != 0 {
			continue
		}
		if list = append(list, s); len(list) == 2*most {
			for i := range most {
				list[i] = list[2*i]
			}
			list, every = list[:most], 2*every
		}
	}
	return evenly(list, min(most, len(list)))
}

// evenly is n of a list.
func evenly(list []shardify.Span, n int) []shardify.Span {
	for i := range n {
		list[i] = list[i*len(list)/n]
	}
	return list[:n]
}

// read reads a span; b is nil if it cannot be.
func read(ctx context.Context, r shardify.Reader, s shardify.Span) (b *shardify.Batch, done func()) {
	mem, err := shardify.NewPool(mostBytes).Grant(ctx, s.Bytes)
	if err != nil {
		return nil, func() {}
	}
	if b, err = r.Read(ctx, s, mem); err != nil || b.Check() != nil {
		b = nil
	}
	return b, mem.Release
}
