package zarr

import (
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// TestCharactersAreTexts: as in xarray, the characters along a last dimension that no other values
// have are one text, in chunks that cut it, too.
func TestCharactersAreTexts(t *testing.T) {
	text := func(texts ...string) (p []byte) {
		for _, s := range texts {
			p = append(p, append([]byte(s), make([]byte, 7-len(s))...)...)
		}
		return p
	}
	types3["|S1"] = "null_terminated_bytes"
	show := func(c *shardify.Column) string {
		s := fmt.Sprint(c.Media, c.Levels)
		ends := c.Offsets[len(c.Offsets)-1]
		for i := range len(ends) - 1 {
			s += fmt.Sprintf(" %q", c.Data[ends[i]:ends[i+1]])
		}
		return s
	}
	dir := writeStore(t, 2, map[string]*madeArray{
		"name":  {dtype: "|S1", size: 1, shape: []int{3, 7}, chunk: []int{2, 3}, dims: []string{"t", "len"}, data: text("Zürich", "a b", ""), fill: "", attrs: map[string]any{"_Encoding": "utf-8"}},
		"pair":  {dtype: "|S1", size: 1, shape: []int{3, 2, 7}, chunk: []int{1, 1, 4}, dims: []string{"t", "two", "len"}, data: text("a", "bb", "", "d", "日本", "f "), fill: ""},
		"solid": {dtype: "|S1", size: 1, shape: []int{3, 2}, chunk: []int{3, 2}, dims: []string{"t", "x"}, data: []byte("abcdef"), fill: ""},
		"y":     {dtype: "<f4", size: 4, shape: []int{3, 2}, chunk: []int{3, 2}, dims: []string{"t", "x"}, data: make([]byte, 24)},
		"g/f":   {dtype: "<f4", size: 4, shape: []int{3, 7}, chunk: []int{3, 7}, dims: []string{"t", "len"}, data: make([]byte, 84)},
	})
	for _, c := range []struct {
		o    format.Options
		want map[string]string
	}{
		{nil, map[string]string{"name": `txt1 "Zürich" "a b" ""`, "pair": `txt2 "a" "bb" "" "d" "日本" "f "`, "solid": `bin2 "a" "b" "c" "d" "e" "f"`}},
		{format.Options{"sel": "t=[1:3]"}, map[string]string{"name": `txt1 "a b" ""`, "pair": `txt2 "" "d" "日本" "f "`}},
		{format.Options{"sample": "file"}, map[string]string{"name": `txt2 "Zürich" "a b" ""`}},
		{format.Options{"text": "bytes"}, map[string]string{"name": `bin1 "Zürich" "a b" ""`}},
	} {
		got, _ := readNotes(t, c.o, dir)
		for name, want := range c.want {
			if s := show(got.ByName[name]); s != want {
				t.Errorf("%v: %s is %s, want %s", c.o, name, s, want)
			}
		}
	}
	if got, _ := readNotes(t, format.Options{"cf": "off"}, dir); got.ByName["name"].Levels != 2 {
		t.Errorf("--cf off: %s", show(got.ByName["name"]))
	}
}
