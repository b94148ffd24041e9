package wds

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
)

// bind checks a batch against the shard's plan and hands its columns out.
func (s *sink) bind(b *shardify.Batch) error {
	if n := s.samples + int64(b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	if s.spec.Keyed && b.Keys == nil {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
	if b.Keys != nil && (b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		return shardify.Mismatch("keys are %s of %d levels, want bytes", b.Keys.DType, b.Keys.Levels)
	}
	for i := range b.Columns {
		if err := s.matchCounter(b, i); err != nil {
			return err
		}
	}
	for i := range s.cols {
		s.cols[i].bind(b.Columns)
	}
	return s.bindFrame(b)
}

// bindFrame finds out whether a frame is the one that the tar wants.
func (s *sink) bindFrame(b *shardify.Batch) error {
	if b.Frame == nil {
		return nil
	}
	f := s.frame
	s.inPlace = f != nil && f.After == b.Frame.After && f.Block == b.Frame.Block && slices.Equal(f.Values, b.Frame.Values)
	for i := range s.cols {
		c := &s.cols[i]
		if !b.Columns[c.Field].Framed {
			continue
		}
		if c.Kind != tar.MemberBytes && c.Kind != tar.MemberImage {
			return shardify.Mismatch("field %s in a frame, which is for opaque bytes", c.field.Name)
		}
		c.frame = b.Framed
	}
	return nil
}

// matchCounter checks that column i agrees with the first one of its counter: each
// member holds its own count, so a reader would find the damage only later.
func (s *sink) matchCounter(b *shardify.Batch, i int) error {
	c, f := &b.Columns[i], &s.spec.Schema[i]
	if f.Counter == "" {
		return nil
	}
	first := slices.IndexFunc(s.spec.Schema, func(g shardify.Field) bool { return g.Counter == f.Counter })
	mine, theirs := c.Offsets[0], b.Columns[first].Offsets[0]
	if &mine[0] == &theirs[0] || slices.Equal(mine, theirs) {
		return nil
	}
	return shardify.Mismatch("fields %s and %s share the counter %s, but differ in length; give one of them a counter of its own",
		b.Columns[first].Name, f.Name, f.Counter)
}
