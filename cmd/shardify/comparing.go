package main

import (
	"bufio"
	"context"
	"errors"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
)

// diff compares two sets, and shows how they differ.
func (p *program) diff(ctx context.Context, a, b string, o pipeline.Comparison, page string) (err error) {
	var file *cli.OutFile
	if page != "" { // first: a name that cannot be written to costs no time then
		if file, err = cli.CreateFile(page); err != nil {
			return err
		}
		defer file.Abort()
	}
	o.Hooks = pipeline.Hooks{Progress: p.Reading(), Every: time.Minute}
	r, err := pipeline.Diff(ctx, a, b, o)
	if err != nil {
		return err
	}
	p.Shown("diff", r)
	if file == nil {
		return nil
	}
	w := bufio.NewWriter(file)
	if err := errors.Join(r.Page().Write(w), w.Flush()); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	p.Result("\nwrote %s", page)
	return nil
}
