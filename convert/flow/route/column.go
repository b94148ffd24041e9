package route

import (
	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// has refuses samples that lack fields.
func has(in []shardify.Field, names ...string) error {
	for _, n := range names {
		if shardify.FieldIndex(in, n) < 0 {
			return shardify.Misuse("the split uses field %q, which does not exist", n)
		}
	}
	return nil
}

// Column is a column of a batch.
func Column(b *shardify.Batch, name string) (*shardify.Column, error) {
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i], nil
		}
	}
	return nil, shardify.Misuse("the split uses field %q, which does not exist", name)
}

// Hash is a hash of the value of sample i; a missing one has its own.
func Hash(c *shardify.Column, i int) uint64 {
	if c.Valid != nil && c.Valid[i] == 0 {
		return 0x5bd1e995
	}
	lo, hi := c.Range(i, i+1)
	return xxh3.Hash(c.Data[lo:hi])
}
