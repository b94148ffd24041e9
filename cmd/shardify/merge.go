package main

import (
	"time"

	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/store"
	"github.com/spf13/cobra"
)

func mergeCommand(p *program) *cobra.Command {
	var sync cli.EnumValue
	var jobs cli.CountValue
	var memory cli.SizeValue
	c := &cobra.Command{
		Use:   "merge FOLDER",
		Short: "complete a data set whose tasks are done",
		Long: `Checks every receipt and writes the manifest, which makes the folder a data set. Missing shards are listed and exit with 3; run
work again for them.`,
		Example: "shardify merge photos-shards",
		Args:    oneFolder,
	}
	addRunning(c.Flags(), &jobs, &memory, &sync)
	c.RunE = func(c *cobra.Command, args []string) error {
		start := time.Now()
		x, err := cli.Reopen(args[0], store.Sync(sync.Value), int(jobs), int64(memory), p.machine)
		if err != nil {
			return err
		}
		// The inputs only help to name a damaged object; merge works without them.
		if x.OpenSource(c.Context()) == nil {
			defer x.Job.Source.Close()
		}
		m, err := x.Job.Merge(c.Context())
		if err != nil {
			return cli.HintMissing(err, x)
		}
		if err := x.Tidy(); err != nil {
			return err
		}
		return p.outcome("done", x, m, time.Since(start))
	}
	return c
}
