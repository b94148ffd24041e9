package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/spf13/cobra"
)

func convertCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "convert INPUT... -o FOLDER",
		Short: "convert inputs into a data set of shards",
		Long: `Inputs are files, folders and patterns of one format. The plan is printed first: what is read, what is written,
what is left out, and what was chosen where no flag says otherwise.

A conversion that was stopped or has failed goes on when the same command runs again. A complete one is left as it is.`,
		Example: `shardify convert photos/ -o photos-shards
shardify convert 'run*.npz' -o run-shards --columns 'x,y' --shard-size 1GiB
shardify convert --recipe train.yaml --dry-run`,
	}
	f := addSettings(c)
	dry := c.Flags().Bool("dry-run", false, "print the plan and write nothing")
	c.Flags().SetAnnotation("dry-run", cli.Group, []string{"Running"})
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := f.settings(p, c, args)
		if err != nil {
			return err
		}
		return p.convert(c.Context(), s, *dry)
	}
	return c
}

func (p *program) convert(ctx context.Context, s cli.Settings, dry bool) error {
	s.Local, s.IgnoreTimes = s.Scratch, p.anyTime
	s.Parts, s.Dry = true, dry
	x, err := cli.Prepare(ctx, s, p.machine)
	if err != nil {
		return err
	}
	defer x.Job.Source.Close()
	if dry {
		p.showPlan(x)
		p.Result("nothing written (--dry-run)")
		return nil
	}
	p.notePlan(x)
	if err := x.Clear(); err != nil {
		return err
	}
	defer x.Store.DropScratch()
	switch x.State {
	case cli.StateComplete:
		m, err := x.Manifest()
		if err == nil {
			err = x.Whole(m)
		}
		if err != nil {
			return cli.Hint(err, "verify "+cli.Quote(x.Output)+" tells what is damaged, and how to make it again")
		}
		if err := x.Tidy(); err != nil {
			return err
		}
		return p.outcome("already complete", x, m, 0)
	case cli.StateResume:
		p.Note("%-9sthe same conversion was begun here and goes on", "resume")
	}
	p.attempt(x, cluster.Attempt{Command: "convert"})
	defer p.begin(ctx, x)()
	start := time.Now()
	stop := p.Watch(x.Plan, x.Plan.Task(0, 1), &x.Job.Progress)
	m, err := x.Job.Convert(ctx)
	stop()
	if err != nil {
		return x.Removed(hintSkip(ctx, err, x))
	}
	if err := x.Tidy(); err != nil {
		return err
	}
	return p.outcome("done", x, m, time.Since(start))
}

// hintSkip tells how to go on without what is damaged, if anything is left then.
func hintSkip(ctx context.Context, err error, x *cli.Prepared) error {
	if x.Plan.OnError == convert.OnErrorFail && errors.Is(err, shardify.ErrCorrupt) && x.Job.Readable(ctx) {
		return cli.Hint(err, "fetch the input again, or leave the damaged samples out and listed: the same command with --on-error skip --fresh")
	}
	return err
}

// outcome is the last thing that convert and merge say.
func (p *program) outcome(word string, x *cli.Prepared, m *index.Manifest, took time.Duration) error {
	var skipped int64
	for _, s := range m.Skipped {
		skipped += s.Hi - s.Lo
	}
	p.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Skipped int64   `json:"skipped"`
		Shards  int     `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Seconds float64 `json:"seconds"`
	}{x.Output, m.Format, took == 0, m.Samples, skipped, int(shardsOf(m)), m.Bytes, took.Seconds()})
	p.summary(word, x, m, took)
	if len(m.Skipped) > 0 {
		return cli.Incomplete(x.Output, m.Skipped, skipped)
	}
	return nil
}

func (p *program) summary(word string, x *cli.Prepared, m *index.Manifest, took time.Duration) {
	rate := ""
	if s := took.Seconds(); s > 0 {
		rate = fmt.Sprintf(" (%s, peak memory %s)", cli.Seconds(s), cli.PeakMemory())
	}
	p.Result("%s: %s in %s, %s in %s%s", word, cli.Of(m.Samples, "sample"), cli.Of(shardsOf(m), "shard"), cli.Size(m.Bytes), x.Output, rate)
	p.happened(m)
	p.next(x.Output, m)
}

// next tells what can be done with a set, and what of it has no samples.
func (p *program) next(output string, m *index.Manifest) {
	if m.Samples == 0 {
		p.Result("empty: there is no sample in %s", output)
	} else {
		for _, name := range slices.Sorted(maps.Keys(m.Splits)) {
			if m.Splits[name].Samples == 0 {
				p.Result("empty: there is no sample in split %s", name)
			}
		}
	}
	p.Result("next: verify %s", cli.Quote(output))
	if m.Samples > 0 {
		p.Result("      %s", cli.UseLine(m.Format, trainFolder(output, m)))
	}
}

// trainFolder is the folder to train on: that of a split with samples, if there are several.
func trainFolder(output string, m *index.Manifest) string {
	if len(m.Splits) == 0 {
		return output
	}
	if m.Splits["train"].Samples > 0 {
		return filepath.Join(output, "train")
	}
	names := slices.Sorted(maps.Keys(m.Splits))
	return filepath.Join(output, names[max(slices.IndexFunc(names, func(n string) bool { return m.Splits[n].Samples > 0 }), 0)])
}

// shardsOf is the shards of a set, those of its splits included.
func shardsOf(m *index.Manifest) int64 {
	n := int64(len(m.Shards))
	for _, s := range m.Splits {
		n += s.Shards
	}
	return n
}

func (p *program) showPlan(x *cli.Prepared) {
	p.Object("plan", x.Facts())
	for _, l := range x.Lines() {
		p.Result("%s", l)
	}
}

// notePlan tells the plan beside the results.
func (p *program) notePlan(x *cli.Prepared) {
	p.Object("plan", x.Facts())
	if p.Quiet {
		for _, l := range x.Unread() {
			p.Warn("%s", l)
		}
		return
	}
	for _, l := range x.Lines() {
		p.Note("%s", l)
	}
}
