package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func mergeSetsCommand(p *program) *cobra.Command {
	var o pipeline.MergeSettings
	var s pipeline.Settings
	c := &cobra.Command{
		Use:   "merge-sets FOLDER FOLDER... -o FOLDER",
		Short: "make one data set of several, without converting again",
		Long: `The sets must have the same fields; what differs is named. Shards are copied as they are, under new numbers. Where labels of one set go on
behind those of the others, or where names and origins of samples hold numbers of inputs, shards are rewritten without being decoded.
The manifest keeps what each set was made from.

The inputs are read whole first, and a damaged one is refused. A merge that was stopped goes on when the same command runs again.`,
		Example: `shardify merge-sets run2024 run2025 -o both
shardify merge-sets run2024 run2025 -o both --link`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&o.Output, "output", "o", "", "`FOLDER` for the set of all")
		fs.BoolVar(&o.Link, "link", false, "make hard links to the shards instead of copies; copies where the file system has none")
		fs.BoolVar(&o.Unchecked, "unchecked", false, "do not read the inputs for damage first")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) { addRunning(fs, &s) })
	c.Flags().MarkHidden("memory")
	c.Flags().Lookup("jobs").Usage = "shards copied at the same time; the cores of the machine or allocation if left out"
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < 2:
			return shardify.Hint(shardify.Usage("want two or more data sets, not %d", len(args)), "for example: shardify merge-sets A B -o C")
		case o.Output == "":
			return shardify.Hint(shardify.Usage("no output folder"), "say where the shards go: -o FOLDER")
		}
		o.Inputs, o.Sync, o.Jobs = args, s.Sync, s.Jobs
		return p.mergeSets(c.Context(), o)
	}
	return c
}

func (p *program) mergeSets(ctx context.Context, s pipeline.MergeSettings) error {
	s.Hooks = p.hooks(ctx, nil)
	s.Planned = func(plan pipeline.SetsPlan) {
		p.Note("%-9s%s in %s, %s", "merge", printable.Of(plan.Samples, "sample"), printable.Of(int64(plan.Shards), "shard"), shardify.FormatSize(plan.Bytes))
		if plan.Changed > 0 {
			p.Note("%-9s%s: %s", "rewrite", printable.Of(int64(plan.Changed), "shard"), plan.Why)
		}
	}
	r, err := pipeline.MergeSets(ctx, s)
	if err == nil {
		p.setDone(r)
	}
	return err
}

// setDone is the last thing that merge-sets and extend say.
func (p *program) setDone(r *pipeline.Result) {
	m, word := r.Manifest, "done"
	if r.Already {
		word = "already complete"
	}
	parts := len(m.AsParts())
	p.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Shards  int64   `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Parts   int     `json:"parts"`
		Seconds float64 `json:"seconds"`
	}{r.Output, m.Format, r.Already, m.Samples, r.Shards(), m.Bytes, parts, r.Took.Seconds()})
	p.Result("%s: %s in %s, %s in %s, of %s", word, printable.Of(m.Samples, "sample"), printable.Of(r.Shards(), "shard"), shardify.FormatSize(m.Bytes), r.Output, printable.Of(int64(parts), "part"))
	p.next(r.Output, m)
}
