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

// TestEachFlagSaysWhenItHasNoEffect, or that it always has one, of the commands whose flags are no
// settings of conversions.
func TestEachFlagSaysWhenItHasNoEffect(t *testing.T) {
	common := []string{"help", "help-all", "stall", "retry-full", "ignore-times", "cache", "cache-size"} // of many commands: how the work is done
	seen := 0
	for _, c := range commands() {
		switch c.Name() {
		case "bench", "verify", "work", "merge-sets":
			seen++
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Annotations[cli.HasEffects] == nil && !slices.Contains(common, f.Name) {
					t.Errorf("%s --%s does not say when it has no effect", c.Name(), f.Name)
				}
			})
		}
	}
	if seen != 4 {
		t.Errorf("%d commands", seen)
	}
}

// TestFlagsWithoutEffectAreErrors: a flag that is given with its default value is not an error.
func TestFlagsWithoutEffectAreErrors(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "")
	for args, want := range map[string]string{
		"bench x --seed 5": "--seed 5 has no effect: nothing is random",
		"bench x --shuffle global --shuffle-window 5": "--shuffle-window 5 has no effect: it is for --shuffle block",
		"bench x --no-bound":                          "--no-bound true has no effect: without --step-ms",
		"bench x --device-memory 1MiB":                "--device-memory 1 MiB has no effect: the batches stay on the host",
		"bench x --stage y":                           "--stage y has no effect: it is for --tier staged",
		"bench x --compare --batch 5":                 "--batch 5 has no effect: --compare measures nothing",
		"verify x --seed 5":                           "--seed 5 has no effect: nothing is random",
		"verify x --scratch y":                        "--scratch y has no effect: it is for --against",
		"work x --requeue":                            "--requeue true has no effect: this is no job of Slurm",
		"work x --task 0 --stride 3":                  "--stride 3 has no effect: there is one task",
		"merge-sets x y -o z --memory 1GiB":           "unknown flag: --memory",
		"bench x --seed 5 --shuffle block":            "x/shardify.json", // which does not exist
		"bench x --seed 0":                            "x/shardify.json",
		"checkout x 1 -o y --note z":                  "--note z has no effect: the folder of -o has an older version",
		"view x --port 99999":                         "--port 99999: want a number from 1 to 65535",
		"view x --port 80x":                           `"80x": want a whole number`,
		"checkout x 1 --output=":                      "--output is empty",
		"checkout x 1 --note z":                       "no such folder",
		"verify x --seed 5 --read 5%":                 "no such file",
		"verify x --scratch y --against":              "no such file",
		"work x --task 0 --stride 3 --tasks 6":        "x holds no plan",
	} {
		c := newRoot(&program{IO: &cli.IO{Out: io.Discard, Err: io.Discard}})
		c.SetArgs(strings.Fields(args))
		err := c.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error()+strings.Join(shardify.Hints(err), ""), want) || strings.Contains(want, "no effect") && !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
