package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/sets"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type extendFlags struct {
	jobs         cli.CountValue
	memory       cli.MemoryValue
	sync         cli.EnumValue
	fresh, again bool
	dry          bool
	filesFrom    string
	follow       bool
	maxSample    cli.SizeValue
}

func extendCommand(p *program) *cobra.Command {
	f := &extendFlags{}
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
	group(c.Flags(), "Input", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.filesFrom, "files-from", "", "read names of inputs from `FILE`, ended by zero bytes or line feeds; - is standard input")
		addFollow(fs, &f.follow)
		addMaxSample(fs, &f.maxSample)
		fs.BoolVar(&f.again, "again", false, "take inputs that are part of the set already once more")
	})
	group(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.dry, "dry-run", false, "print the plan and write nothing")
		fs.BoolVar(&f.fresh, "fresh", false, "give up an extension by other inputs that was begun and not finished")
		addRunning(fs, &f.jobs, &f.memory, &f.sync)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) == 1 && f.filesFrom == "" {
			return cli.Hint(cli.Usage("want a data set and inputs"), "for example: shardify extend run-shards run2025/*.npz")
		}
		return p.extend(c.Context(), f, args[0], args[1:])
	}
	return c
}

func (p *program) extend(ctx context.Context, f *extendFlags, output string, inputs []string) error {
	start := time.Now()
	e, err := sets.OpenExtension(output)
	if err != nil {
		return err
	}
	if !f.dry {
		if err := e.Sweep(); err != nil {
			return err
		}
		if f.fresh {
			if err := e.GiveUp(ctx, local.Sync(f.sync.Value)); err != nil {
				return err
			}
		}
	}
	s, err := e.Settings()
	if err != nil {
		return err
	}
	s.Inputs, s.FilesFrom, s.Stdin, s.Output, s.Fresh = inputs, f.filesFrom, p.stdin, e.Staging, f.fresh
	s.Follow, s.MaxSample = f.follow, int64(f.maxSample)
	s.Jobs, s.Memory, s.Sync = int(f.jobs), int64(f.memory), local.Sync(f.sync.Value)
	s.IgnoreTimes = p.anyTime
	s.Compile = e.Compile(transform.Compile)
	x, err := cli.Prepare(ctx, s, p.machine)
	if err != nil {
		if errors.Is(err, shardify.ErrExists) { // and its hints are about folders
			err = fmt.Errorf("%s: an extension by other inputs was begun and is not finished: %w", output, shardify.ErrExists)
			return cli.Hint(err, "run its command again, or give it up: the same command with --fresh")
		}
		return err
	}
	defer x.Job.Source.Close()
	x.Job.Compile = s.Compile
	known, err := e.Known(x.Plan)
	switch {
	case err != nil:
		return err
	case x.State == cli.StateComplete: // but not published
	case known.All && !f.again:
		p.setDone("already complete", output, e.Base.Manifest, 0)
		return nil
	case known.Inputs > 0 && !f.again:
		err := shardify.Mismatch("%s of %d are part of %s already, the first is %s", cli.Of(int64(known.Inputs), "input"), x.Plan.Table.Len(), output, known.First)
		return cli.Hint(err, "name the new ones alone, or take all of them with --again")
	}
	if x.State != cli.StateComplete {
		if err := e.Fits(ctx, x.Plan, x.Job.Source); err != nil {
			return err
		}
	}
	p.notePlan(x)
	if f.dry {
		p.Result("nothing written (--dry-run)")
		return nil
	}
	if err := x.Clear(); err != nil {
		return err
	}
	if x.State != cli.StateComplete {
		if x.Job.Sink, err = e.Sink(x.Plan, x.Job.Sink); err != nil {
			return err
		}
		end := p.begin(ctx, x)
		stop := p.Watch(x.Plan, x.Plan.Task(0, 1), &x.Job.Progress)
		_, err = x.Job.Convert(ctx)
		stop()
		if err == nil {
			err = x.Tidy()
		}
		end()
		if err != nil {
			return err
		}
	}
	e.Steps = new(stall.Board)
	defer p.watchStall(ctx, e.Steps.Watch)()
	m, err := e.Publish(ctx, s.Sync, x.Jobs)
	if err != nil {
		return err
	}
	p.setDone("done", output, m, time.Since(start))
	return nil
}
