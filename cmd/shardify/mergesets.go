package main

import (
	"context"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func mergeSetsCommand(p *program) *cobra.Command {
	var o pipeline.MergeSettings
	var s pipeline.Settings
	c := &cobra.Command{
		Use:   "merge-sets FOLDER FOLDER... -o FOLDER",
		Short: "join data sets without converting them again",
		Long: `The sets must have the same fields; an error names what differs. Shards are copied unchanged, under new numbers. If labels of one set
continue those of another, or names and origins of samples hold numbers of inputs, shards are rewritten without being decoded.
The manifest records what each set was made from.

The inputs are read whole first, and a damaged one is refused. A merge that was stopped goes on when the same command runs again.`,
		Example: `shardify merge-sets run2024 run2025 -o both
shardify merge-sets run2024 run2025 -o both --link`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&o.Output, "output", "o", "", "`FOLDER` for the joined set")
		fs.BoolVar(&o.Link, "link", false, "make hard links to the shards instead of copies; copies where the file system has none")
		fs.BoolVar(&o.Unchecked, "unchecked", false, "do not read the inputs for damage first")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) { cli.AddKeys(fs, &s, "jobs", "sync") })
	c.Flags().Lookup("jobs").Usage = "shards copied at the same time; the cores of the machine or allocation if left out"
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Inputs, o.Sync, o.Jobs = args, s.Sync, s.Jobs
		return p.mergeSets(c.Context(), o)
	}
	cli.AddEffects(c, cli.Effects{"output": nil, "link": nil, "unchecked": nil, "jobs": nil, "sync": nil})
	return c
}

func (p *program) mergeSets(ctx context.Context, s pipeline.MergeSettings) error {
	s.Hooks = p.hooks(ctx, nil)
	s.Planned = p.NoteMerge
	r, err := pipeline.MergeSets(ctx, s)
	if err == nil {
		p.SetDone(r)
	}
	return err
}
