package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/shardify/shardify/internal/cli"
	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = ""

// versionOf is the program's own; that of its module where no linker has set it.
func versionOf() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("shardify %s %s/%s %s", versionOf(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func versionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			p.Result("%s", versionLine())
			p.Object("version", struct {
				Version string `json:"version"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{versionOf(), runtime.GOOS, runtime.GOARCH})
			return nil
		},
	}
}
