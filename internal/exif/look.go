package exif

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
)

// What Look reads at most: images, and their decoded bytes.
const (
	mostImages = 128
	mostBytes  = 32 << 20
	spanBytes  = 8 << 20
	maxSpans   = 1 << 20
)

// Look reads some images, spread over all, and says how many have a tag that turns them:
// "" if none has, or if the source has no images that can be read one by one. What cannot
// be read is left to those who read all. `also`, if it is not nil, gets every image: that of
// sample k of a batch, in a column.
func Look(ctx context.Context, src shardify.Source, also func(b *shardify.Batch, c *shardify.Column, k int)) string {
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
	looked, turned := 0, 0
	for _, s := range spread(ctx, src) {
		b, done := read(ctx, src, s)
		for _, i := range fields {
			for k := 0; b != nil && k < b.Samples; k++ {
				lo, hi := b.Columns[i].Range(k, k+1)
				if also != nil {
					also(b, &b.Columns[i], k)
				}
				if looked++; Orientation(b.Columns[i].Data[lo:hi]) != 1 {
					turned++
				}
			}
		}
		done()
	}
	if turned == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d images looked at have an EXIF tag that turns them: loaders that ignore it see them as they are stored; --augment orient turns the pixels", turned, looked)
}

// spread is single samples of spans that may be read in any order, evenly over all.
func spread(ctx context.Context, src shardify.Source) (list []shardify.Span) {
	every, n := 1, 0
	for s, err := range src.Spans(ctx, spanBytes) {
		if n++; err != nil || ctx.Err() != nil || n > maxSpans {
			break
		}
		if s.Run != 0 || s.Samples() == 0 || (n-1)%every != 0 {
			continue
		}
		if list = append(list, s); len(list) == 2*mostImages {
			for i := range mostImages {
				list[i] = list[2*i]
			}
			list, every = list[:mostImages], 2*every
		}
	}
	var bytes int64
	var out []shardify.Span
	each := mostImages / int64(max(len(list), 1))
	for _, s := range list {
		n := s.Samples()
		for k := range min(max(each, 1), n) {
			one := s
			one.Lo += k * (n / min(max(each, 1), n))
			one.Hi, one.Bytes = one.Lo+1, s.Bytes/n+1
			if bytes += one.Bytes; bytes > mostBytes {
				return out
			}
			out = append(out, one)
		}
	}
	return out
}

// read reads a span; b is nil if it cannot be.
func read(ctx context.Context, src shardify.Source, s shardify.Span) (b *shardify.Batch, done func()) {
	mem, err := shardify.NewPool(mostBytes).Grant(ctx, s.Bytes)
	if err != nil {
		return nil, func() {}
	}
	r, err := src.Reader(s.Run)
	if err == nil {
		defer r.Close()
		b, err = r.Read(ctx, s, mem)
	}
	if err != nil || b.Check() != nil {
		b = nil
	}
	return b, mem.Release
}
