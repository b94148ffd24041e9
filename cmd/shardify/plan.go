package main

import (
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func planCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "plan INPUT... -o FOLDER",
		Short: "plan a conversion, to be carried out by any number of tasks",
		Long: `Publishes the plan in the output folder and prints it. Then run work, any task on any machine that sees the inputs and the
folder, and merge when all tasks are done. convert does the same in one process.`,
		Example: `shardify plan photos/ -o photos-shards
shardify work photos-shards --task 0 --tasks 2
shardify work photos-shards --task 1 --tasks 2
shardify merge photos-shards`,
	}
	f := addSettings(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := f.settings(p, args)
		if err != nil {
			return err
		}
		x, err := pipeline.Plan(c.Context(), s)
		if err != nil {
			return err
		}
		defer x.Close()
		p.ShowPlan(x)
		if x.State == pipeline.StateComplete {
			p.Result("already complete: nothing is left to do for %s", x.Output)
			p.Result("next: shardify verify %s", printable.Quote(x.Output))
			return nil
		}
		p.Result("planned: %s in %s", printable.Of(int64(len(x.Plan.Pack.Units)), "unit"), x.Output)
		p.Result("next: shardify work %s --task 0 --tasks 1", printable.Quote(x.Output))
		return nil
	}
	return c
}
