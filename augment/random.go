package augment

import (
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/shardify/shardify"
)

// source makes random numbers of one sample: splitmix64, so that a seed is all its
// state.
type source struct {
	state uint64
	dist  *rand.Rand // over this source; it has no state of its own
}

func newSource() *source {
	r := new(source)
	r.dist = rand.New(r)
	return r
}

func (r *source) seed(s uint64) { r.state = s }

// Uint64 is for dist.
func (r *source) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return shardify.Mix(r.state)
}

// float is uniform in [0, 1).
func (r *source) float() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// between is uniform in [lo, hi).
func (r *source) between(lo, hi float64) float64 { return lo + float64((hi-lo)*r.float()) }

// below is uniform in [0, n).
func (r *source) below(n int) int {
	// The bias of a 64-bit product is below 2^-32 for what fits into memory.
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// normal has mean 0 and deviation 1. The library's numbers for a given source are part
// of what our outputs follow from: a test holds them.
func (r *source) normal() float64 { return r.dist.NormFloat64() }

// dice gives each sample of a batch its own generator.
type dice struct {
	table *shardify.Table
	pool  sync.Pool
}

// roll calls f for every sample with its generator.
func (d *dice) roll(b *shardify.Batch, seed uint64, f func(i int, r *source)) {
	x, _ := d.pool.Get().(*throw)
	if x == nil {
		x = &throw{source: newSource()}
	}
	defer d.pool.Put(x)
	x.ids = d.table.Identity(x.ids[:0], b)
	for i, id := range x.ids {
		x.source.seed(shardify.SampleSeed(seed, id, b.ID(i).Copy))
		f(i, x.source)
	}
}

type throw struct {
	ids    []uint64
	source *source
}
