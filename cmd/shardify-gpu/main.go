// Shardify-gpu is the part of shardify that opens the CUDA driver: bench, on a GPU,
// and probe. It is a program of its own because what opens the driver is linked
// dynamically; shardify is not, and runs it for --device cuda:N.
package main

import (
	"context"
	"os"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/benchcmd"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/version"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	out := cli.Standard()
	ctx, stop := out.Signals(context.Background(), os.Exit)
	defer stop()
	return out.Report(ctx, "shardify-gpu", newRoot(out).ExecuteContext(ctx))
}

func newRoot(out *cli.IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "shardify-gpu COMMAND",
		Short: "the commands of shardify that use a GPU",
		Long: `Opens the CUDA driver, which shardify itself, being static, cannot. "shardify bench --device cuda:N" runs this program; it is found
beside shardify or on PATH.`,
		Example: `shardify-gpu probe
shardify-gpu bench digits-shards --device cuda:0`,
		SilenceErrors: true, SilenceUsage: true, Version: version.String(),
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return shardify.Hint(shardify.Usage("unknown command %q", args[0]), "all other commands are those of shardify")
		},
	}
	root.AddCommand(benchcmd.New(out, "shardify-gpu bench", nil), probeCommand(out), manCommand(out))
	for _, c := range root.Commands() {
		cli.Complete(c, nil)
	}
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { out.Help(c) })
	root.SetOut(out.Out)
	root.SetErr(out.Err)
	root.PersistentFlags().BoolVar(&out.JSON, "json", false, "results as one JSON object per line")
	root.PersistentFlags().BoolVarP(&out.Quiet, "quiet", "q", false, "neither notes nor progress")
	cli.Finish(root)
	return root
}
