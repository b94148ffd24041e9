package convert

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/internal/shuffle"
	"github.com/shardify/shardify/storage"
)

// A global shuffle has two stages. The units of the plan scatter their samples into
// buckets, a fragment each; when all fragments are there, each shard gathers its
// buckets from all of them and puts the samples in order. A block shuffle does both
// within one shard.

// ScratchDir is where fragments are if no other place is named.
const ScratchDir = storage.Private + "/scratch"

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

// repack makes portions of the spans, as the scattering stage has them, and fixes the
// number of shards and buckets.
func (r *Request) repack(p *Plan) {
	k := packer{p: p, factor: 1}
	if r.Output.SampleBytes != nil {
		k.fixed, k.factor = r.Output.SampleBytes(p.Schema, p.Keyed)
	}
	target := r.ShardSize
	if target <= 0 {
		target = DefaultShardSize(p.OutputBytes)
	}
	fixed, factor := p.growth()
	payload := int64(float64(fixed*float64(p.Samples)) + float64(factor*float64(p.DecodedBytes)))
	copies := int64(max(p.Copies, 1))
	switch {
	case p.Samples == 0:
		p.Gathers = 0
	case r.ShardSamples > 0:
		p.PerShard = r.ShardSamples
		p.Gathers = int((p.Samples*copies + p.PerShard - 1) / p.PerShard)
	default:
		p.Gathers = int(max((p.OutputBytes+target/2)/max(target, 1), 1))
		p.Gathers = int(min(int64(p.Gathers), p.Samples*copies))
	}
	weight := payload + p.Samples*copies*orderBytes
	bucket := min(max(weight/1024, minBucket), maxBucket)
	p.Buckets = int(max((weight+bucket-1)/bucket, 1))
	k = packer{p: p, factor: 1, target: min(max(p.DecodedBytes/64, minPortion), maxPortion)}
	p.Shards, p.Units = nil, nil
	for lo := 0; lo < len(p.Spans); {
		lo = k.unit(lo)
	}
}

// buckets is how many buckets each split has, and the number of its first one. With
// shards by size, those of one shard follow each other.
func (p *Plan) buckets() (b shuffle.Buckets) {
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
		b.First, b.Count = append(b.First, at), append(b.Count, n)
		at += n
	}
	return b
}

// scratch is where fragments are.
func (j *Job) scratch() storage.Store {
	if j.Scratch != nil {
		return j.Scratch
	}
	return storage.Below(j.Store, ScratchDir)
}

func (p *Plan) scatterName(i int) string {
	return fmt.Sprintf("%s/scatter/portion-%06d.json", receiptsDir, i)
}

// portion is the receipt of the spans that plan entry i has.
func (j *Job) portion(i int) (*Receipt, error) {
	if j.Plan.Shuffle == ShuffleGlobal {
		return j.receiptAt(i, j.Plan.scatterName(i))
	}
	return j.receipt(i)
}

// scattered tells whether the fragment of a receipt is there, or needed no more.
func (j *Job) scattered(r *Receipt) (bool, error) {
	if ok, err := there(j.scratch(), *r.Fragment); ok || err != nil {
		return ok, err
	}
	return j.allGathered()
}

// allGathered tells whether every shard is there. Another worker may then have removed
// the fragments.
func (j *Job) allGathered() (bool, error) {
	for i := range j.Plan.Gathers {
		if r, err := j.receipt(i); err != nil || r == nil {
			return false, err
		}
	}
	return true, nil
}

// checkOther is for a receipt that another worker has published first. gone: its
// fragment is not there any more.
func (j *Job) checkOther(r *Receipt) (gone bool, err error) {
	o, err := j.portion(r.Index)
	if err == nil && o != nil && o.written() != r.written() {
		err = fmt.Errorf("portion %d has been done differently meanwhile", r.Index)
	}
	return err == nil && o == nil, err
}

// keyer gives samples the keys that a shuffle orders them by.
func (p *Plan) keyer() *shuffle.Keyer {
	return shuffle.NewKeyer(p.Table, shardify.Mix(shardify.Mix(p.Seed)+seedShuffle))
}

// shardBuckets are the buckets of a shard whose samples are put in order by themselves.
func (p *Plan) shardBuckets(i int) shuffle.Buckets {
	var bytes int64
	for _, s := range p.Spans[p.Shards[i].Lo:p.Shards[i].Hi] {
		bytes += s.Bytes + s.Samples()*orderBytes
	}
	n := int(max(bytes/minBucket, 1))
	var b shuffle.Buckets
	for k := range max(len(p.SplitNames()), 1) {
		b.First, b.Count = append(b.First, k*n), append(b.Count, n)
	}
	return b
}
