package main

import (
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/spf13/cobra"
)

func statusCommand(p *program) *cobra.Command {
	var o pipeline.StatusOptions
	var tasks string
	var watch value.Count
	c := &cobra.Command{
		Use:   "status FOLDER",
		Short: "show the progress of a conversion",
		Long: `Counts tasks and shards that are done, running, failed and missing. Shows why each failed task failed and how to fix it, how long the
rest will take, and the next command. It changes nothing and may run while tasks work.

An attempt that ended without a record is reported as killed, with the memory that it had, on other machines after some minutes.

Exit codes are 0 for a complete data set, 3 for one that is not complete, 1 if that cannot be found out.`,
		Example: "shardify status photos-shards",
		Args:    cli.OneFolder,
	}
	c.Flags().BoolVar(&o.Deep, "deep", false, "read every receipt and look at every shard, however many there are")
	c.Flags().StringVar(&tasks, "tasks", "", "list the tasks that are not done, of `N` (\"auto\": by the size of the plan), and what each needs")
	c.Flags().Var(&watch, "watch", "look again every so many seconds until the data set is complete")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.List(tasks); err != nil {
			return err
		}
		for {
			r, err := pipeline.Status(c.Context(), args[0], o)
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
