package plan

import (
	"cmp"
	"slices"

	"github.com/shardify/shardify/format"
)

// Scratch is the space that scratch files may take beside the output while so many
// units are in work: of each the shard that needs most, of the units the largest.
func Scratch(p *Plan, output format.Output, jobs int) (total int64) {
	if p.Order.Shuffle == ShuffleGlobal {
		return gatherScratch(p, output, jobs)
	}
	fixed, factor := shardScratch(p, output, p.Order.Shuffle != "" || p.Sample.Source == nil && p.OnError != OnErrorSkip)
	if fixed == 0 && factor == 0 {
		return 0
	}
	units := make([]int64, len(p.Pack.Units))
	for u, x := range p.Pack.Units {
		for i := x.Lo; i < x.Hi; i++ {
			units[u] = max(units[u], p.Pack.Shards[i].Samples*fixed+int64(float64(p.Pack.ShardBytes(i))*factor))
		}
	}
	slices.SortFunc(units, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, n := range units[:min(len(units), max(jobs, 1))] {
		total += n
	}
	return total
}

// shardScratch is the scratch space of a shard, by sample and byte of it: what the output takes,
// and tokens that wait for a sequence.
func shardScratch(p *Plan, output format.Output, exact bool) (fixed int64, factor float64) {
	if output.ScratchBytes != nil {
		fixed, factor = output.ScratchBytes(p.Sample.Schema, p.Sample.Keyed, exact)
	}
	if p.Sample.Documents != nil {
		factor++
	}
	return fixed, factor
}

// gatherScratch is Scratch for the shards of a global shuffle, all alike.
func gatherScratch(p *Plan, output format.Output, jobs int) int64 {
	if p.Order.Gathers == 0 {
		return 0
	}
	fixed, factor := shardScratch(p, output, true)
	all := float64(float64(p.Pack.Samples)*float64(fixed)) + float64(float64(ShuffleBytes(p))*factor)
	return int64(all / float64(p.Order.Gathers) * float64(min(p.Order.Gathers, max(jobs, 1))))
}

// ShuffleBytes is about what the fragments of a global shuffle take together. They are
// there until the last shard is.
func ShuffleBytes(p *Plan) int64 {
	if p.Order.Shuffle != ShuffleGlobal {
		return 0
	}
	fixed, factor := p.Sample.growth()
	if p.Asked.Provenance { // not in fragments, it is known there
		f := OriginOf(p.Sample.Copies > 1)
		fixed -= float64(f.ElemBytes() * max(p.Sample.Copies, 1))
	}
	const id = 8 // of who a sample is, or a little more
	return max(int64(float64((fixed+id)*float64(p.Pack.Samples))+float64(factor*float64(p.Pack.DecodedBytes))), 0)
}
