package fields

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// TestRenameTakesCompanionsAlong: a shape and an extension go with their field.
func TestRenameTakesCompanionsAlong(t *testing.T) {
	in := []shardify.Field{
		{Name: "vol", DType: shardify.U16, Levels: 1, Ragged: true}, {Name: "vol.shape", DType: shardify.I64, Shape: []int{3}},
		{Name: "img", DType: shardify.U8, Levels: 1, Media: "image"}, {Name: "img.ext", DType: shardify.U8}, {Name: "vol.ext", DType: shardify.U8},
	}
	r := transformtest.Made[*renameFields](t)(newRename(&op.Env{}, "volume=vol, picture=img"))
	out, err := r.Schema(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range out {
		names = append(names, out[i].Name)
	}
	if got := strings.Join(names, " "); got != "volume volume.shape picture picture.ext vol.ext" {
		t.Error(got)
	}
	if _, err := transformtest.Made[*renameFields](t)(newRename(&op.Env{}, "a=vol.shape")).Schema(in); err == nil {
		t.Error("a companion got a name of its own")
	}
}
