package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/spf13/cobra"
)

func manCommand(out *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the man pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			for _, s := range cli.Commands(c.Root()) {
				name := strings.ReplaceAll(s.CommandPath(), " ", "-")
				var b bytes.Buffer
				cli.Manual(&b, name, "1", cli.PageOf(s))
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), b.Bytes(), 0o666); err != nil {
					return err
				}
				out.Result("%s.1", name)
			}
			return nil
		},
	}
}
