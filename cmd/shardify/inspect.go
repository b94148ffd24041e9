package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type inspectFlags struct {
	s      pipeline.Settings
	sample *sampleValue
	stats  *statsFlags
	// Files to write.
	card, croissant string
}

func inspectCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect INPUT...",
		Short: "show the contents of inputs or of a data set",
		Long: `Prints the fields, sizes and samples of inputs, what would be left out and why, and a convert line ready to paste. Inputs
that do not fit together are compared. For a data set it prints what the manifest says. With --stats, --html or --duplicates all
data are read once.`,
		Example: `shardify inspect photos/
shardify inspect train.npz test.npz
shardify inspect photos-shards --sample 12
shardify inspect events.root --stats --html report.html
shardify inspect photos-shards --card photos-shards/README.md --croissant photos-shards/croissant.json`,
	}
	f := &inspectFlags{}
	fs := c.Flags()
	cli.Grouped(fs, "Input", func(fs *pflag.FlagSet) { cli.AddKeys(fs, &f.s, "from", "follow-symlinks", "columns", "on-error") })
	f.stats = addStats(fs)
	f.s.Options = map[string]string{}
	cli.AddFormatFlags(fs, readers.Formats, nil, f.s.Options)
	f.sample = addSample(fs)
	cli.Grouped(fs, "Description", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.card, "card", "", "write a data card for the Hugging Face Hub to `FILE`: SET/README.md makes tars load without options")
		fs.StringVar(&f.croissant, "croissant", "", "write the metadata of a data set as Croissant (JSON-LD) to `FILE`")
	})
	cli.CompleteSettings(c, &f.s)
	cli.ShortHelp(c, "from", "columns", "stats", "html", "npy", "duplicates", "sample", "card", "croissant")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && !readers.Invents(f.s.From) {
			return shardify.Hint(shardify.Usage("no input"), "for example: shardify inspect photos/")
		}
		return p.inspect(c.Context(), f, args)
	}
	return c
}
