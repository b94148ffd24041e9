package augment

import (
	"bytes"
	"errors"
	"image"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/guard"
	"github.com/shardify/shardify/transform/op"
)

// check decodes images and passes on what was encoded: damaged ones, and those of 0 bytes, are errors.
type check struct {
	glob string
	mine []bool
	pool sync.Pool
}

func newCheck(a *args, _ Env) (shardify.Transform, error) {
	c := &check{glob: a.text("field")}
	_, err := path.Match(c.glob, "")
	return c, err
}

// Needs names the field, if it is a name.
func (c *check) Needs() []string { return plain([]string{c.glob}) }

// Schema is as it was.
func (c *check) Schema(in []shardify.Field) (_ []shardify.Field, err error) {
	c.mine, err = chosen(in, c.glob, func(f *shardify.Field) bool { return f.Levels == 1 && filekind.IsImage(f.Media) }, "images")
	return in, err
}

// Cost is what there was: pictures are decoded one at a time.
func (c *check) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 1} }

// Apply decodes every image of a batch. Those of kinds without a decoder are counted.
func (c *check) Apply(b *shardify.Batch, _ uint64, _ *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, len(c.mine)); err != nil {
		return nil, err
	}
	s, _ := c.pool.Get().(*buffers)
	if s == nil {
		s = new(buffers)
	}
	defer c.pool.Put(s)
	s.upper = true // pixels are not kept
	out := op.Fork(b)
	for k := range b.Columns {
		col := &b.Columns[k]
		var unknown map[string]int64 // by kind
		for i := 0; c.mine[k] && i < b.Samples; i++ {
			if !present(col, i) {
				continue
			}
			lo, hi := col.Range(i, i+1)
			switch _, err := s.decode(col.Data[lo:hi]); {
			case errors.Is(err, shardify.ErrUnsupported):
				if unknown == nil {
					unknown = map[string]int64{}
				}
				unknown[filekind.NameOf(col.Data[lo:hi])]++
			case err != nil:
				return nil, shardify.Amend(err, func(e *shardify.Error) {
					e.Op, e.Field, e.Sample, e.At = "check", col.Name, b.ID(i).Sample, new(b.ID(i))
				})
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(unknown)) {
			op.Count(out, unknown[kind], "%s: not checked, as %s of this form is not decoded here", col.Name, kind)
		}
	}
	return out, nil
}

// CheckImage decodes an encoded image and says how many pixels it claims to have. One with
// more than most is not decoded, nor is one of a kind without a decoder: that is
// ErrUnsupported.
func CheckImage(b []byte, most int) (pixels int, err error) {
	s := &buffers{decoding: decoding{upper: true}}
	if isJPEG(b) {
		w, h, err := s.open(b)
		if err != nil {
			return 0, err
		}
		if h > most/w {
			return 0, shardify.Unsupported("an image of %d x %d pixels", w, h)
		}
		_, err = s.decode(b)
		return w * h, err
	}
	err = guard.Do(func() error {
		cfg, _, err := image.DecodeConfig(bytes.NewReader(b))
		if err != nil || cfg.Width <= 0 || cfg.Height <= 0 {
			return nil // decode says it
		}
		if cfg.Height > most/cfg.Width {
			return shardify.Unsupported("an image of %d x %d pixels", cfg.Width, cfg.Height)
		}
		pixels = cfg.Width * cfg.Height
		return nil
	})
	if err == nil {
		_, err = s.decode(b)
	}
	return pixels, err
}
