package convert

import (
	"cmp"
	"slices"

	"github.com/shardify/shardify"
)

// Scratch is the space that scratch files may take beside the output while so many
// units are in work: of each the shard that needs most, of the units the largest.
func (p *Plan) Scratch(output shardify.SinkFormat, jobs int) (total int64) {
	if output.ScratchBytes == nil {
		return 0
	}
	fixed, factor := output.ScratchBytes(p.Schema, p.Keyed, p.OnError != OnErrorSkip)
	units := make([]int64, len(p.Units))
	for u, x := range p.Units {
		for _, s := range p.Shards[x.Lo:x.Hi] {
			var bytes int64
			for _, sp := range p.Spans[s.Lo:s.Hi] {
				bytes += sp.Bytes
			}
			units[u] = max(units[u], s.Samples*fixed+int64(float64(bytes)*factor))
		}
	}
	slices.SortFunc(units, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, n := range units[:min(len(units), max(jobs, 1))] {
		total += n
	}
	return total
}
