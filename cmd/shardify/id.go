package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
)

func idCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "id FOLDER",
		Short: "print the id of a data set: one digest of what training reads",
		Long: `Prints one digest over the samples, their order, the fields, and the names of classes. It depends neither on
times and paths nor on inputs and options: sets with the same shards have the same id. It is made from the manifest,
which has the digest of each shard; shardify verify FOLDER --id ID compares the shards, too.

A run pins what it trains on with shardify.Loader(FOLDER, ..., id=ID) or shardify.open(FOLDER, id=ID). Where a set has splits,
the id of the whole set fits each of them.`,
		Example: `shardify id photos-shards
shardify verify photos-shards --id $(shardify id photos-shards)`,
		Args: cli.OneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := pipeline.ID(c.Context(), args[0])
			if err != nil {
				return err
			}
			p.Object("id", struct {
				Folder string `json:"folder"`
				ID     string `json:"id"`
			}{args[0], id})
			p.Result("%s", id)
			return nil
		},
	}
}
