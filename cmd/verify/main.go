// Verify checks data sets of shards, and tars and safetensors files made by
// others.
package main

import (
	"context"
	"os"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/verifycmd"
	"github.com/shardify/shardify/internal/version"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	out := cli.Standard()
	ctx, stop := out.Signals(context.Background(), os.Exit)
	defer stop()
	c := verifycmd.New(out, "verify")
	c.Version = version.String()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetFlagErrorFunc(cli.FlagError)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { out.Help(c) })
	c.SetOut(out.Out)
	c.SetErr(out.Err)
	c.Flags().BoolVar(&out.JSON, "json", false, "results as one JSON object per line")
	c.Flags().BoolVarP(&out.Quiet, "quiet", "q", false, "no progress")
	cli.AddCompletion(c)
	cli.Finish(c)
	return out.Report(ctx, "verify", c.ExecuteContext(ctx))
}
