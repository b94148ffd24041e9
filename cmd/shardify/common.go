package main

import (
	"slices"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stallTime is the default of --stall: longer than a server of a parallel file system
// takes to be replaced by another.
const stallTime = 5 * time.Minute

// addCommon adds the flags that many commands have and that mean the same in all.
func (p *program) addCommon(root *cobra.Command) {
	p.stall = stallTime
	for _, c := range root.Commands() {
		if slices.Contains([]string{"convert", "plan", "work", "extend", "merge-sets", "inspect", "view", "index", "stage"}, c.Name()) {
			cli.AddCache(p.IO, c)
		}
		known := c.Flags().Lookup("sync")
		if known == nil {
			continue
		}
		add := func(fs *pflag.FlagSet) {
			if c.Name() != "plan" {
				fs.DurationVar(&p.stall, "stall", stallTime, "`TIME`: exit with 75 if nothing was read or written for this time, and print what the workers wait for; 0 waits for ever")
			}
			if slices.Contains([]string{"convert", "plan", "work", "extend"}, c.Name()) {
				fs.BoolVar(&p.anyTime, "ignore-times", false, "inputs of the same size are unchanged, whatever their times of modification")
			}
			fs.BoolVar(&p.RetryFull, "retry-full", false, "exit with 75 (run again) instead of 1 when the disk or a quota is full")
		}
		if known.Annotations[cli.Group] == nil {
			add(c.Flags())
		} else {
			cli.Grouped(c.Flags(), "Running", add)
		}
	}
}
