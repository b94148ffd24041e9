package main

import (
	"os"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
)

// program is what every command has.
type program struct {
	*cli.IO
	stdin   *os.File
	stall   time.Duration // of --stall
	anyTime bool          // of --ignore-times
	// ends are done before the process ends, by itself or because it takes too long to
	// stop.
	mu   sync.Mutex
	ends []func(code int)
}

// atEnd has something done before the process ends with a code.
func (p *program) atEnd(f func(code int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, f)
}

// end does what is to be done before the process ends, once, the latest first.
func (p *program) end(code int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i](code)
	}
	p.ends = nil
	return code
}

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "shardify COMMAND",
		Short: "convert data sets into shards that training reads fast",
		Long: `Reads folders of files and images, NPZ and NumPy, HDF5, ROOT and Parquet files, WebDataset tars and its own shards; writes shards
that are mapped into memory (mmap) or WebDataset tars (wds), with an index, checksums and a manifest, or shards for MosaicML
Streaming (mds) and Megatron.

Nothing is ever overwritten. A conversion that was stopped goes on when the same command runs again.`,
		Example: `shardify inspect photos/
shardify convert photos/ -o photos-shards
shardify convert train.npz -o train-shards --columns 'x,y'
verify photos-shards`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
	}
	root.AddCommand(
		convertCommand(p), planCommand(p), workCommand(p), submitCommand(p), mergeCommand(p), statusCommand(p), gcCommand(p), mergeSetsCommand(p), extendCommand(p), inspectCommand(p),
		verifyCommand(p), indexCommand(p), benchCommand(p), stageCommand(p), formatsCommand(p), versionCommand(p), manCommand(p),
	)
	p.addCommon(root)
	for _, c := range root.Commands() {
		cli.Complete(c, map[string][]string{"from": readers.Names(), "format": writers.Names()})
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if words := c.Flags().Args(); c == root && len(words) > 0 {
			return unknownCommand(root, words[0]) // before the flags of whatever was meant
		}
		return cli.FlagError(c, err)
	})
	root.SetHelpCommand(helpCommand())
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { cli.WriteHelp(p.Out, cli.PageOf(c)) })
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.PersistentFlags().BoolVar(&p.JSON, "json", false, "results as one JSON object per line")
	root.PersistentFlags().BoolVarP(&p.Quiet, "quiet", "q", false, "neither notes nor progress")
	return root
}

// helpCommand is cobra's, but a word that is no command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help COMMAND",
		Short:  "tell how a command is used",
		Hidden: true,
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, _, err := c.Root().Find(args)
			if err == nil && about == c.Root() && len(args) > 0 {
				err = unknownCommand(about, args[0])
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// noArguments refuses them as wrong usage, which cobra.NoArgs does not.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return shardify.Hint(shardify.Usage("%s takes flags alone, not %q", c.CommandPath(), args[0]), "see: "+c.CommandPath()+" --help")
	}
	return nil
}

func unknownCommand(root *cobra.Command, word string) error {
	err := shardify.Usage("unknown command %q", word)
	if _, e := os.Stat(word); e == nil {
		return shardify.Hint(err, "did you mean: shardify inspect "+printable.Quote(word))
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if m := suggest.Word(word, names); m != "" {
		return shardify.Hint(err, "did you mean: shardify "+m)
	}
	return shardify.Hint(err, "see: shardify --help")
}
