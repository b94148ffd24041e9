package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
)

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "shardify COMMAND",
		Short: "convert data sets into shards that training reads fast",
		Long: `Reads folders of files and images, arrays (NPZ, HDF5, NetCDF, Zarr, MATLAB), ROOT, tables (Parquet, Arrow, CSV, JSON, SQLite), records (TFRecord, LMDB, WebDataset tars),
scientific images (NIfTI, DICOM, FITS, MRC), cells, atoms, sound, text and its own shards; shardify formats lists all. Writes shards that are mapped into memory (mmap) or WebDataset
tars (wds), with an index, checksums and a manifest, or what other programs read: MosaicML Streaming, Megatron, Parquet, Arrow, TFRecord, ArrayRecord.

Nothing is ever overwritten. A conversion that was stopped goes on when the same command runs again.`,
		Example: `shardify inspect photos/
shardify convert photos/ -o photos-shards
shardify convert train.npz -o train-shards --columns 'x,y'
shardify verify photos-shards`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return cli.UnknownCommand(c, args[0], p.Args[min(1, len(p.Args)):])
		},
	}
	root.AddCommand(
		convertCommand(p), planCommand(p), workCommand(p), runCommand(p), submitCommand(p), mergeCommand(p), statusCommand(p), gcCommand(p), mergeSetsCommand(p), extendCommand(p), blendCommand(p), inspectCommand(p), idCommand(p), diffCommand(p), viewCommand(p),
		removeCommand(p), relabelCommand(p), logCommand(p), checkoutCommand(p),
		verifyCommand(p), indexCommand(p), benchCommand(p), stageCommand(p), cacheCommand(p), formatsCommand(p), versionCommand(p), manCommand(p),
	)
	p.addCommon(root)
	for _, c := range root.Commands() {
		cli.Complete(c, map[string][]string{"from": readers.Names(), "format": writers.Names()})
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if words := c.Flags().Args(); c == root && len(words) > 0 {
			return cli.UnknownCommand(root, words[0], p.Args[min(1, len(p.Args)):]) // before the flags of whatever was meant
		}
		return cli.FlagError(c, err)
	})
	root.SetHelpCommand(cli.HelpCommand())
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { p.Help(c) })
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.PersistentFlags().BoolVar(&p.JSON, "json", false, "results as one JSON object per line")
	root.PersistentFlags().BoolVarP(&p.Quiet, "quiet", "q", false, "neither notes nor progress")
	cli.Finish(root)
	return root
}
