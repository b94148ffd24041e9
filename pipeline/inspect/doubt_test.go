package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// TestInputsAreOpenedOneByOneWhereTheyDiffer, and not where a choice is the same in all of them.
func TestInputsAreOpenedOneByOneWhereTheyDiffer(t *testing.T) {
	dir := t.TempDir()
	const files = 40
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.made", i)), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	synth, _ := readers.Lookup("synth")
	ways := []format.Way{format.With("tree", "a", "samples of a"), format.With("tree", "b", "samples of b")}
	for _, c := range []struct {
		name   string
		differ bool
		broken bool // no way works
		apart  bool
	}{{"a choice", false, false, false}, {"inputs differ", true, false, true}, {"no way works", false, true, true}} {
		alone, opened := 0, 0
		f := format.Input{
			Name: "made", Sniff: func([]byte, string) bool { return true },
			Options: []format.Option{{Name: "tree", Idle: format.Always, Kind: format.KindString}},
			Open: func(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
				if opened++; a.Table.Len() == 1 {
					alone++
				} else if c.broken && a.Options["tree"] != "" {
					return nil, shardify.Mismatch("no tree")
				} else if a.Options["tree"] == "" {
					d := format.NewAmbiguous("several trees", ways)
					d.Differ = c.differ
					return nil, d
				}
				options, err := format.CheckOptions(synth.Options, nil)
				if err != nil {
					return nil, err
				}
				return synth.Open(ctx, format.OpenArgs{Table: &format.Table{}, Options: options})
			},
		}
		rep, err := Inputs(t.Context(), Request{Inputs: []string{dir}, Format: f, Options: format.Options{"tree": ""}})
		if want := map[bool]int{true: files}[c.apart]; alone != want {
			t.Errorf("%s: %d of %d inputs opened by themselves, want %d; %d opens", c.name, alone, files, want, opened)
		}
		if !c.broken && (err != nil || len(rep.Ways) != len(ways)) {
			t.Errorf("%s: %+v, %v", c.name, rep, err)
		}
	}
}
