package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func submitCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "submit slurm FOLDER",
		Short: "hand the tasks of a plan to a batch system",
		Long:  "Writes job scripts for the plan in a folder, and with --now submits them.",
		Example: `shardify submit slurm photos-shards
shardify submit slurm photos-shards --now`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return shardify.Hint(shardify.Usage("to which batch system?"), "shardify submit slurm FOLDER; for others see docs/kubernetes.md, docs/htcondor.md and docs/snakemake.md")
			}
			return shardify.Hint(shardify.Usage("unknown batch system %q", args[0]), "shardify submit slurm FOLDER; for others see docs/kubernetes.md, docs/htcondor.md and docs/snakemake.md")
		},
	}
	c.AddCommand(slurmCommand(p))
	return c
}

// submitFlags are the flags of submit slurm.
type submitFlags struct {
	s                     cluster.Submission
	now, missing          bool
	scripts, prologue     string
	elements, tasks, cpus value.Count
	throttle              value.Count
	mem                   value.Memory
	time                  timeValue
	site                  string
}

func slurmCommand(p *program) *cobra.Command {
	f := &submitFlags{}
	c := &cobra.Command{
		Use:   "slurm FOLDER [-- FLAG OF work...]",
		Short: "write the scripts of a job array and a merge, and submit them",
		Long: `Writes scripts for sbatch and prints them: an array of jobs that do the tasks of the plan in FOLDER (two arrays with --shuffle
global), and the merge, which starts when all of them have succeeded. They run unedited, from any folder. With --now they are
submitted too.

Cores, memory and time are estimated from the plan if left out; what was assumed is printed. What a site always wants, such as an
account, stands in slurm.yaml in the folder shardify below the user's configuration (~/.config/shardify/slurm.yaml): keys are the flags
account, constraint, cpus, elements, logs, mail-user, mem, partition, prologue, qos, sbatch, throttle and time. The command line wins.

After a failure, --missing submits what is not done and not in the queue. Words after -- are flags of work, such as --stall 10m
or --scratch '$SLURM_TMPDIR'; the job fills in a variable that a word begins with.`,
		Example: `shardify submit slurm photos-shards --partition cpu --account ab12
shardify submit slurm photos-shards --elements 200 --cpus 8 --throttle 50 --now
shardify submit slurm photos-shards --missing --now`,
		Args: cobra.ArbitraryArgs,
	}
	fs := c.Flags()
	fs.SortFlags = false
	cli.Grouped(fs, "Job", func(fs *pflag.FlagSet) {
		fs.Var(&f.elements, "elements", "elements of the array; by the size of the plan and what the site permits if left out")
		fs.Var(&f.tasks, "tasks", "tasks to divide the plan into, of which element K does K, K+ELEMENTS, ...; as many as elements if left out")
		fs.Var(&f.cpus, "cpus", "cores of an element; 4 if left out")
		fs.Var(&f.mem, "mem", "memory of an element; estimated if left out")
		fs.Var(&f.time, "time", "time limit of an element, such as 90m or 1-12:00:00; estimated if left out")
		fs.Var(&f.throttle, "throttle", "elements that may run at the same time")
	})
	cli.Grouped(fs, "Site", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.s.Partition, "partition", "", "`NAME` of the partition")
		fs.StringVar(&f.s.Account, "account", "", "`NAME` of the account")
		fs.StringVar(&f.s.QOS, "qos", "", "`NAME` of the quality of service")
		fs.StringVar(&f.s.Constraint, "constraint", "", "`FEATURES` of the nodes")
		fs.StringVar(&f.s.MailUser, "mail-user", "", "`ADDRESS` to write to at the end, or if an element fails")
		fs.StringVar(&f.s.Logs, "logs", "", "`FOLDER` for the logs; inside the output folder if left out")
		fs.StringVar(&f.prologue, "prologue", "", "`FILE` of shell commands to run first, such as module load")
		fs.StringArrayVar(&f.s.Sbatch, "sbatch", nil, "any other `ARGUMENT` of sbatch, as in '--exclude=n7'; may be repeated")
	})
	cli.Grouped(fs, "Submission", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.now, "now", false, "submit the scripts")
		fs.BoolVar(&f.missing, "missing", false, "only what is not done, and not in the queue")
		fs.StringVar(&f.scripts, "scripts", "", "`FOLDER` for the scripts; inside the output folder if left out")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, f.s.Work = args[:n], args[n:]
		}
		if err := cli.OneFolder(c, args); err != nil {
			return err
		}
		return p.submit(c.Context(), c.Flags(), f, args[0])
	}
	return c
}

func (p *program) submit(ctx context.Context, flags *pflag.FlagSet, f *submitFlags, folder string) (err error) {
	if f.s.Folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	old, err := readRecord(f.s.Folder)
	if err != nil {
		return err
	}
	b := &submission{p: p, f: f, old: old}
	if err := b.complete(flags); err != nil {
		return err
	}
	if b.x, err = pipeline.Reopen(folder, pipeline.Settings{Jobs: 1}); err != nil {
		return err
	}
	if b.x.State == pipeline.StateComplete {
		p.Object("submit", struct {
			Complete bool `json:"already_complete"`
		}{true})
		p.Result("already complete: nothing to submit")
		return nil
	}
	return b.do(ctx)
}

// timeValue is a flag with a time limit.
type timeValue time.Duration

// Set reads "90m" or "1-12:00:00".
func (v *timeValue) Set(s string) error {
	d, err := cluster.ParseTime(s)
	*v = timeValue(d)
	return err
}

// String is empty for 0, which means the default.
func (v *timeValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is shown in help.
func (v *timeValue) Type() string { return "TIME" }
