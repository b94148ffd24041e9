package wds

import (
	"slices"

	"github.com/shardify/shardify"
)

// bind checks a batch against the shard's plan and hands its columns out.
func (s *sink) bind(b *shardify.Batch) error {
	if n := s.samples + int64(b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if len(b.Columns) != len(s.spec.Schema) {
		return shardify.Mismatch("batch of %d columns for a schema of %d fields", len(b.Columns), len(s.spec.Schema))
	}
	if err := b.Check(); err != nil {
		return err
	}
	if s.spec.Keyed && b.Keys == nil {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
	if b.Keys != nil && (b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		return shardify.Mismatch("keys are %s of %d levels, want bytes", b.Keys.DType, b.Keys.Levels)
	}
	for i := range b.Columns {
		if err := s.match(b, i); err != nil {
			return err
		}
	}
	for i := range s.cols {
		s.cols[i].bind(b.Columns)
	}
	return nil
}

// match checks column i, also that it agrees with the first one of its counter:
// each member holds its own count, so a reader would find the damage only later.
func (s *sink) match(b *shardify.Batch, i int) error {
	c, f := &b.Columns[i], &s.spec.Schema[i]
	if c.Name != f.Name || c.DType != f.DType || c.Levels != f.Levels || !slices.Equal(c.Shape, f.Shape) {
		return shardify.Mismatch("column %s of %d levels of %s %v for field %s of %d levels of %s %v",
			c.Name, c.Levels, c.DType, c.Shape, f.Name, f.Levels, f.DType, f.Shape)
	}
	if c.Valid != nil && !f.Nullable {
		return shardify.Mismatch("field %s is not nullable, but its column marks missing values", f.Name)
	}
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
