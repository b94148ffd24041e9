package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/stage"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/storage/local"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type stageFlags struct {
	jobs          cli.CountValue
	memory        cli.MemoryValue
	sync          cli.EnumValue
	wait          time.Duration
	fresh, remove bool
}

func stageCommand(p *program) *cobra.Command {
	f := &stageFlags{}
	c := &cobra.Command{
		Use:   "stage FOLDER [DEST]",
		Short: "copy a data set to where this node reads it fastest",
		Long: `Makes DEST a copy of the data set (also of one with splits): in /dev/shm, or on a disk of the node. Every file is checked against the
manifest while it passes through. DEST gets its name when it is complete; a run that is killed leaves nothing that a reader would take for a
data set, and the next one goes on from there.

Without DEST the copy goes into $SLURM_TMPDIR, else $TMPDIR if that is a disk of the node's own, else /dev/shm: the first of them that has room,
and for /dev/shm if no more than half of the job's memory is taken. The place is printed; --json has it as path.

All processes of a node may run the same command: one copies, the others wait and use its copy. A copy that is there already is left as it is. If
the data set has changed since, that is an error; --fresh then replaces the copy.`,
		Example: `shardify stage /lustre/train
shardify stage /lustre/train /dev/shm/train
shardify stage /lustre/train /local/train --jobs 8 --wait 10m
shardify stage --remove /dev/shm/train`,
		Args: cobra.ArbitraryArgs,
	}
	group(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.fresh, "fresh", false, "replace a copy at DEST that is damaged, or of another data set")
		fs.BoolVar(&f.remove, "remove", false, "remove the copy at DEST, and what an unfinished one has left")
	})
	group(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &f.jobs, &f.memory, &f.sync)
		fs.DurationVar(&f.wait, "wait", 0, "wait for space, or for another process that copies, up to this `TIME` (10m); for space not at all, for another process without limit if left out")
	})
	c.Flags().Lookup("wait").DefValue = ""
	c.Flags().Lookup("jobs").Usage = "files copied at the same time; two for each core of the machine or allocation if left out"
	c.Flags().Lookup("memory").Usage = "memory for what is on its way; 64 MiB if left out"
	c.RunE = func(c *cobra.Command, args []string) error { return p.stage(c.Context(), f, args) }
	return c
}

func (p *program) stage(ctx context.Context, f *stageFlags, args []string) error {
	switch {
	case f.remove && len(args) != 1:
		return cli.Usage("--remove wants the folder of the copy alone, not %d folders", len(args))
	case !f.remove && len(args) != 1 && len(args) != 2:
		return cli.Hint(cli.Usage("want a data set and, if you like, the folder for its copy, not %s", cli.Of(int64(len(args)), "folder")), "for example: shardify stage train /dev/shm/train")
	case f.wait < 0:
		return cli.Usage("--wait %v: want a time that is not negative", f.wait)
	}
	jobs := int(f.jobs)
	if jobs == 0 {
		n, _ := p.machine.Jobs(0)
		jobs = 2 * n // half of them wait for reads
	}
	o := stage.Options{
		Dest: args[len(args)-1], Jobs: jobs, Memory: int64(f.memory), Sync: local.Sync(f.sync.Value), Fresh: f.fresh, Wait: f.wait,
		InMemory: p.machine.Memory, Progress: &stage.Progress{}, Waiting: func(what string) { p.Note("waiting for %s", what) },
	}
	if f.remove {
		return p.unstage(ctx, o)
	}
	o.Source = args[0]
	o.Steps = new(stall.Board)
	defer p.watchStall(ctx, o.Steps.Watch)()
	if len(args) == 1 {
		step := o.Steps.Begin("looking for a place")
		dest, why, err := stage.Choose(o.Source, stage.Places(os.Getenv), o.InMemory)
		step.End()
		if err != nil {
			return stageHint(err, &o)
		}
		o.Dest = dest
		p.Note("%-9s%s (%s)", "place", dest, why)
	}
	start := time.Now()
	stop := p.watchBytes("copying", &o.Progress.Bytes, &o.Progress.Total)
	r, err := stage.Run(ctx, o)
	stop()
	if err != nil {
		return stageHint(err, &o)
	}
	p.staged(o.Source, r, time.Since(start))
	return nil
}

func (p *program) staged(source string, r *stage.Result, took time.Duration) {
	p.Object("stage", struct {
		Source  string   `json:"source"`
		Path    string   `json:"path"`
		Sets    []string `json:"sets"`
		Already bool     `json:"already_complete"`
		Waited  bool     `json:"waited"`
		Files   int64    `json:"files"`
		Samples int64    `json:"samples"`
		Bytes   int64    `json:"bytes"`
		Reused  int64    `json:"reused_bytes"`
		Seconds float64  `json:"seconds"`
	}{source, r.Path, r.Sets, r.Already, r.Waited, r.Files, r.Samples, r.Bytes, r.Reused, took.Seconds()})
	what := cli.Of(r.Samples, "sample") + " in " + cli.Of(r.Files, "file") + ", " + cli.Size(r.Bytes)
	switch {
	case r.Waited:
		p.Result("done by another process: %s", what)
	case r.Already:
		p.Result("already there: %s", what)
	default:
		rate := ""
		if s := took.Seconds(); s > 0 {
			rate = ", " + cli.Size(int64(float64(r.Bytes-r.Reused)/s)) + "/s"
		}
		if r.Reused > 0 {
			p.Note("%s were left by an earlier run, and checked", cli.Size(r.Reused))
		}
		p.Result("done: %s, checked (%s%s)", what, cli.Seconds(took.Seconds()), rate)
	}
	for _, s := range r.Sets {
		p.Result("path: %s", strings.TrimSuffix(r.Path+"/"+s, "/"))
	}
}

func (p *program) unstage(ctx context.Context, o stage.Options) error {
	r, err := stage.Remove(ctx, o)
	if err != nil {
		return stageHint(err, &o)
	}
	p.Object("removed", struct {
		Path  string `json:"path"`
		None  bool   `json:"nothing_there"`
		Bytes int64  `json:"bytes"`
	}{r.Path, r.None, r.Bytes})
	if r.None {
		p.Result("nothing to remove: %s", r.Path)
	} else {
		p.Result("removed: %s, %s", r.Path, cli.Size(r.Bytes))
	}
	return nil
}

// stageHint tells what to do next.
func stageHint(err error, o *stage.Options) error {
	switch {
	case errors.Is(err, stage.ErrStale), errors.Is(err, stage.ErrDamaged):
		return cli.Hint(err, "when nothing reads it any more: the same command with --fresh")
	case errors.Is(err, stage.ErrSpace):
		return cli.Hint(err, "make room (shardify stage --remove FOLDER removes a copy), wait for it with --wait 10m, or choose another folder")
	case errors.Is(err, stage.ErrNotOurs) && o.Source != "":
		return cli.Hint(err, "did you mean: shardify stage "+cli.Quote(o.Source)+" "+cli.Quote(strings.TrimRight(o.Dest, "/")+"/"+base(o.Source)))
	case errors.Is(err, stage.ErrNotOurs):
		return cli.Hint(err, "only what shardify stage has made is removed")
	case errors.Is(err, shardify.ErrCorrupt) && o.Source != "":
		return cli.Hint(err, "what is damaged: verify "+cli.Quote(o.Source))
	}
	return err
}
