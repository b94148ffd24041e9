package convert

import (
	"math/bits"
	"slices"

	"github.com/shardify/shardify"
)

// The order of a shuffle is that of the samples' keys: 64 bits that follow from the
// plan's seed and who the sample is. So it depends neither on how samples are parted
// into buckets, which are ranges of keys, nor on memory, jobs or tasks; and since keys
// are as good as random, every order of all samples is as likely as any other.

// keyer gives samples their keys.
type keyer struct {
	table *shardify.Table
	seed  uint64
	names []uint64 // hashes of the inputs' names, if they are not too many
}

// maxNames is how many hashes are kept.
const maxNames = 1 << 20

func (p *Plan) keyer() keyer {
	k := keyer{table: p.Table, seed: shardify.Mix(shardify.Mix(p.Seed) + seedShuffle)}
	if n := p.Table.Len(); n <= maxNames {
		for i := range n {
			k.names = append(k.names, p.Table.NameHash(uint32(i)))
		}
	}
	return k
}

// keys appends those of a batch.
func (k *keyer) keys(dst []uint64, b *shardify.Batch) []uint64 {
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

// hoard keeps samples of all splits in memory, column by column.
type hoard struct {
	b     shardify.Batch
	keys  []uint64
	split []uint16
}

// newHoard keeps the names of samples only if they have names of their own: what a
// reader else tells of them does not survive a shuffle, whether or not it goes through
// a fragment.
func newHoard(l *layout) *hoard {
	h := &hoard{}
	schema := l.schema
	if l.keyed {
		c := emptyColumn(keyField)
		h.b.Keys = &c
	}
	h.b.Columns = make([]shardify.Column, len(schema))
	for i := range schema {
		h.b.Columns[i] = emptyColumn(schema[i])
	}
	return h
}

func emptyColumn(f shardify.Field) shardify.Column {
	c := shardify.Column{Field: f, Offsets: make([][]int64, f.Levels)}
	for l := range c.Offsets {
		c.Offsets[l] = []int64{0}
	}
	return c
}

// reset forgets the samples and keeps the memory.
func (h *hoard) reset() {
	h.b.Samples, h.b.IDs, h.keys, h.split = 0, h.b.IDs[:0], h.keys[:0], h.split[:0]
	for i := range h.b.Columns {
		resetColumn(&h.b.Columns[i])
	}
	if h.b.Keys != nil {
		resetColumn(h.b.Keys)
	}
}

func resetColumn(c *shardify.Column) {
	c.Data, c.Valid = c.Data[:0], c.Valid[:0]
	for l := range c.Offsets {
		c.Offsets[l] = c.Offsets[l][:1]
	}
}

// bytes is the memory that the samples take.
func (h *hoard) bytes() int64 { return h.b.Bytes() + int64(h.b.Samples)*(24+8+2) }

// add copies the samples of a batch.
func (h *hoard) add(split int, b *shardify.Batch, k *keyer) error {
	for i := range b.Samples {
		h.b.IDs = append(h.b.IDs, b.ID(i))
		h.split = append(h.split, uint16(split))
	}
	h.keys = k.keys(h.keys, b)
	for i := range b.Columns {
		if err := appendColumn(&h.b.Columns[i], &b.Columns[i], b.Samples); err != nil {
			return err
		}
	}
	if h.b.Keys != nil {
		if b.Keys == nil {
			return shardify.Mismatch("samples without names in a set that has them")
		}
		if err := appendColumn(h.b.Keys, b.Keys, b.Samples); err != nil {
			return err
		}
	}
	h.b.Samples += b.Samples
	return nil
}

func appendColumn(dst, src *shardify.Column, samples int) error {
	if src.Stream != nil || src.Framed {
		return shardify.Unsupported("field %s comes as a stream", src.Name)
	}
	if dst.Nullable {
		dst.Valid = room(dst.Valid, samples)
		if src.Valid != nil {
			dst.Valid = append(dst.Valid, src.Valid...)
		} else {
			for range samples {
				dst.Valid = append(dst.Valid, 1)
			}
		}
	}
	for l, o := range src.Offsets {
		d := slices.Grow(dst.Offsets[l], len(o)-1)
		base := d[len(d)-1]
		for _, v := range o[1:] {
			d = append(d, base+v)
		}
		dst.Offsets[l] = d
	}
	dst.Data = append(room(dst.Data, len(src.Data)), src.Data...)
	return nil
}

// room makes place for n more bytes. Buffers begin at a page, so that their values are
// aligned, and grow by half.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := make([]byte, len(b), max(4096, len(b)+n, cap(b)+cap(b)/2))
	copy(grown, b)
	return grown
}

// sorted gives the rows of one split in the order of their keys.
func (h *hoard) sorted(split int) []int32 {
	var s sorter
	for i := range h.keys {
		if int(h.split[i]) == split {
			s.list = append(s.list, ranked{h.keys[i], int32(i)})
		}
	}
	return s.rows(h.b.IDs)
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
	// Nearly in order: nobody is far from his place.
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
