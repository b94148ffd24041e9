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
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
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
			cli.Grouped(c.Flags(), "Running", add)
		}
	}
}

// hooks are what this process does while a conversion runs: it shows how far it is, keeps
// within its memory, ends when nothing moves, and leaves a record, if there is one.
func (p *program) hooks(ctx context.Context, record *cluster.Attempt) pipeline.Hooks {
	bar := p.NewBar()
	h := pipeline.Hooks{Every: bar.Every(), Stall: p.stall, Stalled: func(err error) { os.Exit(p.end(p.Report(ctx, "shardify", err))) }}
	if !p.Quiet {
		h.Progress = bar.Converting
	}
	h.Begin = func(x *pipeline.Prepared, _ []int) func() {
		if record != nil {
			p.attempt(x, *record)
		}
		limitMemory(x.Memory)
		if host.This().Login {
			runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(x.Jobs, host.LoginJobs)))
		}
		return bar.Clear
	}
	return h
}

// commandLine is what the user has typed, as a shell would take it.
func commandLine(args []string) string {
	var words []string
	for _, a := range args {
		words = append(words, printable.Quote(a))
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
