package pipeline

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/questions/ask"
)

// tight says for which parts of the inputs the memory is short: what is decoded whole and
// takes more, and what is read in parts.
func (p *Prepared) tight() (notes []string) {
	if s, ok := p.Job.Source.(format.Piecer); ok {
		// As it is stored, between two steps of decoding, and decoded.
		if what, n := s.LargestPiece(); 3*n > p.Memory {
			notes = append(notes, fmt.Sprintf("%s is decoded whole, %s: with what that needs on the way it may take more than the memory; --memory %s has room for it",
				what, shardify.FormatSize(n), convert.MemoryFor(3*n)))
		}
	}
	var most shardify.Span
	for _, s := range p.Plan.Pack.Spans {
		if s.Samples() > 1 && s.Bytes > most.Bytes {
			most = s
		}
	}
	if limit := ask.PoolLimit(p.Memory); most.Bytes > limit {
		notes = append(notes, fmt.Sprintf("%s that must be read together in %s are larger than the memory for samples: they are read in parts, and some is decoded more than once; --memory %s reads them at once",
			shardify.FormatSize(most.Bytes), p.Plan.In.Table.Shown(int(most.Input)), convert.MemoryFor(most.Bytes/5*8+1)))
	}
	return notes
}
