package augment

import (
	"math/bits"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// source makes random numbers of one sample: splitmix64, so that a seed is all its
// state.
type source struct{ state uint64 }

func (r *source) seed(s uint64) { r.state = s }

func (r *source) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return shardify.Mix(r.state)
}

// float is uniform in [0, 1).
func (r *source) float() float64 { return float64(float64(r.next()>>11) * 0x1p-53) }

// between is uniform in [lo, hi).
func (r *source) between(lo, hi float64) float64 { return lo + float64((hi-lo)*r.float()) }

// below is uniform in [0, n).
func (r *source) below(n int) int {
	// The bias of a 64-bit product is below 2^-32 for what fits into memory.
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// dice gives each sample of a batch its own generator.
type dice struct {
	table *format.Table
	pool  sync.Pool
}

// roll calls f for every sample with its generator.
func (d *dice) roll(b *shardify.Batch, seed uint64, f func(i int, r *source)) {
	x, _ := d.pool.Get().(*throw)
	if x == nil {
		x = new(throw)
	}
	defer d.pool.Put(x)
	x.ids = d.table.Identity(x.ids[:0], b)
	for i, id := range x.ids {
		x.source.seed(shardify.SampleSeed(seed, id, b.ID(i).Copy))
		f(i, &x.source)
	}
}

type throw struct {
	ids    []uint64
	source source
}
