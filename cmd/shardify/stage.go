package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func stageCommand(p *program) *cobra.Command {
	var s pipeline.Settings
	var o pipeline.StageSettings
	var remove bool
	c := &cobra.Command{
		Use:   "stage FOLDER [DEST]",
		Short: "copy a data set to where this node reads it fastest",
		Long: `Makes DEST a copy of the data set (also of one with splits): in /dev/shm, or on a disk of the node. Every file is checked against the
manifest while it passes through. DEST gets its name when it is complete; a run that is killed leaves nothing that a reader would take for a
data set, and the next one goes on from there.

Without DEST the copy goes into $SLURM_TMPDIR, else $TMPDIR if that is a disk of the node's own, else /dev/shm: the first of them that has room,
and for /dev/shm if no more than half of the job's memory is taken. The place is printed; --json has it as path.

All processes of a node may run the same command: one copies, the others wait and use its copy. An existing copy is left unchanged. If
the data set has changed since, that is an error; --fresh then replaces the copy.`,
		Example: `shardify stage /lustre/train
shardify stage /lustre/train /dev/shm/train
shardify stage /lustre/train /local/train --jobs 8 --wait 10m
shardify stage --remove /dev/shm/train`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.Fresh, "fresh", false, "replace a copy at DEST that is damaged, or of another data set")
		fs.BoolVar(&remove, "remove", false, "remove the copy at DEST, and the files of an unfinished one")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &s)
		fs.DurationVar(&o.Wait, "wait", 0, "wait for space, or for another process that copies, up to this `TIME` (10m); for space not at all, for another process without limit if left out")
	})
	c.Flags().Lookup("wait").DefValue = ""
	c.Flags().Lookup("jobs").Usage = "files copied at the same time; two for each core of the machine or allocation if left out"
	c.Flags().Lookup("memory").Usage = "memory for data that are being copied; 64 MiB if left out"
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Jobs, o.Memory, o.Sync = s.Jobs, s.Memory, s.Sync
		return p.stage(c.Context(), o, args, remove)
	}
	return c
}
