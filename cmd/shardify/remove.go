package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func removeCommand(p *program) *cobra.Command {
	e := pipeline.Edit{Op: "remove"}
	c := &cobra.Command{
		Use:   "remove FOLDER (--where CONDITION | --keys FILE [--by FIELD])",
		Short: "remove samples from a data set: a new version without them",
		Long: `Makes a new version of the data set without some of its samples. Shards that hold one of them are written again under other names; all other
shards, and the order of the samples, stay. Programs that have the set open continue to read the version that they opened.

The old shards stay, too, so that shardify checkout can return to the old version. To delete them for good: shardify gc FOLDER --keep 1 --yes.`,
		Example: `shardify remove people-shards --where 'person == 17' --dry-run
shardify remove people-shards --keys withdrawn.txt --by person
shardify remove photos-shards --keys bad.txt --note 'request of 3 May'`,
		Args: cli.OneFolder,
	}
	cli.Grouped(c.Flags(), "Samples", func(fs *pflag.FlagSet) {
		fs.StringVar(&e.Where, "where", "", "remove the samples for which a `CONDITION` holds, as in shardify convert --where")
		fs.StringVar(&e.Keys, "keys", "", "remove the samples whose names are lines of `FILE`; each must be in the set")
		fs.StringVar(&e.By, "by", "", "the lines of --keys are values of `FIELD`, such as numbers of persons, and no names of samples")
		fs.StringVar(&e.Note, "note", "", "`TEXT` for shardify log")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.BoolVar(&e.Dry, "dry-run", false, "print what would be removed and write nothing")
		addEditing(fs, &e)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if (e.Where == "") == (e.Keys == "") {
			return shardify.Hint(shardify.Usage("want one of --where and --keys"), "for example: shardify remove "+args[0]+" --where 'person == 17'")
		}
		if e.By != "" && e.Keys == "" {
			return shardify.Usage("--by says what the lines of --keys are: there is no --keys")
		}
		e.Dir = args[0]
		return p.edit(c.Context(), &e)
	}
	cli.AddEffects(c, cli.Effects{"where": nil, "keys": nil, "by": nil, "note": nil, "dry-run": nil, "jobs": nil, "memory": nil, "sync": nil})
	return c
}
