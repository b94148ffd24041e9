package parquet

import (
	"context"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/shard"
	"github.com/shardify/shardify/writers/table"
)

// A row group ends at groupRows samples, or before groupBytes, whichever comes first: a loader that reads
// samples in any order reads a row group for each.
const (
	groupRows  = 1000
	groupBytes = 16 << 20
)

// sink writes one file, row group by row group.
type sink struct {
	*shard.Shard
	cols   []column
	groups []group
	group  *table.Group
	buf    []byte
}

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	cols, err := plan(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := shard.Create(st, spec)
	if err != nil {
		return nil, err
	}
	s := &sink{Shard: f, cols: cols, group: table.NewGroup(plain(cols), groupRows, groupBytes)}
	s.buf = append(s.buf, magic...)
	return s, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error { return s.Shard.Write(b, s.write) }

func (s *sink) write(b *shardify.Batch) error {
	return s.group.Each(b, func(lo, hi int) {
		for k := range s.cols {
			s.put(&s.cols[k], b, lo, hi)
		}
	}, s.flush)
}

// put appends samples [lo, hi) to a column.
func (s *sink) put(c *column, b *shardify.Batch, lo, hi int) {
	if c.Field < 0 {
		for i := lo; i < hi; i++ {
			key := s.Key(b, i)
			c.rep, c.def = append(c.rep, 0), append(c.def, 1)
			one := shardify.Column{Data: key, Offsets: [][]int64{{0, int64(len(key))}}}
			c.values(&one, 0, 1)
		}
		return
	}
	col := &b.Columns[c.Field]
	for i := lo; i < hi; i++ {
		c.levels(col, i)
	}
	if col.Valid == nil {
		c.values(col, lo, hi)
		return
	}
	for i := lo; i < hi; { // what is missing has no value in the file
		end := i
		for end < hi && col.Valid[end] != 0 {
			end++
		}
		if end > i {
			c.values(col, i, end)
		}
		i = end + 1
	}
}

// flush writes the current row group.
func (s *sink) flush() error {
	if s.group.Rows > 0 {
		if len(s.groups) == math.MaxInt16 {
			return shardify.Unsupported("more than %d row groups in a file: choose a smaller --shard-size", math.MaxInt16)
		}
		var g group
		s.buf, g = appendGroup(s.buf, s.cols, s.group.Rows, s.Size+int64(len(s.buf)))
		s.groups = append(s.groups, g)
		s.group.Reset()
	}
	err := s.Put(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Commit completes and publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	return s.Shard.Commit(ctx, func() error {
		if err := s.flush(); err != nil {
			return err
		}
		return s.Put(appendFoot(s.buf, s.cols, s.groups, metadata(s.cols)))
	})
}
