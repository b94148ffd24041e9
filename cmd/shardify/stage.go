package main

import (
	"context"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/stage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func stageCommand(p *program) *cobra.Command {
	var s pipeline.Settings
	var o pipeline.StageSettings
	var remove bool
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
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.Fresh, "fresh", false, "replace a copy at DEST that is damaged, or of another data set")
		fs.BoolVar(&remove, "remove", false, "remove the copy at DEST, and what an unfinished one has left")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &s)
		fs.DurationVar(&o.Wait, "wait", 0, "wait for space, or for another process that copies, up to this `TIME` (10m); for space not at all, for another process without limit if left out")
	})
	c.Flags().Lookup("wait").DefValue = ""
	c.Flags().Lookup("jobs").Usage = "files copied at the same time; two for each core of the machine or allocation if left out"
	c.Flags().Lookup("memory").Usage = "memory for what is on its way; 64 MiB if left out"
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Jobs, o.Memory, o.Sync = s.Jobs, s.Memory, s.Sync
		return p.stage(c.Context(), o, args, remove)
	}
	return c
}

func (p *program) stage(ctx context.Context, s pipeline.StageSettings, args []string, remove bool) error {
	switch {
	case remove && len(args) != 1:
		return shardify.Usage("--remove wants the folder of the copy alone, not %d folders", len(args))
	case remove:
		s.Dest = args[0]
		return p.unstage(ctx, s)
	case len(args) != 1 && len(args) != 2:
		return shardify.Hint(shardify.Usage("want a data set and, if you like, the folder for its copy, not %s", printable.Of(int64(len(args)), "folder")), "for example: shardify stage train /dev/shm/train")
	case s.Wait < 0:
		return shardify.Usage("--wait %v: want a time that is not negative", s.Wait)
	}
	if s.Source = args[0]; len(args) == 2 {
		s.Dest = args[1]
	}
	s.Chosen = func(dest, why string) { p.Note("%-9s%s (%s)", "place", dest, why) }
	s.Waiting = func(what string) { p.Note("waiting for %s", what) }
	bar := p.NewBar()
	s.Hooks = p.hooks(ctx, nil)
	if !p.Quiet {
		s.Hooks.Progress = bar.Copying
	}
	start := time.Now()
	r, err := pipeline.Stage(ctx, s)
	bar.Clear()
	if err == nil {
		p.staged(s.Source, r, time.Since(start))
	}
	return err
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
	what := printable.Of(r.Samples, "sample") + " in " + printable.Of(r.Files, "file") + ", " + shardify.FormatSize(r.Bytes)
	switch {
	case r.Waited:
		p.Result("done by another process: %s", what)
	case r.Already:
		p.Result("already there: %s", what)
	default:
		rate := ""
		if s := took.Seconds(); s > 0 {
			rate = ", " + shardify.FormatSize(int64(float64(r.Bytes-r.Reused)/s)) + "/s"
		}
		if r.Reused > 0 {
			p.Note("%s were left by an earlier run, and checked", shardify.FormatSize(r.Reused))
		}
		p.Result("done: %s, checked (%s%s)", what, printable.Seconds(took.Seconds()), rate)
	}
	for _, s := range r.Sets {
		p.Result("path: %s", strings.TrimSuffix(r.Path+"/"+s, "/"))
	}
}

func (p *program) unstage(ctx context.Context, s pipeline.StageSettings) error {
	r, err := pipeline.Unstage(ctx, s)
	if err != nil {
		return err
	}
	p.Object("removed", struct {
		Path  string `json:"path"`
		None  bool   `json:"nothing_there"`
		Bytes int64  `json:"bytes"`
	}{r.Path, r.None, r.Bytes})
	if r.None {
		p.Result("nothing to remove: %s", r.Path)
	} else {
		p.Result("removed: %s, %s", r.Path, shardify.FormatSize(r.Bytes))
	}
	return nil
}
