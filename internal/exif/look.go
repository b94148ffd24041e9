package exif

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
)

// How many images Look reads at most: a plan is made before every conversion, and must
// not wait for them.
const (
	PlanImages    = 32
	InspectImages = 128
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
	for _, s := range glance.Spread(ctx, src, images) {
		b, done := glance.Read(ctx, r, s)
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
