package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func diffCommand(p *program) *cobra.Command {
	var o pipeline.Comparison
	var jobs value.Jobs
	var memory value.Memory
	var page string
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "compare two data sets: samples, fields, classes",
		Long: `Prints which samples were added, removed and changed from A to B, in which fields, which fields and types differ, and how many samples of
each class there are. A and B are data sets of any layout, in folders or on servers, or inputs of any format.

A sample is found in the other set by its name, by the field of --by, or, where samples have no names, by all of its values: then a
changed sample is one that was removed and one that was added. Values are the same if their bytes are; codes of classes if
their names are. Sets with the same id are not read.`,
		Example: `shardify diff photos-v1 photos-v2
shardify diff s3://bucket/v1 events-v2 --by event_id --json`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Comparison", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.By, "by", "", "the `FIELD` whose value finds a sample in the other set; names or all values if left out")
		fs.IntVar(&o.Show, "show", 10, "name at most `N` samples of each kind")
		fs.StringVar(&page, "html", "", "write it as one self-contained page to `FILE`.html")
	})
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		fs.Var(&jobs, "jobs", "parts read at the same time; the cores of the machine or allocation if left out")
		fs.Var(&memory, "memory", "`SIZE` of memory to stay under; what does not fit is sorted in --scratch")
		fs.StringVar(&o.Scratch, "scratch", "", "`FOLDER` for scratch files; that of the system ($TMPDIR) if left out")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 2 {
			return shardify.Hint(shardify.Usage("want two data sets, not %d", len(args)), "for example: shardify diff photos-v1 photos-v2")
		}
		o.Jobs, o.Memory, o.Show = int(jobs), int64(memory), max(o.Show, 0)
		return p.diff(c.Context(), args[0], args[1], o, page)
	}
	cli.AddEffects(c, cli.Effects{"by": nil, "show": nil, "html": nil, "jobs": nil, "memory": nil, "scratch": nil})
	return c
}
