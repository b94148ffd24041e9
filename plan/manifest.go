package plan

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
)

// Manifest is what the plan alone says about the set.
func (p *Plan) Manifest() index.Manifest {
	m := index.Manifest{
		Format: p.Output, Keyed: p.Keyed, Schema: p.Schema, Recipe: p.recipe(), LeftOut: slices.Concat(p.LeftOut, p.Outside),
		Shards: []shardify.Shard{}, Inputs: p.inputs(),
	}
	m.Coords, _ = format.KeptCoords(p.Coords, p.Schema)
	if p.Static != nil {
		m.Static = &p.Static.Static
	}
	for _, c := range p.Unread {
		m.Dropped += c.N
	}
	m.Counts = slices.Clone(p.Unread)
	for _, o := range p.Ops {
		m.Operations = append(m.Operations, index.Operation{Op: o.Name, Text: o.Text})
	}
	for _, f := range p.Findings {
		m.Surveys = append(m.Surveys, index.Survey{What: f.What, Result: f.Brief()})
	}
	return m
}

// recipe is every option that decides bytes, as text.
func (p *Plan) recipe() map[string]string {
	r := maps.Clone(p.Recipe)
	maps.Copy(r, p.InputOptions)
	maps.Copy(r, p.OutputOptions)
	r["on-error"] = p.OnError
	for name, text := range map[string]string{"columns": value.Record((*value.List)(&p.Columns)), "shuffle": p.Shuffle} {
		if text != "" {
			r[name] = text
		}
	}
	if p.Shuffle != "" || p.Split != nil || len(p.Ops) > 0 {
		r["seed"] = strconv.FormatUint(p.Seed, 10)
	}
	if p.Split != nil {
		p.Split.recipe(r)
	}
	if p.Provenance {
		r["provenance"] = "true"
	}
	return r
}

// inputs describes the input table without saying where it is.
func (p *Plan) inputs() index.Inputs {
	in := *p.Listed
	if in.Count <= index.MaxInputNames {
		for i := range p.Table.Len() {
			in.Names = append(in.Names, strings.ToValidUTF8(p.Table.Name(i), "\uFFFD"))
		}
	}
	return in
}

// lister adds up tables to what a manifest says about them.
type lister struct {
	count, bytes int64
	digest       index.Digest
	lines        []byte
}

func (l *lister) add(t *format.Table) {
	l.count, l.bytes = l.count+int64(t.Len()), l.bytes+t.Bytes()
	for i := range t.Len() {
		if name := t.NameBytes(i); len(name) > 0 {
			l.lines = append(l.lines, name...)
		} else {
			l.lines = append(l.lines, t.Name(i)...)
		}
		l.lines = binary.LittleEndian.AppendUint64(append(l.lines, 0), uint64(t.Size(i)))
		if len(l.lines) > 64<<10 || i == t.Len()-1 {
			l.digest.Write(l.lines)
			l.lines = l.lines[:0]
		}
	}
}

func (l *lister) inputs(format string) index.Inputs {
	return index.Inputs{Format: format, Count: l.count, Bytes: l.bytes, Digest: l.digest.String()}
}
