package main

import (
	"context"
	"time"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/sets"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/storage/local"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func mergeSetsCommand(p *program) *cobra.Command {
	var o sets.MergeOptions
	var sync cli.EnumValue
	var jobs cli.CountValue
	var memory cli.MemoryValue
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
	group(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&o.Output, "output", "o", "", "`FOLDER` for the set of all")
		fs.BoolVar(&o.Link, "link", false, "make hard links to the shards instead of copies; copies where the file system has none")
		fs.BoolVar(&o.Unchecked, "unchecked", false, "do not read the inputs for damage first")
	})
	group(c.Flags(), "Running", func(fs *pflag.FlagSet) { addRunning(fs, &jobs, &memory, &sync) })
	c.Flags().MarkHidden("memory")
	c.Flags().Lookup("jobs").Usage = "shards copied at the same time; the cores of the machine or allocation if left out"
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < 2:
			return cli.Hint(cli.Usage("want two or more data sets, not %d", len(args)), "for example: shardify merge-sets A B -o C")
		case o.Output == "":
			return cli.Hint(cli.Usage("no output folder"), "say where the shards go: -o FOLDER")
		}
		o.Inputs, o.Sync = args, local.Sync(sync.Value)
		o.Jobs, _ = p.machine.Jobs(int(jobs))
		return p.mergeSets(c.Context(), o)
	}
	return c
}

func (p *program) mergeSets(ctx context.Context, o sets.MergeOptions) error {
	start := time.Now()
	o.Steps = new(stall.Board)
	defer p.watchStall(ctx, o.Steps.Watch)()
	x, err := sets.PlanMerge(ctx, o)
	if err != nil {
		return err
	}
	plan := x.Plan()
	p.Note("%-9s%s in %s, %s", "merge", cli.Of(plan.Samples, "sample"), cli.Of(int64(plan.Shards), "shard"), cli.Size(plan.Bytes))
	if plan.Changed > 0 {
		p.Note("%-9s%s: %s", "rewrite", cli.Of(int64(plan.Changed), "shard"), plan.Why)
	}
	m, err := x.Run(ctx)
	if err != nil {
		return err
	}
	word := "done"
	if plan.Complete {
		word = "already complete"
	}
	p.setDone(word, o.Output, m, time.Since(start))
	return nil
}

// setDone is the last thing that merge-sets and extend say.
func (p *program) setDone(word, output string, m *index.Manifest, took time.Duration) {
	p.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Shards  int64   `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Parts   int     `json:"parts"`
		Seconds float64 `json:"seconds"`
	}{output, m.Format, word != "done", m.Samples, shardsOf(m), m.Bytes, len(m.AsParts()), took.Seconds()})
	p.Result("%s: %s in %s, %s in %s, of %s", word, cli.Of(m.Samples, "sample"), cli.Of(shardsOf(m), "shard"), cli.Size(m.Bytes), output, cli.Of(int64(len(m.AsParts())), "part"))
	p.next(output, m)
}
