package format

import (
	"slices"

	"github.com/shardify/shardify"
)

// golden is the odd number that splitmix64 steps by.
const golden = 0x9e3779b97f4a7c15

// NameHash is a hash of the name of input i. It does not depend on where the file is or on
// the other inputs, except that of several inputs with one name, in folders given one by
// one, each has its own. Sources that have no files have inputs beyond the table.
func (t *Table) NameHash(i uint32) uint64 {
	if t != nil && t.ByKey {
		return 0
	}
	if t == nil || int64(i) >= int64(t.Len()) {
		return shardify.Mix(uint64(i) + golden)
	}
	return shardify.Mix(t.textHash(i) + t.twin(i)*golden)
}

// textHash is a hash of the name alone.
func (t *Table) textHash(i uint32) uint64 {
	name := t.NameBytes(int(i))
	if len(name) == 0 {
		name = []byte(t.Name(int(i)))
	}
	h := uint64(0xcbf29ce484222325)
	for _, c := range name {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// twin is how many inputs before input i have its name. Without it the samples of
// sig/a.root and bg/a.root would be one to all that is random: neighbours in every
// shuffle, and always in the same split.
func (t *Table) twin(i uint32) uint64 {
	if len(t.Roots) < 2 {
		return 0 // one folder has each name once
	}
	t.once.Do(t.findTwins)
	return t.twins[i]
}

func (t *Table) findTwins() {
	hashes := make([]uint64, t.Len())
	for i := range hashes {
		hashes[i] = t.textHash(uint32(i))
	}
	slices.Sort(hashes)
	seen := map[uint64]uint64{}
	for k := 1; k < len(hashes); k++ {
		if hashes[k] == hashes[k-1] {
			seen[hashes[k]] = 0
		}
	}
	t.twins = map[uint32]uint64{}
	for i := 0; i < len(hashes) && len(seen) > 0; i++ {
		h := t.textHash(uint32(i))
		n, ok := seen[h]
		if !ok {
			continue
		}
		if n > 0 {
			t.twins[uint32(i)] = n
		}
		seen[h] = n + 1
	}
}

// Identity appends a hash for each sample of the batch that follows from who it is,
// its input's name and its number there, and from nothing else: not from its copy, nor
// from the other inputs. Whatever is random about a sample follows from it, see
// shardify.SampleSeed.
func (t *Table) Identity(dst []uint64, b *shardify.Batch) []uint64 {
	if b.Samples == 0 {
		return dst
	}
	input := b.ID(0).Input
	name := t.NameHash(input)
	for i := range b.Samples {
		id := b.ID(i)
		if id.Input != input {
			input = id.Input
			name = t.NameHash(input)
		}
		dst = append(dst, shardify.SampleIdentity(name, id.Sample))
	}
	return dst
}
