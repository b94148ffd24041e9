package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func commands() []*cobra.Command {
	return cli.Commands(newRoot(&program{IO: &cli.IO{Out: io.Discard, Err: io.Discard}}))
}

// TestHelpHasEveryFlag: a flag whose group has no heading would be on no page.
func TestHelpHasEveryFlag(t *testing.T) {
	for _, c := range commands() {
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

// TestHelpIsShort: it fits a screen or two, examples come first, each flag that is not of a format is
// named, and none is described twice. --help-all describes all.
func TestHelpIsShort(t *testing.T) {
	for _, c := range commands() {
		c.InheritedFlags() // makes them flags of c
		var b bytes.Buffer
		(&cli.IO{Out: &b}).Help(c)
		text := b.String()
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("%s: the help has %d lines", c.CommandPath(), n)
		}
		if at := strings.Index(text, "\nExamples:\n"); c.Example != "" && (at < 0 || at > strings.Index(text, "\n  -")) {
			t.Errorf("%s: the help does not begin with examples", c.CommandPath())
		}
		var narrow bytes.Buffer
		(&cli.IO{Out: &narrow, OutColumns: 80}).Help(c)
		for line := range strings.Lines(narrow.String()) {
			if n := len(strings.TrimRight(line, "\n")); n > 80 && strings.HasPrefix(line, strings.Repeat(" ", 30)) { // of a flag
				t.Errorf("%s: %d columns on a terminal of 80: %s", c.CommandPath(), n, line)
			}
		}
		if c.Flags().Lookup("help-all") == nil {
			continue
		}
		if err := c.Flags().Set("help-all", "true"); err != nil {
			t.Fatal(err)
		}
		formats := map[string]bool{}
		for _, g := range cli.PageOf(c).Groups {
			for _, f := range g.Flags {
				formats[f.Name] = g.Formats // "-o, --output DIR"
			}
		}
		var all bytes.Buffer
		(&cli.IO{Out: &all}).Help(c)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !of(formats, f.Name) && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s: the short help does not name --%s", c.CommandPath(), f.Name)
			}
			line := "\n  --" + f.Name + " "
			if f.Shorthand != "" {
				line = "\n  -" + f.Shorthand + ", --" + f.Name + " "
			}
			if n := strings.Count(strings.ReplaceAll(all.String(), "\n", " \n"), line); n != 1 {
				t.Errorf("%s: --help-all describes --%s %d times", c.CommandPath(), f.Name, n)
			}
		})
	}
}

// of reports whether a flag is one of a format. Its key begins with the flag and may have its value.
func of(formats map[string]bool, name string) bool {
	for key, is := range formats {
		if is && (strings.HasSuffix(key, "--"+name) || strings.Contains(key, "--"+name+" ")) {
			return true
		}
	}
	return false
}
