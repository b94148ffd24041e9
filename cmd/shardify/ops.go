package main

import (
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
)

// happened tells what the operations did to samples and values.
func (p *program) happened(m *index.Manifest) {
	if m.Dropped > 0 {
		of := m.Samples - m.Copied + m.Dropped
		p.Result("kept: %s of %s, %.1f %%", printable.Count(of-m.Dropped), printable.Of(of, "sample"), 100*float64(of-m.Dropped)/float64(of))
	}
	for _, c := range m.Counts {
		p.Result("  %s: %s", c.Name, printable.Count(c.N))
	}
}
