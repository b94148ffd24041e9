package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/spf13/cobra"
)

func gcCommand(p *program) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "gc FOLDER [--yes]",
		Short: "list and remove files that dead processes have left in a data set",
		Long: `Lists temporary files whose process is gone, scratch files of a shuffle that nothing needs, and all records of attempts except the latest of
each task. With --yes it removes them.

It never removes shards, with or without a receipt (the next run takes them over), receipts, the plan, or files of a process that may
still run. Temporary files of other machines are removed when they are a day old.
Of a set in an object store, it lists uploads that were started and not completed. They cost money and are in no other list.`,
		Example: `shardify gc photos-shards
shardify gc photos-shards --yes`,
		Args: cli.OneFolder,
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "remove them")
	c.RunE = func(c *cobra.Command, args []string) error {
		folder := args[0]
		w, err := pipeline.Waste(c.Context(), folder)
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
		case yes:
			p.Result("removed: %s, %s", printable.Of(int64(files), "file"), shardify.FormatSize(bytes))
		case w.Removable() > 0:
			p.Result("next: shardify gc %s --yes", printable.Quote(folder))
		default:
			p.Result("nothing to remove")
		}
		return err
	}
	return c
}
