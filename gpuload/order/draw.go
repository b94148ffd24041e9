package order

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// weighted draws with replacement.
type weighted struct {
	// ends[i] is the sum of the first i+1 weights as a share of 2^63.
	ends []uint64
}

func newWeighted(weights []float64, n int64, item func(int64) int64) (*weighted, error) {
	if int64(len(weights)) != n {
		return nil, fmt.Errorf("%d weights for %d samples", len(weights), n)
	}
	total := 0.0
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("weights: sample %d has %v: want a number from 0", item(int64(i)), w)
		}
		total += w
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, fmt.Errorf("weights: the sum of all is %v: want more than 0", total)
	}
	d := &weighted{ends: make([]uint64, n)}
	sum := 0.0
	for i, w := range weights {
		sum += w
		d.ends[i] = uint64(sum / total * (1 << 63))
	}
	return d, nil
}

// at is the draw at position q with the epoch's key.
func (d *weighted) at(key uint64, q int64) int64 {
	t := mix64(key+golden*uint64(q+1)) >> 1
	return int64(sort.Search(len(d.ends)-1, func(i int) bool { return d.ends[i] > t }))
}

// balanced draws every class equally often: rounds of one sample of each class,
// in an order that changes from round to round; a class's samples come in
// permutations, one after the other.
type balanced struct {
	members []int64 // by class
	first   []int64 // where each class begins; its end is the next one
}

func newBalanced(labels []int64) *balanced {
	b := &balanced{members: make([]int64, len(labels)), first: []int64{0}}
	for i := range b.members {
		b.members[i] = int64(i)
	}
	slices.SortStableFunc(b.members, func(i, j int64) int {
		switch {
		case labels[i] < labels[j]:
			return -1
		case labels[i] > labels[j]:
			return 1
		}
		return 0
	})
	for i := 1; i < len(labels); i++ {
		if labels[b.members[i]] != labels[b.members[i-1]] {
			b.first = append(b.first, int64(i))
		}
	}
	b.first = append(b.first, int64(len(labels)))
	return b
}

func (b *balanced) classes() int64 { return int64(len(b.first) - 1) }

func (b *balanced) at(seed, epoch uint64, q int64) int64 {
	n := b.classes()
	round := q / n
	p := newPerm(n, derive(seed, epoch, forClasses, uint64(round)))
	class := int64(p.at(uint64(q % n)))
	lo, size := b.first[class], b.first[class+1]-b.first[class]
	p = newPerm(size, derive(seed, epoch, forMembers, uint64(class), uint64(round/size)))
	return b.members[lo+int64(p.at(uint64(round%size)))]
}
