package shuffle

import (
	"math/bits"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// The order of a shuffle is that of the samples' keys: 64 bits that follow from the plan's seed and
// the sample's identity. So it depends neither on how samples are divided into buckets, which are
// ranges of keys, nor on memory, jobs or tasks; and since keys are as good as random, every order
// of all samples is as likely as any other.

// Keyer gives samples their keys.
type Keyer struct {
	table *format.Table
	seed  uint64
	names []uint64 // hashes of the inputs' names, if they are not too many
}

// maxNames is how many hashes are kept.
const maxNames = 1 << 20

// NewKeyer makes the keyer of a seed for the inputs of a table.
func NewKeyer(t *format.Table, seed uint64) *Keyer {
	k := &Keyer{table: t, seed: seed}
	if n := t.Len(); n <= maxNames {
		for i := range n {
			k.names = append(k.names, t.NameHash(uint32(i)))
		}
	}
	return k
}

// keys appends those of a batch.
func (k *Keyer) keys(dst []uint64, b *shardify.Batch) []uint64 {
	last, name := ^uint32(0), uint64(0)
	for i := range b.Samples {
		id := b.ID(i)
		if id.Input != last || i == 0 {
			if last = id.Input; int64(last) < int64(len(k.names)) {
				name = k.names[last]
			} else {
				name = k.table.NameHash(last)
			}
		}
		dst = append(dst, shardify.SampleSeed(k.seed, shardify.SampleIdentity(name, id.Sample), id.Copy))
	}
	return dst
}

// bucketOf is the bucket of a key, of n that part the range of keys evenly, and the
// key's place within it. Order by place is order by key.
func bucketOf(key uint64, n int) (bucket int, place uint64) {
	hi, lo := bits.Mul64(key, uint64(n))
	return int(hi), lo
}

type ranked struct {
	place uint64
	row   int32
}

// sorter orders rows by places that are spread evenly over all numbers.
type sorter struct {
	list, tmp []ranked
	count     []int32
	out       []int32
}

// rows is the rows in order; ids settle what places leave open.
func (s *sorter) rows(ids []shardify.ID) []int32 {
	n := len(s.list)
	s.out = slices.Grow(s.out[:0], n)[:n]
	if n == 0 {
		return s.out
	}
	s.tmp = slices.Grow(s.tmp[:0], n)[:n]
	bins := uint64(n/2 + 1)
	s.count = slices.Grow(s.count[:0], int(bins)+1)[:bins+1]
	clear(s.count)
	for _, x := range s.list {
		b, _ := bits.Mul64(x.place, bins)
		s.count[b+1]++
	}
	for i := range bins {
		s.count[i+1] += s.count[i]
	}
	for _, x := range s.list {
		b, _ := bits.Mul64(x.place, bins)
		s.tmp[s.count[b]] = x
		s.count[b]++
	}
	// The bins leave nearly sorted rows, so that insertion sort is linear.
	for i := 1; i < n; i++ {
		x := s.tmp[i]
		k := i
		for k > 0 && before(x, s.tmp[k-1], ids) {
			s.tmp[k] = s.tmp[k-1]
			k--
		}
		s.tmp[k] = x
	}
	for i, x := range s.tmp {
		s.out[i] = x.row
	}
	return s.out
}

func before(a, b ranked, ids []shardify.ID) bool {
	if a.place != b.place {
		return a.place < b.place
	}
	x, y := ids[a.row], ids[b.row]
	switch {
	case x.Input != y.Input:
		return x.Input < y.Input
	case x.Sample != y.Sample:
		return x.Sample < y.Sample
	}
	return x.Copy < y.Copy
}
