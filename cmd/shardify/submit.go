package main

import (
	"github.com/shardify/shardify"
	"github.com/spf13/cobra"
)

func submitCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "submit slurm FOLDER",
		Short: "submit the tasks of a plan to a batch system",
		Long:  "Writes job scripts for the plan in a folder, and with --now submits them.",
		Example: `shardify submit slurm photos-shards
shardify submit slurm photos-shards --now`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return shardify.Hint(shardify.Usage("to which batch system?"), "shardify submit slurm FOLDER; for others see docs/guides/kubernetes.md, docs/guides/htcondor.md and docs/guides/snakemake.md")
			}
			return shardify.Hint(shardify.Usage("unknown batch system %q", args[0]), "shardify submit slurm FOLDER; for others see docs/guides/kubernetes.md, docs/guides/htcondor.md and docs/guides/snakemake.md")
		},
	}
	c.AddCommand(slurmCommand(p))
	return c
}
