package main

import (
	"context"

	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/view"
)

// view shows inputs, and those that they are compared with, until the program is to end.
func (p *program) view(ctx context.Context, f *inspectFlags, inputs []string, with string, port int) error {
	_, sample := f.s.Options["sample"]
	r, err := pipeline.InspectRequest(ctx, f.s, inputs, sample)
	if err != nil {
		return err
	}
	sides := []pipeline.Inspection{r}
	if with != "" {
		f := &inspectFlags{}
		if r, err = pipeline.InspectRequest(ctx, f.s, []string{with}, false); err != nil {
			return err
		}
		sides = append(sides, r)
	}
	return view.Serve(ctx, sides, port, func(address string) {
		p.Object("view", struct {
			Address string `json:"address"`
		}{address})
		p.Result("%s", address)
	})
}
