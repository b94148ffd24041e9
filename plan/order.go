package plan

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
)

// seeds of what is random about a plan as a whole; operations have their ordinals.
const (
	SeedSplit   = 1 << 40
	seedShuffle = 2 << 40
)

// The choices of Request.Shuffle. The same three words stand for the loader's.
const (
	ShuffleNone   = "none"
	ShuffleBlock  = "block"  // within each shard
	ShuffleGlobal = "global" // over all samples of all inputs
)

// Order is what a shuffle makes of the order of the samples.
type Order struct {
	Shuffle string `json:"shuffle,omitempty"` // ShuffleBlock, ShuffleGlobal
	// Shards and buckets of a global shuffle.
	Gathers  int   `json:"gathers,omitempty"`
	Buckets  int   `json:"buckets,omitempty"`
	PerShard int64 `json:"per_shard,omitempty"` // exact samples of a shard
}

func (o *Order) check() error {
	const most = 1 << 30
	if o.Gathers < 0 || o.Gathers > most || o.Buckets < 0 || o.Buckets > most || o.PerShard < 0 || o.Shuffle == ShuffleGlobal && o.Buckets == 0 {
		return fmt.Errorf("%d shards of %d buckets", o.Gathers, o.Buckets)
	}
	return nil
}

const (
	// Buckets are small beside the memory that a set of such a size is likely to get.
	minBucket = 2 << 20
	maxBucket = 64 << 20
	// orderBytes is what it takes to put a sample in order, beside its values.
	orderBytes = 64
	// Portions are large, so that the pieces of a bucket are, but enough for many jobs.
	minPortion = 16 << 20
	maxPortion = 4 << 30
)

// aim fixes the number of shards of a global shuffle, of so many bytes or exact samples, and
// of buckets.
func (o *Order) aim(k *Packing, s *Sample, target, exact int64) {
	fixed, factor := s.growth()
	payload := int64(float64(fixed*float64(k.Samples)) + float64(factor*float64(k.DecodedBytes)))
	copies := int64(max(s.Copies, 1))
	switch {
	case k.Samples == 0:
		o.Gathers = 0
	case exact > 0:
		o.PerShard = exact
		o.Gathers = int((k.Samples*copies + o.PerShard - 1) / o.PerShard)
	default:
		o.Gathers = int(max((k.OutputBytes+target/2)/target, 1))
		o.Gathers = int(min(int64(o.Gathers), k.Samples*copies))
	}
	weight := payload + k.Samples*copies*orderBytes
	bucket := min(max(weight/1024, minBucket), maxBucket)
	o.Buckets = int(max((weight+bucket-1)/bucket, 1))
}

// BucketsOf is the number of the first bucket of each split, and how many it has. With
// shards by size, those of one shard follow each other.
func (o *Order) BucketsOf(of *Splits) (first, count []int) {
	at := 0
	for s := range of.sets() {
		n := o.Buckets
		if of.Rule != nil && of.Rule.Parts[s].Share > 0 {
			n = int(math.Ceil(float64(n) * of.Rule.Parts[s].Share))
		}
		if o.PerShard == 0 && o.Gathers > 0 {
			n = (max(n, 1) + o.Gathers - 1) / o.Gathers * o.Gathers
		}
		n = max(n, 1)
		first, count = append(first, at), append(count, n)
		at += n
	}
	return first, count
}

// ShuffleSeed is the seed of the keys that a shuffle orders samples by.
func ShuffleSeed(seed uint64) uint64 { return shardify.Mix(shardify.Mix(seed) + seedShuffle) }

// GatherTask is the shards of a global shuffle that task i of n makes.
func (o *Order) GatherTask(i, n int) (shards []int) {
	for k := i; k < o.Gathers; k += max(n, 1) {
		shards = append(shards, k)
	}
	return shards
}

// GatherTasksOf returns which of n tasks makes each shard of a global shuffle.
func (o *Order) GatherTasksOf(n int) []int32 {
	of := make([]int32, o.Gathers)
	for k := range of {
		of[k] = int32(k % max(n, 1))
	}
	return of
}
