package main

import (
	"slices"

	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
)

func formatsCommand(p *program) *cobra.Command {
	var augmentations bool
	c := &cobra.Command{
		Use:   "formats [FORMAT...]",
		Short: "list the formats that are read and written, with their options",
		Example: `shardify formats hdf5
shardify formats --augment`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.FixedCompletions(slices.Compact(slices.Sorted(slices.Values(append(readers.Names(), writers.Names()...)))), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, names []string) error {
			if augmentations {
				p.Augmentations()
				return nil
			}
			return p.Formats(names)
		},
	}
	c.Flags().BoolVar(&augmentations, "augment", false, "list the operations of --augment instead, with their settings and effects")
	return c
}
