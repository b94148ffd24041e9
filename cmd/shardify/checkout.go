package main

import (
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func checkoutCommand(p *program) *cobra.Command {
	e := pipeline.Edit{Op: "checkout"}
	c := &cobra.Command{
		Use:   "checkout FOLDER VERSION [-o FOLDER]",
		Short: "return to an older version of a data set, there or in another folder",
		Long: `With -o it makes a folder of an older version: links to the shards (copies where the file system has none), and the manifest of that version with its id.

Without -o the samples of that version become those of the set again: as a new version, so that nothing is lost. shardify log lists the versions.`,
		Example: `shardify checkout photos-shards 1 -o photos-of-the-paper
shardify checkout photos-shards 3`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&e.To, "output", "o", "", "`FOLDER` for that version; without it, it becomes the present one")
		fs.StringVar(&e.Note, "note", "", "`TEXT` for shardify log")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&e.Dry, "dry-run", false, "write nothing")
		addEditing(fs, &e)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		err := error(nil)
		if len(args) == 2 {
			e.Version, err = strconv.ParseInt(args[1], 10, 64)
		}
		if len(args) != 2 || err != nil {
			return shardify.Hint(shardify.Usage("want a data set and the number of a version"), "shardify log FOLDER lists them")
		}
		if c.Flags().Changed("output") && e.To == "" {
			return shardify.Usage("--output is empty: without it, the version becomes the present one of the set")
		}
		e.Dir = args[0]
		return p.edit(c.Context(), &e)
	}
	note := func() string {
		if e.To != "" {
			return "the folder of -o has an older version with its own note"
		}
		return ""
	}
	cli.AddEffects(c, cli.Effects{"output": nil, "note": note, "dry-run": nil, "jobs": nil, "memory": nil, "sync": nil})
	return c
}
