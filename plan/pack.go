package plan

import (
	"math"

	"github.com/shardify/shardify"
)

// DefaultShardSize is the target for a set of so many output bytes: a sixteenth
// of a small set, so that jobs share it evenly, between 32 and 256 MiB;
// growing to 2 GiB so that large sets have at most 4,000 shards.
func DefaultShardSize(total int64) int64 {
	const mib = 1 << 20
	size := min(max(total/16, 32*mib), 256*mib)
	return min(max(size, total/4000), 2048*mib)
}

// Sub is the samples [lo, hi) of a span with their share of its bytes, rounded
// up so that a bound stays a bound.
func Sub(s shardify.Span, lo, hi int64) shardify.Span {
	if lo == s.Lo && hi == s.Hi {
		return s
	}
	n := s.Samples()
	s.Lo, s.Hi = lo, hi
	s.Bytes = int64(math.Ceil(float64(s.Bytes) / float64(max(n, 1)) * float64(hi-lo)))
	return s
}

// packer cuts the spans into shards and units.
type packer struct {
	p      *Plan
	fixed  int64   // output bytes per sample
	factor float64 // output bytes per decoded byte
	exact  int64   // samples per shard, or 0
	target int64
	// With operations on the way: output bytes per sample and per decoded byte.
	shaped             bool
	perSample, perByte float64
}

// Cutting says how large shards are.
type Cutting struct {
	Bytes   int64 // of output, aimed at; 0 means DefaultShardSize
	Samples int64 // exact; 0 means by size
	// Weigh is format.Output.SampleBytes; nil is the decoded size.
	Weigh func(schema []shardify.Field, keyed bool) (fixed int64, factor float64)
}

// Cut makes shards and units of the spans.
func (p *Plan) Cut(c Cutting) {
	k := p.packer(c)
	k.exact = c.Samples
	k.pass(p.growth())
	for _, s := range p.Spans {
		p.OutputBytes += k.bytes(s)
	}
	k.aim(c, p.OutputBytes)
	k.all()
	if p.Shuffle == ShuffleGlobal {
		p.cutPortions(k.target, c.Samples)
	}
}

func (p *Plan) packer(c Cutting) *packer {
	k := &packer{p: p, factor: 1}
	if c.Weigh != nil {
		k.fixed, k.factor = c.Weigh(p.Weighed(), p.Keyed)
	}
	return k
}

// aim sets the size of shards, of so many bytes together.
func (k *packer) aim(c Cutting, total int64) {
	k.target = c.Bytes
	if k.target <= 0 {
		k.target = DefaultShardSize(total)
	}
	k.target = max(k.target, 1)
}

func (k *packer) all() {
	for lo := 0; lo < len(k.p.Spans); {
		lo = k.unit(lo)
	}
}

func (k *packer) bytes(s shardify.Span) int64 {
	if k.shaped {
		return max(int64(float64(k.perSample*float64(s.Samples()))+float64(k.perByte*float64(s.Bytes))), 0)
	}
	return s.Samples()*k.fixed + int64(float64(s.Bytes)*k.factor)
}

// atom is the end of the smallest piece that may move between units: a whole run
// or one independent span. bytes is its output size.
func (k *packer) atom(lo int) (hi int, bytes int64) {
	s := k.p.Spans[lo]
	hi, bytes = lo+1, k.bytes(s)
	for s.Run > 0 && hi < len(k.p.Spans) && k.p.Spans[hi].Run == s.Run {
		bytes += k.bytes(k.p.Spans[hi])
		hi++
	}
	return hi, bytes
}

// unit takes atoms until another one would overshoot the target by more than it
// now falls short, then cuts what it took into shards.
func (k *packer) unit(lo int) int {
	if k.exact > 0 {
		return k.exactUnit(lo)
	}
	hi, acc := k.atom(lo)
	for hi < len(k.p.Spans) && acc < k.target {
		next, bytes := k.atom(hi)
		if acc+bytes-k.target > k.target-acc {
			break
		}
		hi, acc = next, acc+bytes
	}
	u := Unit{Lo: len(k.p.Shards)}
	n := max((acc+k.target/2)/k.target, 1)
	var sum int64
	for from, i, part := lo, lo, int64(1); i < hi; i++ {
		sum += k.bytes(k.p.Spans[i])
		if i+1 == hi || part < n && sum >= acc/n*part {
			k.shard(from, i+1)
			from, part = i+1, part+1
		}
	}
	u.Hi = len(k.p.Shards)
	k.p.Units = append(k.p.Units, u)
	return hi
}

// exactUnit makes shards of exactly ShardSamples (the spans end there), and ends
// the unit where no run continues.
func (k *packer) exactUnit(lo int) int {
	u := Unit{Lo: len(k.p.Shards)}
	var n int64
	from := lo
	for i := lo; i < len(k.p.Spans); i++ {
		s := k.p.Spans[i]
		if n += s.Samples(); n < k.exact && i+1 < len(k.p.Spans) {
			continue
		}
		k.shard(from, i+1)
		from, n = i+1, 0
		if i+1 == len(k.p.Spans) || s.Run == 0 || k.p.Spans[i+1].Run != s.Run {
			break
		}
	}
	u.Hi = len(k.p.Shards)
	k.p.Units = append(k.p.Units, u)
	return from
}

func (k *packer) shard(lo, hi int) {
	s := Shard{Lo: lo, Hi: hi}
	for _, sp := range k.p.Spans[lo:hi] {
		s.Samples += sp.Samples()
	}
	k.p.Shards = append(k.p.Shards, s)
}

// pass makes the packer reckon with what the operations do.
func (k *packer) pass(fixed, factor float64) {
	if k.p.Source == nil {
		return
	}
	n := float64(max(k.p.Copies, 1))
	k.shaped = true
	k.perSample = float64(n*float64(k.fixed)) + float64(fixed*k.factor)
	k.perByte = factor * k.factor
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

// cutPortions makes portions of the spans, as the scattering stage has them, and fixes
// the number of shards, of so many bytes or exact samples, and of buckets.
func (p *Plan) cutPortions(target, exact int64) {
	fixed, factor := p.growth()
	payload := int64(float64(fixed*float64(p.Samples)) + float64(factor*float64(p.DecodedBytes)))
	copies := int64(max(p.Copies, 1))
	switch {
	case p.Samples == 0:
		p.Gathers = 0
	case exact > 0:
		p.PerShard = exact
		p.Gathers = int((p.Samples*copies + p.PerShard - 1) / p.PerShard)
	default:
		p.Gathers = int(max((p.OutputBytes+target/2)/target, 1))
		p.Gathers = int(min(int64(p.Gathers), p.Samples*copies))
	}
	weight := payload + p.Samples*copies*orderBytes
	bucket := min(max(weight/1024, minBucket), maxBucket)
	p.Buckets = int(max((weight+bucket-1)/bucket, 1))
	p.Shards, p.Units = nil, nil
	k := packer{p: p, factor: 1, target: min(max(p.DecodedBytes/64, minPortion), maxPortion)}
	k.all()
}

// BucketsOf is the number of the first bucket of each split, and how many it has. With
// shards by size, those of one shard follow each other.
func (p *Plan) BucketsOf() (first, count []int) {
	parts := max(len(p.SplitNames()), 1)
	at := 0
	for s := range parts {
		n := p.Buckets
		if p.Split != nil && p.Split.Parts[s].Share > 0 {
			n = int(math.Ceil(float64(n) * p.Split.Parts[s].Share))
		}
		if p.PerShard == 0 && p.Gathers > 0 {
			n = (max(n, 1) + p.Gathers - 1) / p.Gathers * p.Gathers
		}
		n = max(n, 1)
		first, count = append(first, at), append(count, n)
		at += n
	}
	return first, count
}

// ShuffleSeed is the seed of the keys that a shuffle orders samples by.
func (p *Plan) ShuffleSeed() uint64 { return shardify.Mix(shardify.Mix(p.Seed) + seedShuffle) }

// ShardBuckets is BucketsOf for a shard whose samples are put in order by themselves.
func (p *Plan) ShardBuckets(i int) (first, count []int) {
	var bytes int64
	for _, s := range p.Spans[p.Shards[i].Lo:p.Shards[i].Hi] {
		bytes += s.Bytes + s.Samples()*orderBytes
	}
	n := int(max(bytes/minBucket, 1))
	for k := range max(len(p.SplitNames()), 1) {
		first, count = append(first, k*n), append(count, n)
	}
	return first, count
}
