package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func extendCommand(p *program) *cobra.Command {
	var s pipeline.Settings
	again := false
	c := &cobra.Command{
		Use:   "extend FOLDER INPUT...",
		Short: "add the samples of further inputs to a data set",
		Long: `Converts the inputs as those of the data set were converted (its manifest says how) into further shards, and replaces the manifest at
once when they are complete. Old shards stay as they are, and who has the set open goes on reading it. What surveys found out about the
first inputs (statistics, vocabularies) holds for the new ones too. The manifest keeps what each part was made from.

An extension that was stopped goes on when the same command runs again. Inputs that are part of the set already are refused; if all are,
there is nothing to do.`,
		Example: "shardify extend run-shards run2025/*.npz",
		Args:    cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Input", func(fs *pflag.FlagSet) {
		cli.AddKeys(fs, &s, "files-from", "follow-symlinks", "max-sample")
		fs.BoolVar(&again, "again", false, "take inputs that are part of the set already once more")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&s.Dry, "dry-run", false, "print the plan and write nothing")
		fs.BoolVar(&s.Fresh, "fresh", false, "give up an extension by other inputs that was begun and not finished")
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
	s.Stdin, s.IgnoreTimes, s.Hooks = p.stdin, p.anyTime, p.hooks(ctx, nil)
	s.Hooks.Planned = p.NotePlan
	r, err := pipeline.Extend(ctx, set, s, again)
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
