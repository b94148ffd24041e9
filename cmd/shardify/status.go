package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/storage"
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
		Args:    oneFolder,
	}
	c.Flags().BoolVar(&deep, "deep", false, "read every receipt and look at every shard, however many there are")
	c.Flags().Var(&watch, "watch", "look again every so many seconds until the data set is complete")
	c.RunE = func(c *cobra.Command, args []string) error {
		for {
			r, err := cluster.Options{Deep: deep}.Status(c.Context(), args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return shardify.Hint(err, "make a data set: shardify convert INPUT... -o "+printable.Quote(args[0]))
			}
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
				return notComplete(r)
			}
			select {
			case <-c.Context().Done():
				return notComplete(r)
			case <-time.After(time.Duration(watch) * time.Second):
				p.Result("")
			}
		}
	}
	return c
}

func notComplete(r *cluster.Report) error {
	err := fmt.Errorf("%s is %w", r.Output, convert.ErrIncomplete)
	if r.State != cluster.StatusNone || len(r.Next) > 0 {
		return err
	}
	if _, e := os.Stat(filepath.Join(r.Output, storage.Private)); e == nil {
		return shardify.Hint(err, "what was begun there has no plan, as a merge of sets has none: run its command again, shardify merge-sets ... -o "+printable.Quote(r.Output))
	}
	return shardify.Hint(err, "it is no data set of ours; what is there tells: shardify inspect "+printable.Quote(r.Output))
}
