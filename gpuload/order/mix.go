package order

import (
	"fmt"
	"math"
	"math/bits"
)

// mixCycle is the length of the stretches within which positions are scattered
// before they are shared out: long enough that no part falls into step with ranks
// or batches, short enough that its samples hardly leave their order.
const mixCycle = 64

// mixer shares the positions of an endless sequence out to parts. Of any x
// positions after scattering part 0 gets floor(x*w/2^32), the next one the same of
// what is left, and so on: a part's positions come in order, one by one.
type mixer struct {
	weights []uint64 // conditional, of 2^32; the last part takes the rest
	scatter bool
}

func newMixer(weights []float64, parts int, scatter bool) (*mixer, error) {
	if len(weights) != parts {
		return nil, fmt.Errorf("mix of %d weights for %d inputs", len(weights), parts)
	}
	left := 0.0
	for i := len(weights) - 1; i >= 0; i-- {
		w := weights[i]
		if !(w > 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("mix: input %d has the share %v: want a positive number", i, w)
		}
		left += w
	}
	m := &mixer{scatter: scatter}
	for _, w := range weights[:len(weights)-1] {
		// As many steps of 2^-32 as the share is, at least one.
		m.weights = append(m.weights, min(max(uint64(math.Floor(w/left*(1<<32))), 1), 1<<32-1))
		left -= w
	}
	return m, nil
}

// taken is floor(x*w/2^32).
func taken(x int64, w uint64) int64 {
	hi, lo := bits.Mul64(uint64(x), w)
	return int64(hi<<32 | lo>>32)
}

// split returns which part has position x, and at which of its own positions. p scatters
// the cycle of x.
func (m *mixer) split(x int64, p *perm) (part int, rank int64) {
	if m.scatter {
		x = x/mixCycle*mixCycle + int64(p.at(uint64(x%mixCycle)))
	}
	for i, w := range m.weights {
		before := taken(x, w)
		if taken(x+1, w) > before {
			return i, before
		}
		x -= before
	}
	return len(m.weights), x
}
