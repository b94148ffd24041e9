package grid

import (
	"slices"
	"sort"
)

// Places is a Pick of an axis that is ready to be looked into.
type Places struct {
	Len   int64 // places that are taken
	rises bool  // they do, from each to the next
	n     int64 // of the axis
	list  []place
}

// place is a run of stored places that are taken, the first of which is the first-th taken.
type place struct {
	Run
	first int64
}

// Places are those of an axis of n.
func (p Pick) Places(n int64) Places {
	x := Places{n: n, rises: true}
	last := int64(-1)
	if p == nil && n > 0 {
		p = Pick{{0, n, 1}}
	}
	for _, r := range p {
		x.list = append(x.list, place{r, x.Len})
		x.rises, last = x.rises && r.At > last, r.end()-1
		x.Len += r.N
	}
	return x
}

// Single reports whether all places are adjacent.
func (x *Places) Single() bool { return len(x.list) == 1 && x.list[0].Step == 1 }

// from is the run that holds taken number n, or the first behind it.
func (x *Places) from(n int64) int {
	return sort.Search(len(x.list), func(i int) bool { return x.list[i].first+x.list[i].N > n })
}

// Stretch is where taken numbers [lo, hi) begin, if these are adjacent in one run.
func (x *Places) Stretch(lo, hi int64) (at int64, ok bool) {
	i := x.from(lo)
	if i == len(x.list) {
		return 0, false
	}
	p := &x.list[i]
	if hi > p.first+p.N || p.Step > 1 && hi > lo+1 {
		return 0, false
	}
	return p.At + (lo-p.first)*p.Step, true
}

// Stored is the place of taken number k.
func (x *Places) Stored(k int64) int64 {
	i := x.from(k)
	if i == len(x.list) {
		return x.n
	}
	return x.list[i].At + (k-x.list[i].first)*x.list[i].Step
}

// Before is how many are taken before a place. The places rise.
func (x *Places) Before(at int64) int64 {
	i := sort.Search(len(x.list), func(i int) bool { return x.list[i].end() > at })
	if i == len(x.list) {
		return x.Len
	}
	return x.list[i].first + max(at-x.list[i].At+x.list[i].Step-1, 0)/x.list[i].Step
}

// Block is the taken numbers that are in the same block of c places as number k; all of them if
// the places do not rise.
func (x *Places) Block(k, c int64) (lo, hi int64) {
	if !x.rises {
		return 0, x.Len
	}
	b := x.Stored(k) / c
	return x.Before(b * c), x.Before((b + 1) * c)
}

// Blocks are the blocks of c places that hold taken numbers [lo, hi), rising.
func (x *Places) Blocks(lo, hi, c int64) (out []int64) {
	sorted, last := true, int64(-1)
	for i := x.from(lo); i < len(x.list) && x.list[i].first < hi; i++ {
		p := &x.list[i]
		for k := max(lo-p.first, 0); k < min(p.N, hi-p.first); {
			at := (p.At + k*p.Step) / c
			if at != last {
				sorted = sorted && at > last
				out = append(out, at)
			}
			last = at
			k += max(((at+1)*c-(p.At+k*p.Step)+p.Step-1)/p.Step, 1)
		}
	}
	if !sorted {
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// Portion is N taken places of a block of an axis: From in the block, To among those taken.
type Portion struct{ From, To, N, Step int64 }

// Portions are the taken numbers [lo, hi) at places [x0, x1), counted from lo and from x0.
func (x *Places) Portions(x0, x1, lo, hi int64) (out []Portion) {
	for i := x.from(lo); i < len(x.list) && x.list[i].first < hi; i++ {
		p := &x.list[i]
		first, last := max(lo-p.first, 0), min(p.N, hi-p.first) // of the run
		if p.At < x0 {
			first = max(first, (x0-p.At+p.Step-1)/p.Step)
		}
		if p.end() > x1 {
			last = min(last, max((x1-p.At+p.Step-1)/p.Step, 0))
		}
		if first < last {
			out = append(out, Portion{p.At + first*p.Step - x0, p.first + first - lo, last - first, p.Step})
		}
	}
	return out
}
