package augment

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestCheckTakesEveryKindOfImage: an image of 0 bytes is damaged, whatever its kind, and a
// sound one of a kind that is not decoded here is counted by kind.
func TestCheckTakesEveryKindOfImage(t *testing.T) {
	avif := "\x00\x00\x00\x20ftypavif\x00\x00"
	for _, media := range []string{"jpg", "png", "gif", "webp", "image", "tif", "bmp", "avif", "heic", "jp2", "jxl", "ppm"} {
		f := shardify.Field{Name: "x", DType: shardify.U8, Levels: 1, Media: media, Nullable: true}
		batch := func(files string, at int64) *shardify.Batch {
			return &shardify.Batch{Samples: 3, First: shardify.ID{Sample: 7}, Columns: []shardify.Column{{
				Field: f, Data: []byte(files), Offsets: [][]int64{{0, int64(len(avif)), at, int64(len(files))}}, Valid: []byte{1, 1, 0},
			}}}
		}
		s, err := Parse("check")
		if err != nil {
			t.Fatal(err)
		}
		tr, err := s.New(Env{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Schema([]shardify.Field{f}); err != nil {
			t.Errorf("%s: %v", media, err)
			continue
		}
		_, err = tr.Apply(batch(avif, int64(len(avif))), seed, arena(t))
		var e *shardify.Error
		if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.Sample != 8 || !strings.Contains(err.Error(), "0 bytes") {
			t.Errorf("%s of 0 bytes: %v", media, err)
		}
		out, err := tr.Apply(batch(avif+avif, int64(2*len(avif))), seed, arena(t))
		if err != nil || len(out.Counts) != 1 || out.Counts[0].N != 2 || out.Counts[0].Name != "x: not checked, as an AVIF image of this form is not decoded here" {
			t.Errorf("%s: %v, %v", media, out.Counts, err)
		}
	}
}
