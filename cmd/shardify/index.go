package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func indexCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "index FOLDER",
		Short: "rebuild offset indexes and files for other loaders",
		Long: `Rebuilds files of a data set that are missing or damaged and follow from its shards: the .tar.idx of wds shards, the files for other
loaders, the manifest. Shards are never touched, and their data are not read; shardify verify --repair does the same and reads them.`,
		Example: "shardify index photos-shards",
		Args:    cli.OneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			dir := args[0]
			r, err := pipeline.Index(c.Context(), dir)
			if r == nil {
				return err
			}
			for _, d := range r.Done {
				p.Result("%s", d)
			}
			p.Object("index", struct {
				Output string   `json:"output"`
				Done   []string `json:"done"`
				Left   int64    `json:"problems_left"`
			}{dir, append([]string{}, r.Done...), r.Total - r.Repaired})
			if err != nil {
				return err
			}
			p.Result("done: %s rebuilt in %s", printable.Of(int64(len(r.Done)), "file"), dir)
			p.Result("next: shardify verify %s", printable.Quote(dir))
			return nil
		},
	}
}
