package augment

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestTIFFIsRefusedByName: with two commands that convert the files.
func TestTIFFIsRefusedByName(t *testing.T) {
	in := []shardify.Field{{Name: "tif", DType: shardify.U8, Levels: 1, Media: "tif"}}
	_, err := chosen(in, "*", encoded, "jpg, png, gif or webp images")
	err = shardify.Misused(err) // as operations are compiled
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "tif holds TIFF images, which are not decoded") || len(shardify.Hints(err)) != 2 {
		t.Errorf("%v, hints %q", err, shardify.Hints(err))
	}
}
