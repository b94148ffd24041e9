package hdf5

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// TestCodesKeepTheirNames: what AnnData's codes stand for is kept with them, the names are no
// column however many they are, and codes that mean other names in another file are refused.
func TestCodesKeepTheirNames(t *testing.T) {
	s := mustLoad(t, []string{"categories_a.h5ad"}, nil, nil)
	if got := strings.Join(s.order, " "); got != "X obs/batch obs/cell obs/odd obs/old" {
		t.Errorf("fields %s; left out %v", got, s.left)
	}
	for name, want := range map[string]string{"obs/cell": "B\nT\nNK", "obs/batch": "3\n5", "obs/old": "B\nT\nNK", "obs/odd": "id=1\nid=2\nB"} {
		if got := s.cols[name].Attrs["labels"]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"cell", "obs/cell", "obs/cell/codes"} {
		if s := mustLoad(t, []string{"categories_a.h5ad"}, []string{name}, nil); len(s.order) != 1 {
			t.Errorf("%s: %v", name, s.order)
		}
	}
	both := []string{"categories_a.h5ad", "categories_b.h5ad"}
	for _, name := range []string{"obs/cell", "obs/odd", "obs/old"} {
		if _, err := load(both, []string{name}, nil); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "field "+name+" differs") {
			t.Errorf("other names for the codes of %s: %v", name, err)
		}
	}
	if s := mustLoad(t, both, []string{"obs/batch"}, nil); s.samples != 6 {
		t.Errorf("equal names: %d samples", s.samples)
	}
	if s := mustLoad(t, both, []string{"obs/cell/*"}, format.Options{"sample": "file"}); s.cols["obs/cell/categories"] == nil {
		t.Errorf("as files: %v", s.order)
	}
}
