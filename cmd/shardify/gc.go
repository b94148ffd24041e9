package main

import (
	"cmp"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/spf13/cobra"
)

func gcCommand(p *program) *cobra.Command {
	yes, keep := false, int64(0)
	c := &cobra.Command{
		Use:   "gc FOLDER [--keep N] [--yes]",
		Short: "list and remove files that dead processes and old versions have left in a data set",
		Long: `Lists temporary files whose process is gone, scratch files of a shuffle that nothing needs, and all records of attempts except the latest of
each task. With --yes it removes them.

It never removes shards of the set, with or without a receipt, receipts, the plan, or files of a process that may still run. Temporary files of other machines are removed when they are a day old. Of a set in an object store, it lists uploads that were started and not completed. They cost money and are in no other list.
With --keep N, also the files that only versions of the set before the latest N need: with --keep 1 --yes, removed samples are in no file.`,
		Example: `shardify gc photos-shards --yes
shardify gc photos-shards --keep 1 --yes`,
		Args: cli.OneFolder,
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "remove them")
	c.Flags().Int64Var(&keep, "keep", 0, "keep the latest `N` versions and no others; 0 keeps all")
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := pipeline.Waste(c.Context(), args[0])
		if err != nil {
			return err
		}
		var files int
		var bytes int64
		if yes {
			files, bytes, err = w.Remove(c.Context())
		}
		p.Object("gc", struct {
			Leftovers []cluster.Leftover `json:"leftovers"`
			Running   int                `json:"running_attempts"`
			Removed   int                `json:"removed"`
			Bytes     int64              `json:"removed_bytes"`
		}{append([]cluster.Leftover{}, w.List...), len(w.Running), files, bytes})
		for _, line := range w.Sum() {
			p.Result("%s", line)
		}
		switch {
		case yes && (files > 0 || keep == 0):
			p.Result("removed: %s, %s", printable.Of(int64(files), "file"), shardify.FormatSize(bytes))
		case !yes && w.Removable() > 0:
			p.Result("next: shardify gc %s --yes", printable.Quote(args[0]))
		case keep == 0:
			p.Result("nothing to remove")
		}
		return cmp.Or(err, p.collect(c.Context(), args[0], keep, yes))
	}
	return c
}
