package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func relabelCommand(p *program) *cobra.Command {
	e := pipeline.Edit{Op: "relabel"}
	c := &cobra.Command{
		Use:   "relabel FOLDER --labels FILE",
		Short: "change labels or other numbers of samples: a new version with them",
		Long: `Makes a new version of the data set in which some samples have other values of some fields. Only shards that hold one of them are written again,
under other names. Programs that have the set open continue to read the version that they opened.

FILE is a table (CSV) with a head. Its first column says which sample: "key" is the name of the sample, any other name a field of the set, of whole numbers
or texts. The other columns are the fields: numbers, or names of classes that the set has. Each sample of the table must be in the set.`,
		Example: `shardify relabel photos-shards --labels fixed.csv --dry-run
shardify relabel photos-shards --labels fixed.csv --note 'second reading'`,
		Args: cli.OneFolder,
	}
	cli.Grouped(c.Flags(), "Samples", func(fs *pflag.FlagSet) {
		fs.StringVar(&e.Labels, "labels", "", "the table of values: a `FILE` such as key,cls")
		fs.StringVar(&e.Note, "note", "", "`TEXT` for shardify log")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&e.Dry, "dry-run", false, "print what would be changed and write nothing")
		addEditing(fs, &e)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if e.Labels == "" {
			return shardify.Hint(shardify.Usage("no table of values"), "for example: shardify relabel "+args[0]+" --labels fixed.csv")
		}
		e.Dir = args[0]
		return p.edit(c.Context(), &e)
	}
	cli.AddEffects(c, cli.Effects{"labels": nil, "note": nil, "dry-run": nil, "jobs": nil, "memory": nil, "sync": nil})
	return c
}
