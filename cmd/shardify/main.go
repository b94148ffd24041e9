// Shardify converts data sets into shards that training reads fast.
package main

import (
	"context"
	"os"

	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"golang.org/x/term"
)

func main() { os.Exit(run()) }

func run() int {
	out := &cli.IO{Out: os.Stdout, Err: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	ctx, stop := cli.Signals(context.Background(), os.Exit)
	defer stop()
	root := newRoot(&program{IO: out, stdin: os.Stdin, machine: host.Probe(os.Getenv)})
	return out.Report(ctx, "shardify", root.ExecuteContext(ctx))
}
