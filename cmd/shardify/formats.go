package main

import (
	"github.com/shardify/shardify/internal/cli"
	"github.com/spf13/cobra"
)

func formatsCommand(p *program) *cobra.Command {
	var augmentations bool
	c := &cobra.Command{
		Use:   "formats",
		Short: "list the formats that are read and written, with their options",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if augmentations {
				p.Augmentations()
				return nil
			}
			p.Formats()
			return nil
		},
	}
	c.Flags().BoolVar(&augmentations, "augment", false, "list the operations of --augment instead, with their settings and effects")
	return c
}
