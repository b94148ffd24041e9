package hdf5

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// charactersOf lists a column's texts, those of a sample in brackets where there are several.
func charactersOf(c *shardify.Column) string {
	var out []string
	ends := c.Offsets[len(c.Offsets)-1]
	for i := range len(ends) - 1 {
		out = append(out, string(c.Data[ends[i]:ends[i+1]]))
	}
	if c.Levels == 2 {
		return fmt.Sprintf("%v%q", c.Offsets[0], out)
	}
	return fmt.Sprintf("%q", out)
}

// TestCharactersAreTexts: as in xarray, the characters along a last dimension that no other values
// have are one text. testdata/characters.nc is written by netCDF4.
func TestCharactersAreTexts(t *testing.T) {
	times := `["2020-01" "2020-02" "a b" ""]`
	for _, c := range []struct {
		o       format.Options
		columns []string
		want    map[string]string
	}{
		{nil, nil, map[string]string{"Times": times, "name": `["Zürich" "日本" "é" "x "]`, "flag": `["R" "D" "A" "R"]`,
			"two": `[0 2 4 6 8]["a" "bb" "ccc" "dddd" "" "f" "ggggggg" "h"]`, "solid": `[0 3 6 9 12]["a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k" "l"]`,
			"title": `["hello" "hello" "hello" "hello"]`}},
		{nil, []string{"flag", "solid", "Times"}, map[string]string{"Times": times, "flag": `["R" "D" "A" "R"]`, "solid": `[0 3 6 9 12]["a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k" "l"]`}},
		{format.Options{"object": "/flag"}, nil, map[string]string{"flag": `["R" "D" "A" "R"]`}},
		{format.Options{"object": "/Times"}, nil, map[string]string{"Times": times}},
		{format.Options{"sel": "Time=[1:3]"}, []string{"Times", "two"}, map[string]string{"Times": `["2020-02" "a b"]`, "two": `[0 2 4]["ccc" "dddd" "" "f"]`}},
		{format.Options{"axis": "1", "object": "/two"}, nil, map[string]string{"two": `[0 4 8]["a" "ccc" "" "ggggggg" "bb" "dddd" "f" "h"]`}},
		{format.Options{"axis": "-1", "object": "/two"}, nil, map[string]string{"two": `[0 4 8]["a" "ccc" "" "ggggggg" "bb" "dddd" "f" "h"]`}},
		{format.Options{"sample": "file"}, []string{"Times", "title"}, map[string]string{"Times": `[0 4]["2020-01" "2020-02" "a b" ""]`, "title": `["hello"]`}},
		{format.Options{"cf": "off"}, []string{"flag"}, map[string]string{"flag": `["R" "D" "A" "R"]`}},
	} {
		got, err := load([]string{"characters.nc"}, c.columns, c.o)
		if err != nil {
			t.Errorf("%v %v: %v", c.o, c.columns, err)
			continue
		}
		for name, want := range c.want {
			col := got.cols[name]
			if col == nil {
				t.Errorf("%v: no %s: %v", c.o, name, got.left)
			} else if s := charactersOf(col); s != want || col.Media != "txt" {
				t.Errorf("%v: %s is %s of %s, want %s", c.o, name, s, col.Media, want)
			}
		}
		if c.o == nil && c.columns == nil && !strings.Contains(strings.Join(got.notes, "\n"), "Times: characters along len are texts") {
			t.Errorf("notes: %q", got.notes)
		}
	}
	if s := mustLoad(t, []string{"characters.nc"}, []string{"Times"}, format.Options{"cf": "off"}); s.cols["Times"].Levels != 2 {
		t.Errorf("--cf off: %s", charactersOf(s.cols["Times"]))
	}
}
