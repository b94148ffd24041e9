package main

import (
	"fmt"
	"runtime"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/version"
	"github.com/spf13/cobra"
)

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("shardify %s %s/%s %s", version.String(), runtime.GOOS, runtime.GOARCH, runtime.Version())
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
			}{version.String(), runtime.GOOS, runtime.GOARCH})
			return nil
		},
	}
}
