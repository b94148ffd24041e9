package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = ""

func versionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := version
			if info, ok := debug.ReadBuildInfo(); ok && v == "" {
				v = info.Main.Version
			}
			p.Result("shardify %s %s/%s %s", v, runtime.GOOS, runtime.GOARCH, runtime.Version())
			p.Object("version", struct {
				Version string `json:"version"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{v, runtime.GOOS, runtime.GOARCH})
			return nil
		},
	}
}
