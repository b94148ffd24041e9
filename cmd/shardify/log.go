package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func logCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "log FOLDER",
		Short: "list the versions of a data set",
		Long: `Lists the versions that a data set has had, the present one first: number, what made it, samples, bytes, and its id. remove, relabel,
extend and checkout make versions; gc --keep deletes older ones.`,
		Example: `shardify log photos-shards
shardify checkout photos-shards 1 -o photos-of-the-paper`,
		Args: cli.OneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := pipeline.Versions(args[0])
			if err != nil {
				return err
			}
			p.Object("log", struct {
				Folder   string             `json:"folder"`
				Versions []pipeline.Version `json:"versions"`
			}{args[0], list})
			for _, v := range list {
				p.Result("%4d  %-10s %11s %15s  %10s  %s%s", v.Number, v.Op, signed(v.Change), printable.Of(v.Samples, "sample"), shardify.FormatSize(v.Bytes), v.ID, after(v.Note))
			}
			return nil
		},
	}
}

// signed is a difference.
func signed(n int64) string {
	if n < 0 {
		return "-" + printable.Count(-n)
	}
	return "+" + printable.Count(n)
}

// after is a note behind other text.
func after(note string) string {
	if note == "" {
		return ""
	}
	return "  " + printable.Text(note)
}
