package root

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
)

func TestConformance(t *testing.T) {
	corpus := func(t *testing.T, name string) string { return filepath.Join(corpus.Dir(t, "root"), name) }
	for _, c := range []struct {
		name  string
		files func(t *testing.T) []string
		opts  format.Options
	}{
		{"trees", func(*testing.T) []string { return []string{testdata("events-0.root"), testdata("events-1.root")} }, format.Options{"object": "Events"}},
		{"ntuples", func(*testing.T) []string { return []string{testdata("ntuple-0.root"), testdata("ntuple-1.root")} }, nil},
		{"friends", func(*testing.T) []string { return []string{testdata("events-0.root"), testdata("events-1.root")} },
			format.Options{"object": "Events", "friend": testdata("friend-0.root")}},
		{"baskets out of order", func(*testing.T) []string { return []string{testdata("order.root")} }, nil},
		// Baskets of every branch end elsewhere, and some have no offsets.
		{"generated offsets", func(t *testing.T) []string { return []string{corpus(t, "ttree/uproot-small-dy-nooffsets.root")} }, nil},
		{"strings", func(t *testing.T) []string { return []string{corpus(t, "ttree/uproot-foriter2.root")} }, nil},
		{"split collections", func(t *testing.T) []string { return []string{corpus(t, "ttree/uproot-issue-214.root")} }, format.Options{"object": "E"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := c.files(t)
			if c.opts["friend"] != "" {
				files = files[:1]
			}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(files...), Columns: columns, State: state, Options: c.opts, Jobs: 2})
			})
		})
	}
}
