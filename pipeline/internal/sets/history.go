package sets

import (
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// join fills in the history of a manifest from its parts.
func join(m *index.Manifest, parts []index.Part) {
	m.Parts = parts
	m.Inputs, m.Recipe = joinInputs(parts), maps.Clone(parts[0].Recipe)
	m.Operations, m.Surveys = parts[0].Operations, parts[0].Surveys
	m.Dropped, m.Copied, m.Documents, m.Counts, m.Skipped, m.LeftOut = 0, 0, 0, nil, nil, nil
	for i := range parts {
		p := &parts[i]
		maps.DeleteFunc(m.Recipe, func(k, v string) bool { w, ok := p.Recipe[k]; return !ok || w != v })
		if !slices.Equal(m.Operations, p.Operations) {
			m.Operations = nil
		}
		if !slices.Equal(m.Surveys, p.Surveys) {
			m.Surveys = nil
		}
		m.Dropped += p.Dropped
		m.Copied += p.Copied
		m.Documents += p.Documents
		for _, c := range p.Counts {
			m.Counts = addCount(m.Counts, c)
		}
		m.Skipped = append(m.Skipped, p.Skipped...)
		for _, l := range p.LeftOut {
			m.LeftOut = addLeft(m.LeftOut, l)
		}
	}
}

// joinInputs describes the inputs of all parts.
func joinInputs(parts []index.Part) index.Inputs {
	in := parts[0].Inputs
	in.Names = slices.Clone(in.Names)
	named := int64(len(in.Names)) == in.Count
	var d index.Digest
	d.Write([]byte(parts[0].Inputs.Digest))
	var formats []string
	for i := range parts {
		p := &parts[i].Inputs
		if !slices.Contains(formats, p.Format) {
			formats = append(formats, p.Format)
		}
		if i == 0 {
			continue
		}
		in.Count += p.Count
		in.Bytes += p.Bytes
		named = named && int64(len(p.Names)) == p.Count
		in.Names = append(in.Names, p.Names...)
		d.Write([]byte(p.Digest))
	}
	in.Format, in.Digest = strings.Join(formats, "+"), d.String()
	if !named || in.Count > index.MaxInputNames {
		in.Names = nil
	}
	return in
}

func addCount(list []shardify.Count, c shardify.Count) []shardify.Count {
	for i := range list {
		if list[i].Name == c.Name {
			list[i].N += c.N
			return list
		}
	}
	return append(list, c)
}

func addLeft(list []format.Leftover, l format.Leftover) []format.Leftover {
	for i := range list {
		if list[i].Name == l.Name && list[i].Reason == l.Reason {
			list[i].Count += l.Count
			return list
		}
	}
	return append(list, l)
}
