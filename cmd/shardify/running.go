package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/stall"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stallTime is the default of --stall: longer than a server of a parallel file system
// takes to be replaced by another.
const stallTime = 5 * time.Minute

// addCommon adds the flags that many commands have and that mean the same in all.
func (p *program) addCommon(root *cobra.Command) {
	p.stall = stallTime
	for _, c := range root.Commands() {
		known := c.Flags().Lookup("sync")
		if known == nil {
			continue
		}
		add := func(fs *pflag.FlagSet) {
			if c.Name() != "plan" {
				fs.DurationVar(&p.stall, "stall", stallTime, "exit with 75 when nothing was read or written for this `TIME`, and tell what is waited for; 0 waits for ever")
			}
			if slices.Contains([]string{"convert", "plan", "work", "extend"}, c.Name()) {
				fs.BoolVar(&p.anyTime, "ignore-times", false, "take inputs that were modified since the plan was made for unchanged, if their sizes are the same")
			}
			fs.BoolVar(&p.RetryFull, "retry-full", false, "exit with 75 (run again) instead of 1 when the disk or a quota is full")
		}
		if known.Annotations[cli.Group] == nil {
			add(c.Flags())
		} else {
			group(c.Flags(), "Running", add)
		}
	}
}

// begin keeps a conversion within its memory and watches whether it moves, until end.
func (p *program) begin(ctx context.Context, x *cli.Prepared) (end func()) {
	limitMemory(x.Memory)
	x.Job.IgnoreTimes = p.anyTime
	if p.machine.Login {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(x.Jobs, host.LoginJobs)))
	}
	stop := p.watchStall(ctx, x.Job.WatchStall)
	return func() {
		stop()
		x.Store.DropScratch()
	}
}

// watchStall ends the process when what watch looks at does not move, until stop. What
// hangs in the kernel cannot be called back; nothing half is published, so to end here
// is safe.
func (p *program) watchStall(ctx context.Context, watch func(time.Duration, func() bool, func(*stall.Stalled)) (stop func())) (stop func()) {
	if p.stall <= 0 {
		return func() {}
	}
	return watch(p.stall, new(host.Activity).Moved, func(s *stall.Stalled) {
		os.Exit(p.end(p.Report(ctx, "shardify", s)))
	})
}

// commandLine is what the user has typed, as a shell would take it.
func commandLine(args []string) string {
	var words []string
	for _, a := range args {
		words = append(words, cli.Quote(a))
	}
	return strings.Join(words, " ")
}

// limitMemory asks the runtime to collect garbage rather than to grow past the budget,
// unless the user has said what it should do.
func limitMemory(budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(budget)
	}
}
