package main

import (
	"io"
	"testing"

	"github.com/shardify/shardify/internal/cli"
	"github.com/spf13/pflag"
)

// TestHelpHasEveryFlag: a flag whose group has no heading would be on no page.
func TestHelpHasEveryFlag(t *testing.T) {
	for _, c := range cli.Commands(newRoot(&program{IO: &cli.IO{Out: io.Discard, Err: io.Discard}})) {
		shown := 0
		for _, g := range cli.PageOf(c).Groups {
			shown += len(g.Flags)
		}
		want := 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				want++
			}
		})
		if shown != want {
			t.Errorf("%s: the help has %d of %d flags", c.Name(), shown, want)
		}
	}
}
