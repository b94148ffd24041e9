package mmap

import (
	"slices"

	"github.com/shardify/shardify"
)

// match checks a batch against the shard's schema before a byte of it is
// written.
func (s *sink) match(b *shardify.Batch) error {
	if n := s.samples + int64(b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	for i := range b.Columns {
		if err := s.matchCounter(b, i); err != nil {
			return err
		}
	}
	if !s.spec.Keyed {
		return nil
	}
	if b.Keys == nil || b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1 {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
	return nil
}

// matchCounter: columns that share an offsets tensor must have equal lengths.
func (s *sink) matchCounter(b *shardify.Batch, i int) error {
	if s.layout.Columns[i].Offsets < 0 {
		return nil
	}
	j := s.layout.Tensors[s.layout.Columns[i].Offsets].Column
	if j == i {
		return nil
	}
	mine, first := b.Columns[i].Offsets[0], b.Columns[j].Offsets[0]
	if &mine[0] == &first[0] || slices.Equal(mine, first) {
		return nil
	}
	at := 0
	for mine[at+1] == first[at+1] {
		at++
	}
	e := shardify.Mismatch("fields %s and %s share the counter %s, but have %d and %d items in one sample; give one of them a counter of its own",
		s.spec.Schema[j].Name, s.spec.Schema[i].Name, s.spec.Schema[i].CounterName(), first[at+1]-first[at], mine[at+1]-mine[at])
	e.Field, e.Sample = s.spec.Schema[i].Name, b.ID(at).Sample
	return e
}
