package plan

import (
	"maps"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
)

// Manifest is what the plan alone says about the set.
func (p *Plan) Manifest() index.Manifest {
	m := index.Manifest{
		Format: p.Out.Format, Keyed: p.Sample.Keyed, Schema: p.Sample.Schema, Recipe: p.recipe(), LeftOut: slices.Concat(p.In.LeftOut, p.Local.LeftOut),
		Shards: []shardify.Shard{}, Inputs: p.In.named(),
	}
	m.Coords, _ = format.KeptCoords(p.Sample.Coords, p.Sample.Schema)
	if p.Asked.Static != nil {
		m.Static = &p.Asked.Static.Static
	}
	for _, c := range p.In.Unread {
		m.Dropped += c.N
	}
	m.Counts = slices.Clone(p.In.Unread)
	for _, o := range p.Steps.Ops {
		m.Operations = append(m.Operations, index.Operation{Op: o.Name, Text: o.Text})
	}
	for _, f := range p.Steps.Findings {
		m.Surveys = append(m.Surveys, index.Survey{What: f.What, Result: f.Brief()})
	}
	return m
}

// recipe is every option that decides bytes, as text.
func (p *Plan) recipe() map[string]string {
	r := maps.Clone(p.Recipe)
	maps.Copy(r, p.In.Options)
	maps.Copy(r, p.Out.Options)
	r["on-error"] = p.OnError
	for name, text := range map[string]string{"columns": value.Record((*value.List)(&p.In.Columns)), "shuffle": p.Order.Shuffle} {
		if text != "" {
			r[name] = text
		}
	}
	if p.Order.Shuffle != "" || p.Splits.Rule != nil || len(p.Steps.Ops) > 0 {
		r["seed"] = strconv.FormatUint(p.Seed, 10)
	}
	if p.Splits.Rule != nil {
		p.Splits.Rule.Record(r)
	}
	if p.Asked.Provenance {
		r["provenance"] = "true"
	}
	return r
}
