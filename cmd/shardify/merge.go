package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/spf13/cobra"
)

func mergeCommand(p *program) *cobra.Command {
	var s pipeline.Settings
	c := &cobra.Command{
		Use:   "merge FOLDER",
		Short: "complete a data set whose tasks are done",
		Long: `Checks every receipt and writes the manifest, which makes the folder a data set. If shards are missing, it exits with 3 and
lists the tasks to run again, in the form that job arrays take.`,
		Example: "shardify merge photos-shards",
		Args:    cli.OneFolder,
	}
	addRunning(c.Flags(), &s)
	c.RunE = func(c *cobra.Command, args []string) error {
		hooks := p.hooks(c.Context(), &cluster.Attempt{Command: "merge"})
		begin := hooks.Begin
		hooks.Begin = func(x *pipeline.Prepared, units []int) func() {
			// What merge keeps, it keeps to the end: room for as much garbage again is of no use.
			collectSooner(25)
			return begin(x, units)
		}
		r, err := pipeline.Merge(pipeline.WithHooks(c.Context(), hooks), args[0], s)
		if err != nil {
			return err
		}
		return p.Converted(r)
	}
	return c
}
