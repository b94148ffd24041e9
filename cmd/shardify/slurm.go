package main

import (
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func slurmCommand(p *program) *cobra.Command {
	return submission(p, "slurm", pipeline.LacksSlurm, &cobra.Command{
		Use:   "slurm FOLDER [-- FLAG OF work...]",
		Short: "write the scripts of a job array and a merge, and submit them",
		Long: `Writes scripts for sbatch: an array of jobs that do the tasks of the plan in FOLDER (two arrays with --shuffle global), and the
merge, which starts when all of them have succeeded. They run unedited, from any folder. --print shows them, --now submits them.

Cores, memory and time come from the plan and the limits of the partition if left out. Put settings that your site always needs
into ~/.config/shardify/slurm.yaml, or name a file with --site: flags below Job and Site; the command line overrides it.

Words after -- are flags of work, such as --scratch '$SLURM_TMPDIR'; the job fills in a variable that a word begins with.`,
		Example: `shardify submit slurm photos-shards --partition cpu --account ab12
shardify submit slurm photos-shards --elements 200 --cpus 8 --throttle 50 --now
shardify submit slurm photos-shards --missing --now`,
	})
}
