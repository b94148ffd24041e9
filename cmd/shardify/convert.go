package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
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
	c.Flags().BoolVar(&f.s.Dry, "dry-run", false, "print the plan and write nothing")
	c.Flags().SetAnnotation("dry-run", cli.Group, []string{"Running"})
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
	s.Hooks = p.hooks(ctx, &cluster.Attempt{Command: "convert"})
	s.Hooks.Planned = func(x *pipeline.Prepared) {
		if s.Dry {
			p.showPlan(x)
			return
		}
		p.notePlan(x)
		if x.State == pipeline.StateResume {
			p.Note("%-9sthe same conversion was begun here and goes on", "resume")
		}
	}
	r, err := pipeline.Convert(ctx, s)
	if err != nil {
		return err
	}
	if s.Dry {
		p.Result("nothing written (--dry-run)")
		return nil
	}
	return p.outcome(r)
}

// outcome is the last thing that convert and merge say.
func (p *program) outcome(r *pipeline.Result) error {
	m := r.Manifest
	p.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Skipped int64   `json:"skipped"`
		Shards  int64   `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Seconds float64 `json:"seconds"`
	}{r.Output, m.Format, r.Already, m.Samples, r.Skipped(), r.Shards(), m.Bytes, r.Took.Seconds()})
	word, rate := "already complete", ""
	if !r.Already {
		word, rate = "done", fmt.Sprintf(" (%s, peak memory %s)", printable.Seconds(r.Took.Seconds()), cli.PeakMemory())
	}
	p.Result("%s: %s in %s, %s in %s%s", word, printable.Of(m.Samples, "sample"), printable.Of(r.Shards(), "shard"), shardify.FormatSize(m.Bytes), r.Output, rate)
	p.happened(m)
	p.next(r.Output, m)
	return r.Incomplete()
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
	p.Result("next: verify %s", printable.Quote(output))
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

func (p *program) showPlan(x *pipeline.Prepared) {
	p.Object("plan", x.Facts())
	for _, l := range cli.PlanLines(x) {
		p.Result("%s", l)
	}
}

// notePlan tells the plan beside the results.
func (p *program) notePlan(x *pipeline.Prepared) {
	p.Object("plan", x.Facts())
	if p.Quiet {
		for _, l := range cli.UnreadLines(x) {
			p.Warn("%s", l)
		}
		return
	}
	for _, l := range cli.PlanLines(x) {
		p.Note("%s", l)
	}
}
