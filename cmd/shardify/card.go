package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
)

// describe writes the data card and the Croissant file of a data set. A card is a page that
// people write on: an existing file stays.
func (p *program) describe(f *inspectFlags, inputs []string) error {
	if len(inputs) != 1 || f.stats.wanted() || f.sample.number >= 0 {
		return shardify.Usage("--card and --croissant describe one data set, and need no data")
	}
	c, err := pipeline.CardOf(inputs[0])
	if err != nil {
		return err
	}
	c.Use = cli.UseLine(c.Manifest.Format, c.FolderOf("FOLDER"))
	for _, w := range []struct {
		name string
		make func() ([]byte, error)
	}{{f.card, c.HuggingFace}, {f.croissant, c.Croissant}} {
		if w.name == "" {
			continue
		}
		b, err := w.make()
		if err == nil {
			err = cli.WriteNew(w.name, b)
		}
		if err != nil {
			return err
		}
		p.Result("wrote %s", w.name)
	}
	return nil
}

func (p *program) inspectSet(ctx context.Context, dir string) error {
	dir, m, err := pipeline.ManifestOf(dir)
	if err != nil {
		return err
	}
	id, err := pipeline.ID(ctx, dir)
	if err != nil {
		return err
	}
	p.Shown("dataset", inspect.Describe(dir, id, m))
	p.Result("")
	p.Next(dir, m)
	return nil
}
