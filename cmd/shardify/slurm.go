package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func slurmCommand(p *program) *cobra.Command {
	var s pipeline.SubmitSettings
	var text bool
	c := &cobra.Command{
		Use:   "slurm FOLDER [-- FLAG OF work...]",
		Short: "write the scripts of a job array and a merge, and submit them",
		Long: `Writes scripts for sbatch: an array of jobs that do the tasks of the plan in FOLDER (two arrays with --shuffle global), and the
merge, which starts when all of them have succeeded. They run unedited, from any folder. --print shows them, --now submits them.

Cores, memory and time come from the plan and the limits of the partition if left out. Put settings that your site always needs,
such as an account, into ~/.config/shardify/slurm.yaml; the command line overrides it. Its keys are the flags account, constraint,
cpus, elements, logs, mail-user, mem, merge-mem, merge-time, partition, prologue, qos, sbatch, throttle and time.

Words after -- are flags of work, such as --scratch '$SLURM_TMPDIR'; the job fills in a variable that a word begins with.`,
		Example: `shardify submit slurm photos-shards --partition cpu --account ab12
shardify submit slurm photos-shards --elements 200 --cpus 8 --throttle 50 --now
shardify submit slurm photos-shards --missing --now`,
		Args: cobra.ArbitraryArgs,
	}
	cli.AddSubmission(c.Flags(), &s)
	cli.Grouped(c.Flags(), "Submission", func(fs *pflag.FlagSet) { fs.BoolVar(&text, "print", false, "print the scripts") })
	c.RunE = func(c *cobra.Command, args []string) error {
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, s.Work = args[:n], args[n:]
		}
		if err := cli.OneFolder(c, args); err != nil {
			return err
		}
		s.Folder = args[0]
		c.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.String() == "" {
				s.Empty = append(s.Empty, f.Name)
			}
		})
		r, err := pipeline.Submit(c.Context(), s)
		if r != nil {
			p.Submitted(r, s.Now, text)
		}
		return err
	}
	return c
}
