package flow

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/plan/splits"
)

const (
	// keptHashes is how many hashes are kept before they are only counted.
	keptHashes = 1 << 21
	// bins is the counters of a class that has many samples.
	bins = 1 << 16
	// maxClasses bounds what --stratify keeps in memory.
	maxClasses = 1 << 16
)

// class is the hashes of the samples with one value.
type class struct {
	n    int64
	kept []uint64
	bins []int64 // by the first 16 bits, once there are too many to keep
}

// ranker ranks hashes within classes.
type ranker struct {
	route.Hasher
	field   string
	near    map[uint64][]uint64 // second pass: the bins to keep, by class
	classes map[uint64]*class
	kept    int
	buf     []uint64
}

func (k *ranker) Collect(_ int, b *shardify.Batch) (err error) {
	if k.buf, err = k.Hashes(k.buf[:0], b); err != nil {
		return err
	}
	var c *shardify.Column
	if k.field != "" {
		if c, err = route.Column(b, k.field); err != nil {
			return err
		}
	}
	for i, h := range k.buf {
		var v uint64
		if c != nil {
			v = route.Hash(c, i)
		}
		one := k.classes[v]
		if one == nil {
			if len(k.classes) == maxClasses {
				return shardify.Unsupported("more than %d values of %s: --stratify is for classes", maxClasses, k.field)
			}
			one = &class{}
			k.classes[v] = one
		}
		one.n++
		switch {
		case k.near != nil:
			if _, ok := slices.BinarySearch(k.near[v], h>>48); ok {
				one.kept = append(one.kept, h)
			}
		case one.bins != nil:
			one.bins[h>>48]++
		default:
			one.kept = append(one.kept, h)
			k.kept++
		}
	}
	k.thin()
	return nil
}

// thin turns the hashes of the largest classes into counts while there are too many.
func (k *ranker) thin() {
	for k.near == nil && k.kept > keptHashes {
		var big *class
		for _, c := range k.classes {
			if c.bins == nil && (big == nil || len(c.kept) > len(big.kept)) {
				big = c
			}
		}
		if big == nil || len(big.kept) < bins/8 {
			return // counters would take more than the hashes do
		}
		k.kept -= len(big.kept)
		big.toBins()
	}
}

func (c *class) toBins() {
	if c.bins == nil {
		c.bins = make([]int64, bins)
	}
	for _, h := range c.kept {
		c.bins[h>>48]++
	}
	c.kept = nil
}

func (k *ranker) Combine(next Gathering) error {
	o := next.(*ranker)
	for v, c := range o.classes {
		mine := k.classes[v]
		if mine == nil {
			if len(k.classes) == maxClasses {
				return shardify.Unsupported("more than %d values of %s: --stratify is for classes", maxClasses, k.field)
			}
			k.classes[v] = c
			k.kept += len(c.kept)
			continue
		}
		mine.n += c.n
		if mine.bins != nil || c.bins != nil {
			k.kept -= len(mine.kept)
			mine.toBins()
			c.toBins()
			for i, n := range c.bins {
				mine.bins[i] += n
			}
			continue
		}
		mine.kept = append(mine.kept, c.kept...)
		k.kept += len(c.kept)
	}
	k.thin()
	return nil
}

// look finds the bins that a second pass must look into.
func (k *ranker) look(s *splits.Rule) (map[uint64][]uint64, error) {
	var near map[uint64][]uint64
	for v, c := range k.classes {
		ends, _, err := s.Ranks(c.n)
		if err != nil {
			return nil, err
		}
		if c.bins == nil {
			slices.Sort(c.kept)
			continue
		}
		for _, end := range ends {
			if end < c.n {
				if near == nil {
					near = map[uint64][]uint64{}
				}
				bin, _ := c.bin(end)
				near[v] = append(near[v], uint64(bin))
			}
		}
		slices.Sort(near[v])
		near[v] = slices.Compact(near[v])
	}
	return near, nil
}

// bin is the bin of the hash of a rank, and the rank of the bin's first hash.
func (c *class) bin(rank int64) (bin int, first int64) {
	for i, n := range c.bins {
		if rank < first+n {
			return i, first
		}
		first += n
	}
	return len(c.bins) - 1, first
}

// cuts is the hash at each rank, class by class in the order of their numbers.
func (k *ranker) cuts(s *splits.Rule, second *ranker) ([]splits.Cuts, error) {
	var out []splits.Cuts
	for _, v := range slices.Sorted(maps.Keys(k.classes)) {
		c := k.classes[v]
		ends, order, err := s.Ranks(c.n)
		if err != nil {
			return nil, err
		}
		one := splits.Cuts{Order: order}
		if k.field != "" {
			one.Class = fmt.Sprintf("%016x", v)
		}
		for _, end := range ends {
			h, err := c.at(end, second.classes[v])
			if err != nil {
				return nil, err
			}
			one.Below = append(one.Below, h)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		// No samples: nothing is cut.
		_, order, err := s.Ranks(0)
		if err != nil {
			return nil, err
		}
		one := splits.Cuts{Order: order}
		for range order {
			one.Below = append(one.Below, splits.Unbounded)
		}
		out = []splits.Cuts{one}
	}
	return out, nil
}

// at is the hash of a rank: the first that is not below the cut.
func (c *class) at(rank int64, second *class) (uint64, error) {
	switch {
	case rank >= c.n:
		return splits.Unbounded, nil
	case c.bins == nil:
		return c.kept[rank], nil
	}
	bin, first := c.bin(rank)
	var in []uint64
	if second != nil {
		for _, h := range second.kept {
			if int(h>>48) == bin {
				in = append(in, h)
			}
		}
	}
	if int64(len(in)) != c.bins[bin] {
		return 0, fmt.Errorf("the samples changed between two passes: %d with hashes from %x, counted %d", len(in), bin, c.bins[bin])
	}
	slices.Sort(in)
	return in[rank-first], nil
}
