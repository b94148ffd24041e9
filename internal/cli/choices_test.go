package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
)

// TestChoices: the commands keep what was given, but for the settings that choose.
func TestChoices(t *testing.T) {
	o := &IO{Args: strings.Fields("shardify convert a.h5 --object /old/* --columns=x -o out -- b.h5")}
	err := fmt.Errorf("open: %w", format.NewDoubt("several", []format.Way{
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
	err = fmt.Errorf("read: %w", format.CheckText([]byte("\xff")))
	if got, want := o.choices(err), "strings as bytes: shardify convert --fresh a.h5 --object '/old/*' --columns=x -o out --text=bytes -- b.h5"; !slices.Equal(got, []string{want}) {
		t.Errorf("%q", got)
	}
	o.Args[1] = "inspect"
	if got := o.choices(err); got != nil {
		t.Errorf("%q", got)
	}
	if got := o.choices(fmt.Errorf("other")); got != nil {
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
