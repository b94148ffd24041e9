// Shardify converts data sets into shards that training reads fast.
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	collectLate()
	out := cli.Standard()
	out.Command, out.Args = cli.CommandLine(os.Args), os.Args
	p := &program{IO: out, stdin: os.Stdin}
	// Never stopped: a signal at the last moment must not make a failure of what is done.
	ctx, _ := out.Signals(context.Background(), func(code int) { os.Exit(p.end(code)) })
	if err := addressSpace(host.Env{}.AddressSpace()); err != nil {
		return out.Report(ctx, "shardify", err)
	}
	root := newRoot(p)
	root.PersistentPreRun = func(*cobra.Command, []string) { useCores() }
	return p.end(out.Report(ctx, "shardify", root.ExecuteContext(ctx)))
}

// useCores leaves idle what is not ours: the runtime knows neither the groups above ours nor the batch system.
// Help and completion do without: looking at the machine takes a tenth of their time.
func useCores() {
	if cores := host.This().Cores; os.Getenv("GOMAXPROCS") == "" && cores < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(cores)
	}
}
