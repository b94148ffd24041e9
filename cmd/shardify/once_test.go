package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/spf13/pflag"
)

// TestFlagsGivenTwice: every flag of every command adds up or is refused.
func TestFlagsGivenTwice(t *testing.T) {
	values := []string{"1", "2s", "64MiB", "0:5", "a=1", "true"}
	seen := map[*pflag.Flag]bool{}
	lists := 0
	for _, c := range commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "help-all" || f.Name == "version" || seen[f] {
				return
			}
			seen[f] = true
			v := f.Value
			set := func(s string) bool { return v.Set(s) == nil }
			if all := append(strings.Split(v.Type(), "|"), values...); !slices.ContainsFunc(all, set) {
				t.Fatalf("%s --%s: none of %q is a value", c.Name(), f.Name, all)
			}
			err := v.Set(v.String())
			if err == nil {
				one := pflag.NewFlagSet("", pflag.ContinueOnError)
				one.AddFlag(f)
				one.Set(f.Name, v.String())
				err = cli.GivenTwice(one)
			}
			_, adds := v.(interface{ Repeats() })
			adds = adds || slices.Contains([]string{"stringArray", "stringSlice", "stringToString"}, v.Type())
			if adds {
				lists++
			} else if err == nil || !strings.Contains(err.Error(), "is given twice") {
				t.Errorf("%s --%s %s twice: %v", c.Name(), f.Name, v, err)
			}
		})
	}
	if len(seen) < 250 || lists < 20 {
		t.Errorf("%d flags, %d of them lists", len(seen), lists)
	}
}

// TestGivenTwiceSaysBoth: the error names the flag and both values, and is one of usage.
func TestGivenTwiceSaysBoth(t *testing.T) {
	for args, want := range map[string]string{
		"convert x -o y --key a --key b":         "--key is given twice, a and b: it takes one value",
		"convert x -o y --split a=1 --split b=1": "--split is given twice, a=1 and b=1: it takes one value",
		"convert x -o y --object a --object=b":   "--object is given twice, a and b: it takes one value",
		"convert x -o y --seed 1 --seed 2":       "--seed is given twice, 1 and 2: it takes one value",
		"convert x -o y -o z":                    "--output is given twice, y and z: it takes one value",
		"--json status x --json":                 "--json is given twice",
		"verify x --show 1 --show 2":             "--show is given twice, 1 and 2: it takes one value",
		"inspect x --sample 1 --sample 2":        "--sample is given twice, 1 and 2: it takes one value",
		"inspect x --sample axis --sample file":  "--sample is given twice, axis and file: it takes one value",
	} {
		root := newRoot(&program{IO: &cli.IO{Out: io.Discard, Err: io.Discard}})
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want || !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
