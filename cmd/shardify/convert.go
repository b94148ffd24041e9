package main

import (
	"context"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/spf13/cobra"
)

func convertCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "convert INPUT... -o FOLDER",
		Short: "convert inputs into a data set of shards",
		Long: `Inputs are files, folders and patterns of one format. The plan is printed first. A conversion that was stopped or has failed
goes on when the same command runs again.

The plan says what is read, what is written, what is left out, and what was chosen where no flag says otherwise. A complete conversion
is left unchanged.`,
		Example: `shardify convert photos/ -o photos-shards
shardify convert 'run*.npz' -o run-shards --columns 'x,y' --shard-size 1GiB
shardify convert photos/ -o photos-set --split train=0.8,val=0.2 --shuffle global
shardify convert --recipe train.yaml --dry-run`,
	}
	f := addSettings(c)
	c.Flags().BoolVar(&f.s.Dry, "dry-run", false, "print the plan and write nothing")
	c.Flags().Lookup("dry-run").Annotations = map[string][]string{cli.Group: {"Running"}, cli.Often: nil}
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := f.settings(p, args)
		if err != nil {
			return err
		}
		return p.convert(c.Context(), s)
	}
	return c
}

func (p *program) convert(ctx context.Context, s pipeline.Settings) error {
	hooks := p.hooks(ctx, &cluster.Attempt{Command: "convert"})
	hooks.Planned = func(x *pipeline.Prepared) {
		if s.Dry {
			p.ShowPlan(x)
			return
		}
		p.NotePlan(x)
		if x.State == pipeline.StateResume {
			p.Note("%-9sthe same conversion was started here and is resumed", "resume")
		}
	}
	r, err := pipeline.Convert(pipeline.WithHooks(ctx, hooks), s)
	if err != nil {
		return err
	}
	if s.Dry {
		p.Result("nothing written (--dry-run)")
		return nil
	}
	return p.Converted(r)
}
