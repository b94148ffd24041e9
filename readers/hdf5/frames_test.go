package hdf5

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
)

// TestColumnsOfFramesAreFields: each column has the values that it has in its block.
func TestColumnsOfFramesAreFields(t *testing.T) {
	for _, c := range []struct{ file, at, block0, block1 string }{
		{"frame_table.h5", "df/table/", "df/table/values_block_0", "df/table/values_block_1"},
		{"frame_fixed.h5", "df/", "df/block0_values", "df/block1_values"},
	} {
		blocks := mustLoad(t, []string{c.file, c.file}, nil, format.Options{"frame": "blocks"})
		if got := blocks.cols[c.block0]; got == nil || got.Attrs["columns"] != "a\nb" || !slices.Equal(got.Shape, []int{2}) {
			t.Fatalf("%s: blocks are %q", c.file, blocks.order)
		}
		s := mustLoad(t, []string{c.file, c.file}, nil, nil)
		if s.samples != 30 {
			t.Errorf("%s: %d samples", c.file, s.samples)
		}
		want := values(blocks.cols[c.block0])
		for k, name := range []string{"a", "b"} {
			col := s.cols[c.at+name]
			if col == nil || len(col.Shape) != 0 || col.Attrs["columns"] != "" {
				t.Fatalf("%s: %s is %+v of %q", c.file, name, col, s.order)
			}
			for i, v := range values(col) {
				if v != want[2*i+k] {
					t.Fatalf("%s: %s of row %d is %v, want %v", c.file, name, i, v, want[2*i+k])
				}
			}
		}
		if !slices.Equal(values(s.cols[c.at+"n"]), values(blocks.cols[c.block1])) {
			t.Errorf("%s: n differs", c.file)
		}
		for _, columns := range []string{"b", c.at + "b", "/" + c.at + "b"} {
			if s, err := load([]string{c.file}, []string{columns}, nil); err != nil || strings.Join(s.order, " ") != c.at+"b" {
				t.Errorf("%s: --columns %s: %v", c.file, columns, err)
			}
		}
		if f := mustLoad(t, []string{c.file}, nil, format.Options{"sample": "file"}); f.samples != 1 || !slices.Equal(f.cols[c.at+"b"].Shape, []int{15}) || !slices.Equal(values(f.cols[c.at+"b"]), values(s.cols[c.at+"b"])[:15]) {
			t.Errorf("%s: files as samples: %q", c.file, f.order)
		}
	}
	if blocks := element.WithBlocks([]element.Leaf{{Name: "values_block_0", Dims: []int{2}, Kind: element.Texts, Size: 4}}); len(blocks) != 3 || blocks[2].At.Off != 4 {
		t.Errorf("a block of texts: %+v", blocks)
	}
	s := mustLoad(t, []string{"frame_table.h5"}, []string{"values_block_0"}, nil)
	if len(s.order) != 1 || s.order[0] != "df/table/values_block_0" {
		t.Errorf("a block asked for by name: %q", s.order)
	}
}

// TestPandasTimesHaveTheirUnit: columns of one block share it, blocks differ.
func TestPandasTimesHaveTheirUnit(t *testing.T) {
	s := mustLoad(t, []string{"frame_times.h5"}, nil, nil)
	for name, want := range map[string]string{"t": "ns", "ts": "s", "tms": "ms", "tus": "us", "tns": "ns", "td": "ns", "x": "", "index": ""} {
		c := s.cols["df/table/"+name]
		if c == nil || c.Attrs["time"] != want || (c.Attrs["delta"] == "true") != (name == "td") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestMissingTextsOfPandas: a text is missing where pandas.read_hdf returns NaN, by the nan_rep of
// its table; in an index that is "nan". frame_texts.json has what pandas returned.
func TestMissingTextsOfPandas(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "frame_texts.json"))
	var want map[string]map[string][]*string
	if err == nil {
		err = json.Unmarshal(raw, &want)
	}
	if err != nil || len(want) != 4 {
		t.Fatal(len(want), err)
	}
	for file, columns := range want {
		s := mustLoad(t, []string{file}, nil, nil)
		for name, texts := range columns {
			path := "df/table/" + name
			if name == "axis1" {
				path = "df/axis1"
			}
			c := s.cols[path]
			if c == nil || c.Levels != 1 || c.Media != "txt" || c.Nullable != (name != "short" || file == "frame_texts.h5") {
				t.Errorf("%s: %s is %+v of %q", file, path, c, s.order)
				continue
			}
			for i, want := range texts {
				got := string(c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]])
				switch valid := c.Valid == nil || c.Valid[i] != 0; {
				case valid != (want != nil):
					t.Errorf("%s: %s of row %d: valid %v, pandas %v", file, path, i, valid, want != nil)
				case want != nil && got != *want, want == nil && got != "":
					t.Errorf("%s: %s of row %d is %q", file, path, i, got)
				}
			}
		}
	}
}

// TestMissingTextsInLists: a file, a block or a chunk that is a sample has lists of texts, in which
// nothing can be missing. Each command of the error works.
func TestMissingTextsInLists(t *testing.T) {
	file := []string{"frame_texts.h5"}
	for _, o := range []format.Options{{"sample": "file"}, {"sample": "chunk"}, {"frame": "blocks"}} {
		_, err := load(file, nil, o)
		d, ok := errors.AsType[*format.Cured](err)
		if !ok || len(d.Ways) == 0 {
			t.Errorf("%v: %v", o, err)
			continue
		}
		for i := range d.Ways {
			with := maps.Clone(o)
			maps.Copy(with, d.Ways[i].Options)
			s, err := load(file, d.Ways[i].Columns, with)
			if err != nil {
				t.Errorf("%v: %v", with, err)
				continue
			}
			for name, c := range s.cols {
				if c.Media == "txt" && c.Levels == 2 && (c.Nullable || bytes.Contains(c.Data, []byte("nan"))) {
					t.Errorf("%v: %s has %q", with, name, c.Data)
				}
			}
		}
	}
}
