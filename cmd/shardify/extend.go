package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func extendCommand(p *program) *cobra.Command {
	var s pipeline.Settings
	again := false
	c := &cobra.Command{
		Use:   "extend FOLDER INPUT...",
		Short: "add more inputs to a data set",
		Long: `Converts the inputs in the way that the manifest of the data set records, into additional shards, and replaces the manifest when they
are complete. Old shards do not change, and programs that have the set open continue to read it. Statistics and vocabularies of the
first inputs are used for the new ones, too. The manifest records what each part was made from.

An extension that was stopped goes on when the same command runs again. Inputs that are part of the set already are refused; if all are,
there is nothing to do.`,
		Example: "shardify extend run-shards run2025/*.npz",
		Args:    cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Input", func(fs *pflag.FlagSet) {
		cli.AddKeys(fs, &s, "files-from", "follow-symlinks", "max-sample")
		fs.BoolVar(&again, "again", false, "add inputs again that are already part of the set")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&s.Dry, "dry-run", false, "print the plan and write nothing")
		fs.BoolVar(&s.Fresh, "fresh", false, "give up an unfinished extension by other inputs")
		addRunning(fs, &s)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) == 1 && s.FilesFrom == "" {
			return shardify.Hint(shardify.Usage("want a data set and inputs"), "for example: shardify extend run-shards run2025/*.npz")
		}
		s.Inputs = args[1:]
		return p.extend(c.Context(), s, args[0], again)
	}
	return c
}

func (p *program) extend(ctx context.Context, s pipeline.Settings, set string, again bool) error {
	hooks := p.hooks(ctx, nil)
	s.Stdin, s.IgnoreTimes, hooks.Planned = p.stdin, p.anyTime, p.NotePlan
	r, err := pipeline.Extend(pipeline.WithHooks(ctx, hooks), set, s, again)
	switch {
	case err != nil:
		return err
	case r.Manifest == nil:
		p.Result("nothing written (--dry-run)")
	default:
		p.SetDone(r)
	}
	return nil
}
