package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/verifycmd"
	"github.com/spf13/cobra"
)

func manCommand(p *program) *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the man pages",
		Hidden: true,
		Args:   cli.OneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			verify := verifycmd.New(p.IO, "verify")
			verify.Flags().AddFlagSet(c.Root().PersistentFlags())
			for _, s := range append(cli.Commands(c.Root()), verify) {
				name := strings.ReplaceAll(s.CommandPath(), " ", "-")
				var b bytes.Buffer
				file := name + ".1"
				if markdown {
					file = name + ".md"
					cli.Markdown(&b, s.CommandPath(), cli.PageOf(s))
				} else {
					cli.Manual(&b, name, "1", cli.PageOf(s))
				}
				if err := os.WriteFile(filepath.Join(args[0], file), b.Bytes(), 0o666); err != nil {
					return err
				}
				p.Result("%s", file)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "pages in Markdown, for the site")
	return c
}
