package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settingsFlags are the flags that convert and plan share.
type settingsFlags struct {
	s     pipeline.Settings
	flags *cli.SettingsFlags
}

func addSettings(c *cobra.Command) *settingsFlags {
	f := &settingsFlags{}
	f.flags = cli.AddSettings(c.Flags(), &f.s)
	cli.ShortHelp(c, "recipe", "output", "format", "shard-size", "fresh", "columns", "on-error", "where", "define", "cast", "augment", "split", "shuffle", "jobs", "memory")
	cli.CompleteSettings(c, &f.s)
	return f
}

// settings completes the flags by the recipe and returns them.
func (f *settingsFlags) settings(p *program, args []string) (pipeline.Settings, error) {
	err := f.flags.Complete(args)
	f.s.Stdin = p.stdin
	f.s.IgnoreTimes = f.s.IgnoreTimes || p.anyTime
	return f.s, err
}

// addRunning adds the flags of what makes shards.
func addRunning(fs *pflag.FlagSet, s *pipeline.Settings) {
	cli.AddKeys(fs, s, "jobs", "memory", "sync")
}
