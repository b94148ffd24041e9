package store

import (
	"reflect"
	"slices"
	"testing"

	"github.com/shardify/shardify/storage/local"
)

// TestNodesAreParsedOnce: a store that is looked at again is parsed no more, and is the same.
func TestNodesAreParsedOnce(t *testing.T) {
	for _, name := range []string{"../../anndata/testdata/all_v2.zarr.zip", "../../anndata/testdata/all_v3.zarr.zip"} {
		in, err := local.Files.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		scan := func(c *Choice) *Tree {
			files, err := Open(t.Context(), local.Files, name, in)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := Scan(t.Context(), files, c)
			if err != nil {
				t.Fatal(err)
			}
			return tree
		}
		want, k := scan(nil), &Known{}
		for i, parsed := 0, 0; i < 3; i++ {
			got := scan(&Choice{Known: k})
			same := slices.EqualFunc(got.Arrays, want.Arrays, func(a, b Array) bool {
				return a.Path == b.Path && a.Digest == b.Digest && a.Err == nil && slices.Equal(a.Shape, b.Shape) && reflect.DeepEqual(a.Attributes, b.Attributes)
			})
			if !same || !reflect.DeepEqual(got.Groups, want.Groups) || !reflect.DeepEqual(got.Notes, want.Notes) {
				t.Errorf("%s: look %d finds other nodes", name, i)
			}
			if i == 0 {
				parsed = k.count
			}
			if k.count != parsed || parsed == 0 {
				t.Errorf("%s: look %d: %d nodes parsed, then %d", name, i, parsed, k.count)
			}
		}
	}
}

// TestChangedNodesAreParsed: a change of any part of the metadata is another node, and few nodes are kept.
func TestChangedNodesAreParsed(t *testing.T) {
	k := &Known{}
	group := func(attrs string) any {
		a, err := k.parse(&meta{group: []byte(`{"zarr_format": 2}`), attrs: []byte(attrs)})
		if err != nil {
			t.Fatal(err)
		}
		return a.Attributes["x"]
	}
	if one, two, again := group(`{"x": "1"}`), group(`{"x": "2"}`), group(`{"x": "1"}`); one != "1" || two != "2" || again != "1" || k.count != 2 {
		t.Errorf("%v %v %v, parsed %d times", one, two, again, k.count)
	}
	if _, err := k.parse(&meta{v3: []byte(`{`)}); err == nil {
		t.Error("no error for half an object")
	}
	if _, err := k.parse(&meta{v3: []byte(`{`)}); err == nil || len(k.nodes) != 2 {
		t.Errorf("%v, %d nodes are known", err, len(k.nodes))
	}
	k.bytes = mostKnown
	if group(`{"x": "3"}`); len(k.nodes) != 1 {
		t.Errorf("%d nodes are known beyond the bound", len(k.nodes))
	}
}
