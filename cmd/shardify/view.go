package main

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/readers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func viewCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "view INPUT...",
		Short: "show a data set, or inputs, on a page of this machine",
		Long: `Prints an address of this machine, 127.0.0.1. The page there shows the samples as pictures, plots, maps, texts and tables, finds
samples by a condition, by name or by text, sorts, compares, and shows what augmentation does. It only reads, and needs no network. Only
a browser that opens the whole address, with its token, is let in. Ctrl-C ends it.`,
		Example: `shardify view photos-shards
shardify view era5.nc
shardify view photos-v2 --compare photos-v1 --port 8000`,
	}
	f := &inspectFlags{}
	var port int64
	var with string
	fs := c.Flags()
	cli.Grouped(fs, "Page", func(fs *pflag.FlagSet) {
		fs.Var((*value.Number)(&port), "port", "the `PORT` of the address; a free one if left out")
		fs.StringVar(&with, "compare", "", "show another `INPUT` beside it")
	})
	cli.Grouped(fs, "Input", func(fs *pflag.FlagSet) { cli.AddKeys(fs, &f.s, "from", "follow-symlinks", "columns", "on-error") })
	f.s.Options = map[string]string{}
	cli.AddFormatFlags(fs, readers.Formats, nil, f.s.Options)
	cli.CompleteSettings(c, &f.s)
	cli.ShortHelp(c, "from", "columns", "port", "compare")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && !readers.Invents(f.s.From) {
			return shardify.Hint(shardify.Usage("no input"), "for example: shardify view photos-shards")
		}
		if port < 0 || port > math.MaxUint16 {
			return shardify.Usage("--port %d: want a number from 1 to %d", port, math.MaxUint16)
		}
		return p.view(c.Context(), f, args, with, int(port))
	}
	return c
}
