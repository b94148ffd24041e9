package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
)

// TestChoices: the commands keep what was given, but for the settings that choose.
func TestChoices(t *testing.T) {
	o := &IO{Args: strings.Fields("shardify convert a.h5 --object /old/* --columns=x -o out -- b.h5")}
	err := fmt.Errorf("open: %w", format.NewAmbiguous("several", []format.Way{
		{Options: format.Options{"object": "/units/*"}, Columns: []string{"y", "!z"}, Makes: "7 rows"},
		{Options: format.Options{"sample": "file"}, Makes: "a file"},
	}))
	want := []string{
		"7 rows: shardify convert a.h5 -o out '--columns=y,!z' '--object=/units/*' -- b.h5",
		"a file: shardify convert a.h5 --object '/old/*' --columns=x -o out --sample=file -- b.h5",
	}
	if got := o.choices(err); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	o.Begun.Store(true)
	err = fmt.Errorf("read: %w", format.CheckText([]byte("\xff")))
	if got, want := o.choices(err), "strings as bytes: shardify convert --fresh a.h5 --object '/old/*' --columns=x -o out --text=bytes -- b.h5"; !slices.Equal(got, []string{want}) {
		t.Errorf("%q", got)
	}
	o.Args[1] = "inspect"
	o.Begun.Store(false)
	if got, want := o.choices(err), "strings as bytes: shardify inspect a.h5 --object '/old/*' --columns=x -o out --text=bytes -- b.h5"; !slices.Equal(got, []string{want}) {
		t.Errorf("%q", got)
	}
	if got := o.choices(fmt.Errorf("other")); got != nil {
		t.Errorf("%q", got)
	}
	o.Args = strings.Fields("shardify diff set in/b --show 3") // has no such flag
	err = shardify.Annotate(format.NewAmbiguous("several", []format.Way{format.With("labels", "folder", "classes")}), "open", "in/b", "")
	if got, want := o.choices(err), "classes: shardify convert in/b -o b-shards --labels=folder"; !slices.Equal(got, []string{want}) {
		t.Errorf("%q", got)
	}
}

// TestSplits: the commands name each split that has samples in place of the set.
func TestSplits(t *testing.T) {
	o := &IO{Args: strings.Fields("shardify bench set/ --batch 8")}
	err := fmt.Errorf("open: %w", &dataset.SplitSet{Folder: "set", Names: []string{"train", "val"}, Empty: []string{"test"}})
	if got, want := o.splits(err), []string{"shardify bench set/train --batch 8", "shardify bench set/val --batch 8"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !strings.Contains(err.Error(), "without samples: test") {
		t.Error(err)
	}
}

// TestOffers: an error may offer other settings. An object that is named after its file is
// replaced, too, and a way that changes a plan whose work has started makes the plan again.
func TestOffers(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.h5", []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	offer := func(w format.Way) error {
		w.Makes = "x"
		return fmt.Errorf("open: %w", format.Cure(shardify.Unsupported("no"), w))
	}
	object, seed, memory := format.With("object", "/units/*", ""), format.Way{Without: "seed"}, format.With("memory", "1GiB", "")
	for _, c := range []struct {
		args  string
		way   format.Way
		begun bool
		want  string
	}{
		{"shardify convert a.h5:/old -o a.h5:x", object, false, "x: shardify convert a.h5 -o a.h5:x '--object=/units/*'"},
		{"shardify convert -o out -- a.h5:/old", object, false, "x: shardify convert -o out '--object=/units/*' -- a.h5"},
		{"shardify convert b.h5:/old -o out", object, false, "x: shardify convert b.h5:/old -o out '--object=/units/*'"},
		{"shardify convert a.h5:/old --seed 3 -o out", seed, false, "x: shardify convert a.h5:/old -o out"},
		{"shardify convert a.h5 --seed=3 -o out", seed, true, "x: shardify convert --fresh a.h5 -o out"},
		{"shardify convert a.h5 --seed 3 -o out --fresh", seed, true, "x: shardify convert a.h5 -o out --fresh"},
		{"shardify work out --memory 1MiB", memory, true, "x: shardify work out --memory=1GiB"},
		{"shardify work out", seed, true, ""},
		{"shardify convert --recipe r.yaml -o out", seed, false, "leave seed out of the recipe"},
		{"shardify convert --external a.h5 -o out", format.Way{Without: "external"}, false, "x: shardify convert a.h5 -o out"},
		{"shardify convert --provenance a.h5 -o out", format.Way{Without: "provenance"}, false, "x: shardify convert a.h5 -o out"},
	} {
		o := &IO{Args: strings.Fields(c.args)}
		o.Begun.Store(c.begun)
		if got := strings.Join(o.choices(offer(c.way)), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}
