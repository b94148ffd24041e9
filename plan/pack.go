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

// Packing is which spans are in which shards, and what they are worth.
type Packing struct {
	Samples      int64 `json:"samples"`
	DecodedBytes int64 `json:"decoded_bytes"`
	OutputBytes  int64 `json:"output_bytes"` // estimate

	Spans  []shardify.Span `json:"-"`
	Shards []Shard         `json:"-"`
	Units  []Unit          `json:"-"`

	shardBytes []int64 // decoded
	blocks     []Block
}

// Shard is the spans [Lo, Hi) of the plan.
type Shard struct {
	Lo, Hi  int // among the spans of its block
	Samples int64
}

// Unit is the shards [Lo, Hi) of the plan: what one worker does. It has several
// only when they come from one run, which is cheap only in order.
type Unit struct{ Lo, Hi int }

// InParts reports whether there are several blocks. Inputs.Table and Spans are then empty, and
// Inputs.State is that of every block.
func (p *Packing) InParts() bool { return len(p.blocks) > 1 }

// Parts is how many blocks there are; 0 if one has all inputs.
func (p *Packing) Parts() int {
	if !p.InParts() {
		return 0
	}
	return len(p.blocks)
}

// packer cuts the spans into shards and units.
type packer struct {
	spans  []shardify.Span
	shards []Shard
	units  []Unit
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

// Cut makes shards and units of the spans, or portions where a global shuffle makes the shards.
func Cut(p *Plan, c Cutting) (Packing, Order) {
	k := newPacker(&p.Sample, c)
	k.exact = c.Samples
	k.pass(&p.Sample)
	pack, order := p.Pack, p.Order
	for _, s := range pack.Spans {
		pack.OutputBytes += k.bytes(s)
	}
	k.aim(c, pack.OutputBytes)
	if order.Shuffle == ShuffleGlobal {
		order.aim(&pack, &p.Sample, k.target, c.Samples)
		k = &packer{factor: 1, target: min(max(pack.DecodedBytes/64, minPortion), maxPortion)}
	}
	k.all(pack.Spans)
	pack.Shards, pack.Units = k.shards, k.units
	return pack, order
}

func newPacker(s *Sample, c Cutting) *packer {
	k := &packer{factor: 1}
	if c.Weigh != nil {
		k.fixed, k.factor = c.Weigh(s.Weighed(), s.Keyed)
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

// all makes the shards and units of some spans.
func (k *packer) all(spans []shardify.Span) {
	k.spans, k.shards, k.units = spans, nil, nil
	for lo := 0; lo < len(k.spans); {
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
	s := k.spans[lo]
	hi, bytes = lo+1, k.bytes(s)
	for s.Run > 0 && hi < len(k.spans) && k.spans[hi].Run == s.Run {
		bytes += k.bytes(k.spans[hi])
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
	for hi < len(k.spans) && acc < k.target {
		next, bytes := k.atom(hi)
		if acc+bytes-k.target > k.target-acc {
			break
		}
		hi, acc = next, acc+bytes
	}
	u := Unit{Lo: len(k.shards)}
	n := max((acc+k.target/2)/k.target, 1)
	var sum int64
	for from, i, part := lo, lo, int64(1); i < hi; i++ {
		sum += k.bytes(k.spans[i])
		if i+1 == hi || part < n && sum >= acc/n*part {
			k.shard(from, i+1)
			from, part = i+1, part+1
		}
	}
	u.Hi = len(k.shards)
	k.units = append(k.units, u)
	return hi
}

// exactUnit makes shards of exactly ShardSamples (the spans end there), and ends
// the unit where no run continues.
func (k *packer) exactUnit(lo int) int {
	u := Unit{Lo: len(k.shards)}
	var n int64
	from := lo
	for i := lo; i < len(k.spans); i++ {
		s := k.spans[i]
		if n += s.Samples(); n < k.exact && i+1 < len(k.spans) {
			continue
		}
		k.shard(from, i+1)
		from, n = i+1, 0
		if i+1 == len(k.spans) || s.Run == 0 || k.spans[i+1].Run != s.Run {
			break
		}
	}
	u.Hi = len(k.shards)
	k.units = append(k.units, u)
	return from
}

func (k *packer) shard(lo, hi int) {
	s := Shard{Lo: lo, Hi: hi}
	for _, sp := range k.spans[lo:hi] {
		s.Samples += sp.Samples()
	}
	k.shards = append(k.shards, s)
}

// pass makes the packer reckon with what the operations do.
func (k *packer) pass(s *Sample) {
	if s.Source == nil {
		return
	}
	fixed, factor := s.growth()
	n := float64(max(s.Copies, 1))
	k.shaped = true
	k.perSample = float64(n*float64(k.fixed)) + float64(fixed*k.factor)
	k.perByte = factor * k.factor
}

// ShardBuckets is Order.BucketsOf for a shard whose samples are put in order by themselves.
func (p *Packing) ShardBuckets(i int, of *Splits) (first, count []int) {
	var bytes int64
	for _, s := range p.Spans[p.Shards[i].Lo:p.Shards[i].Hi] {
		bytes += s.Bytes + s.Samples()*orderBytes
	}
	n := int(max(bytes/minBucket, 1))
	for split := range of.sets() {
		first, count = append(first, split*n), append(count, n)
	}
	return first, count
}

func bytesOf(spans []shardify.Span) (n int64) {
	for i := range spans {
		n += spans[i].Bytes
	}
	return n
}
