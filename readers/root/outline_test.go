package root

import (
	"context"
	"slices"
	"testing"

	"github.com/shardify/shardify/storage/local"
)

func TestOutlineListsTreesWhetherOrNotOneCanBeChosen(t *testing.T) {
	for name, want := range map[string][]string{
		"testdata/events-0.root": {"Events  TTree, 300 entries, 16 columns", "Runs  TTree, 1 entry, 1 column"},
		"testdata/ntuple-1.root": {"Events  ROOT::RNTuple, 170 entries, 14 columns"},
	} {
		got, err := outline(context.Background(), local.Files, name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
