package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/storage/local"
	"github.com/spf13/cobra"
)

func mergeCommand(p *program) *cobra.Command {
	var sync cli.EnumValue
	var jobs cli.CountValue
	var memory cli.MemoryValue
	c := &cobra.Command{
		Use:   "merge FOLDER",
		Short: "complete a data set whose tasks are done",
		Long: `Checks every receipt and writes the manifest, which makes the folder a data set. Missing shards exit with 3, and with the list of
tasks to run again, as for an array.`,
		Example: "shardify merge photos-shards",
		Args:    oneFolder,
	}
	addRunning(c.Flags(), &jobs, &memory, &sync)
	c.RunE = func(c *cobra.Command, args []string) error {
		x, err := cli.Reopen(args[0], local.Sync(sync.Value), int(jobs), int64(memory), p.machine)
		if err != nil {
			return err
		}
		return p.merge(c.Context(), x)
	}
	return c
}

func (p *program) merge(ctx context.Context, x *cli.Prepared) error {
	start := time.Now()
	if err := x.Clear(); err != nil {
		return err
	}
	p.attempt(x, cluster.Attempt{Command: "merge"})
	defer p.begin(ctx, x)()
	// What merge keeps, it keeps to the end: room for as much garbage again is of no use.
	collectSooner(25)
	m, err := x.Job.Merge(ctx)
	if errors.Is(err, shardify.ErrCorrupt) && x.OpenSource(ctx) == nil {
		// The inputs help to name a damaged object; otherwise merge needs none.
		defer x.Job.Source.Close()
		m, err = x.Job.Merge(ctx)
	}
	if err != nil {
		return hintMissing(ctx, err, x)
	}
	if err := x.Tidy(); err != nil {
		return err
	}
	return p.outcome("done", x, m, time.Since(start))
}

// hintMissing tells how to make what merge misses: what status says.
func hintMissing(ctx context.Context, err error, x *cli.Prepared) error {
	var m *convert.Missing
	if !errors.As(err, &m) {
		return err
	}
	r, e := cluster.Status(ctx, x.Output)
	if e != nil || len(r.Next) == 0 {
		return cli.Hint(err, "see: shardify status "+cli.Quote(x.Output))
	}
	var hints []string
	for _, s := range r.Stages {
		if list := s.ToDo(); list != "" {
			hints = append(hints, fmt.Sprintf("run again the tasks %s of %d (%s), as --array=%s", list, s.Tasks.Total, s.Name, list))
		}
	}
	for i, line := range r.Next {
		switch {
		case i == len(r.Next)-1 && i > 0:
			line = "then " + line
		case i == 0:
			line += " (what is done is not done again)"
		}
		hints = append(hints, line)
	}
	return cli.Hint(err, hints...)
}
