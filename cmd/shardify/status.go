package main

import (
	"time"

	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func statusCommand(p *program) *cobra.Command {
	var deep bool
	var watch value.Count
	c := &cobra.Command{
		Use:   "status FOLDER",
		Short: "tell how far a data set in the making is",
		Long: `Counts what is done, running, failed and missing; tells why each failed task has failed and what cures it, how long the rest will
take, and the command that goes on. It changes nothing, and may look while others work.

An attempt that has ended without saying so is reported as killed, with the memory that it had. Where its process cannot be seen, on
another machine, that takes some minutes of silence.

Exit codes are 0 for a complete data set, 3 for one that is not complete, 1 if that cannot be told.`,
		Example: "shardify status photos-shards",
		Args:    cli.OneFolder,
	}
	c.Flags().BoolVar(&deep, "deep", false, "read every receipt and look at every shard, however many there are")
	c.Flags().Var(&watch, "watch", "look again every so many seconds until the data set is complete")
	c.RunE = func(c *cobra.Command, args []string) error {
		for {
			r, err := pipeline.Status(c.Context(), args[0], deep)
			if err != nil {
				return err
			}
			p.Object("status", r)
			for _, line := range r.Lines() {
				p.Result("%s", line)
			}
			if r.State == cluster.StatusComplete {
				return nil
			}
			if watch <= 0 {
				return pipeline.Unfinished(r)
			}
			select {
			case <-c.Context().Done():
				return pipeline.Unfinished(r)
			case <-time.After(time.Duration(watch) * time.Second):
				p.Result("")
			}
		}
	}
	return c
}
