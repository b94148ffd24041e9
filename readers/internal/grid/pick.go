package grid

import (
	"github.com/shardify/shardify"
)

// Run is N places of an axis: At, At+Step, At+2*Step and so on.
type Run struct {
	At   int64 `json:"at"`
	N    int64 `json:"n"`
	Step int64 `json:"step"`
}

// end is the place behind the last one.
func (r *Run) end() int64 { return r.At + (r.N-1)*r.Step + 1 }

// Pick is the places of an axis that are taken, in order; nil is all of them.
type Pick []Run

// Len is how many places are taken of an axis of n.
func (p Pick) Len(n int64) int64 {
	if p == nil {
		return n
	}
	sum := int64(0)
	for i := range p {
		sum += p[i].N
	}
	return sum
}

// Check refuses places that an axis of n does not have, as a damaged plan may name them.
func (p Pick) Check(n int64) error {
	sum := int64(0)
	for i := range p {
		r := &p[i]
		if r.At < 0 || r.N < 1 || r.Step < 1 || r.At >= n || r.N-1 > (n-1-r.At)/r.Step {
			return shardify.Corrupt(-1, "a selection of %d places from %d on, at a distance of %d, of an axis of %d", r.N, r.At, r.Step, n)
		}
		if sum += r.N; sum > n {
			return shardify.Corrupt(-1, "a selection of more places than an axis of %d has", n)
		}
	}
	return nil
}

// add appends a place.
func (p Pick) add(at int64) Pick {
	if len(p) > 0 {
		r := &p[len(p)-1]
		switch {
		case r.N == 1 && at > r.At:
			r.Step, r.N = at-r.At, 2
			return p
		case at == r.At+r.N*r.Step:
			r.N++
			return p
		case r.N == 2 && r.Step > 1 && at > r.end(): // the second begins a run of its own
			second := r.At + r.Step
			r.N, r.Step = 1, 1
			return append(p, Run{second, 2, at - second})
		}
	}
	return append(p, Run{at, 1, 1})
}

// each calls f for all places in order.
func (p Pick) each(f func(at int64)) {
	for _, r := range p {
		for k := range r.N {
			f(r.At + k*r.Step)
		}
	}
}

// every takes one place of n.
func (p Pick) every(n int64) (out Pick) {
	k := int64(0)
	for _, r := range p {
		if first := (n - k%n) % n; first < r.N {
			at := r.At + first*r.Step
			if some := (r.N-1-first)/n + 1; some > 1 {
				out = append(out, Run{at, some, r.Step * n})
			} else {
				out = out.add(at)
			}
		}
		k += r.N
	}
	return out
}

// Borders are the numbers of the places that begin a new block, where blocks of the axis
// have unit places: reading between them decodes no block twice. The places rise.
func (p Pick) Borders(unit int64) (at []int64) {
	n, block := int64(0), int64(-1)
	p.each(func(x int64) {
		if b := x / unit; b != block {
			if block = b; n > 0 {
				at = append(at, n)
			}
		}
		n++
	})
	return at
}
