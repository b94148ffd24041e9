package rows

import "github.com/shardify/shardify/format"

// place is what a part of a file is: the split that it belongs to, and its first sample's
// number in the file.
type place struct {
	name  string
	first int64
}

// parts numbers the places of parts; files that are one part without a name share one.
type parts struct {
	list []place
	ids  map[place]uint32
}

func (p *parts) add(name string, first int64) uint32 {
	x := place{name, first}
	id, ok := p.ids[x]
	if !ok {
		if p.ids == nil {
			p.ids = map[place]uint32{}
		}
		id = uint32(len(p.list))
		p.list, p.ids[x] = append(p.list, x), id
	}
	return id
}

// at is the place of an entry.
func (p *parts) at(e *entry) place {
	if int(e.part) >= len(p.list) {
		return place{}
	}
	return p.list[e.part]
}

func (p *parts) first(e *entry) int64 { return p.at(e).first }

// Splits implements format.Splitter: the parts of files that a survey has found. It is
// nil for a set without parts, or restored from a state.
func (s *Set) Splits() []format.SplitRange {
	var out []format.SplitRange
	for i := range s.entries {
		e := &s.entries[i]
		at := s.parts.at(e)
		if at.name == "" {
			return nil
		}
		out = append(out, format.SplitRange{Input: e.input, End: at.first + e.samples, Name: at.name})
	}
	return out
}
