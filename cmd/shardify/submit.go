package main

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline/queues"
	"github.com/spf13/cobra"
)

func submitCommand(p *program) *cobra.Command {
	names := append([]string{"slurm"}, queues.Names()...)
	c := &cobra.Command{
		Use:   "submit ENGINE FOLDER",
		Short: "submit the tasks of a plan to a batch system",
		Long: "Writes the job files of a batch system for the plan in a folder, and with --now submits them. Engines: " + strings.Join(names, ", ") + `.
Python's pools, Dask, Ray, Parsl and MPI: shardify.run. Processes of this machine: shardify run.`,
		Example: `shardify submit slurm photos-shards
shardify submit pbs photos-shards --partition workq --account ab12 --now`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			hint := "shardify submit ENGINE FOLDER, where ENGINE is one of " + strings.Join(names, ", ")
			if len(args) == 0 {
				return shardify.Hint(shardify.Usage("to which batch system?"), hint)
			}
			return shardify.Hint(shardify.Usage("unknown batch system %q", args[0]), hint)
		},
	}
	c.AddCommand(slurmCommand(p))
	for _, e := range queues.Engines {
		c.AddCommand(queueCommand(p, e))
	}
	return c
}
