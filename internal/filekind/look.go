package filekind

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/images/exif"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/internal/glance"
)

// How many images Look reads at most: a plan is made before every conversion, and must
// not wait for them.
const (
	PlanImages    = 32
	InspectImages = 128
)

// Look reads some images, at most as many as `images`, spread over all, and says how many have a tag that turns them,
// and how many have 16 bits a channel: one fact a line, nothing if the source has no images that can be read one
// by one. Images that cannot be read are left to passes over all. `upright` says that the
// conversion turns them. `also`, if it is not nil, gets every image: that of
// sample k of a batch, in a column. Without it the values that a source can show are enough.
func Look(ctx context.Context, src shardify.Source, images int, upright bool, also func(b *shardify.Batch, c *shardify.Column, k int)) (facts []string) {
	schema := src.Schema()
	var fields []int
	for i := range schema {
		if f := &schema[i]; f.Levels == 1 && IsImage(f.Media) {
			fields = append(fields, i)
		}
	}
	if fields == nil {
		return nil
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
	if t.turned > 0 && !upright {
		facts = append(facts, fmt.Sprintf("%d of %d images looked at have an EXIF tag that turns them: loaders that ignore it see them as they are stored; --augment orient turns the pixels", t.turned, t.looked))
	}
	if t.grey > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d images looked at are grey with 16 bits a pixel: the Loader delivers their bytes, and does not decode them; --augment decode=u16 makes their pixels, decode=u8,bits16=upper keeps the upper 8 bits", t.grey, t.looked))
	}
	if t.deep > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d images looked at have colours of 16 bits a channel: the Loader delivers their bytes, and does not decode them; --augment decode=u8,bits16=upper keeps the upper 8 bits", t.deep, t.looked))
	}
	return facts
}

// tally counts images.
type tally struct {
	looked, turned int
	grey, deep     int // PNG of 16 bits a channel: grey alone, others
	also           func(b *shardify.Batch, c *shardify.Column, k int)
}

func (t *tally) add(image []byte) {
	if t.looked++; exif.Orientation(image) != 1 {
		t.turned++
	}
	switch deep, grey := png.Deep(image); {
	case grey:
		t.grey++
	case deep:
		t.deep++
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
