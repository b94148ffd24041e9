package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/verify"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func indexCommand(p *program) *cobra.Command {
	to := ""
	c := &cobra.Command{
		Use:   "index FOLDER [-o FOLDER]",
		Short: "rebuild offset indexes and files for other loaders; index tars of others",
		Long: `Rebuilds files of a data set that are missing or damaged and follow from its shards: the .tar.idx of wds shards, the files for other
loaders, the manifest. Shards are never touched, and their data are not read; shardify verify --repair does the same and reads them.

For tars of other programs it writes shardify.tars: what their headers say, so that they are not read again each time the set is opened. Tars that change
later are noticed. With -o it is in a folder of its own, for tars that cannot be written beside; then that folder is the one to open.`,
		Example: "shardify index photos-shards\nshardify index /data/laion -o laion-index",
		Args:    cli.OneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			dir := args[0]
			r, err := pipeline.Index(c.Context(), dir, to)
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
			if r.State != verify.StateForeign {
				p.Result("done: %s rebuilt in %s", printable.Of(int64(len(r.Done)), "file"), dir)
			}
			p.Result("next: shardify verify %s", printable.Quote(r.Path))
			return nil
		},
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&to, "output", "o", "", "`FOLDER` for the index of tars of others; beside them if left out")
	})
	cli.AddEffects(c, cli.Effects{"output": nil})
	return c
}
