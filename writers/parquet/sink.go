package parquet

import (
	"context"
	"errors"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// A row group ends at groupRows samples, or before groupBytes, whichever comes first: a loader that reads
// samples in any order reads a row group for each.
const (
	groupRows  = 1000
	groupBytes = 16 << 20
)

// sink writes one file, row group by row group.
type sink struct {
	spec    format.ShardSpec
	cols    []column
	file    storage.Pending
	sum     index.PieceDigest
	groups  []group
	rows    int64 // of the current group
	bytes   int64 // about, of its values
	samples int64
	size    int64
	buf     []byte
	key     []byte
	err     error
}

var errDone = errors.New("shard is published or aborted")

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	cols, err := plan(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := st.Create(spec.Name)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	s := &sink{spec: spec, cols: cols, file: f}
	s.buf = append(s.buf, magic...)
	return s, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error {
	if s.err == nil {
		s.err = shardify.Annotate(s.write(b), "write", s.spec.Name, "")
	}
	return s.err
}

func (s *sink) write(b *shardify.Batch) error {
	if n := s.samples + s.rows + int64(b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	if s.spec.Keyed && (b.Keys == nil || b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
	for lo := 0; lo < b.Samples; {
		hi, bytes, err := s.fit(b, lo)
		if err != nil {
			return err
		}
		for k := range s.cols {
			s.put(&s.cols[k], b, lo, hi)
		}
		s.rows, s.bytes, lo = s.rows+int64(hi-lo), s.bytes+bytes, hi
		if s.rows == groupRows || s.bytes >= groupBytes {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit is the end of the samples from lo on that the current row group has room for, at least one.
func (s *sink) fit(b *shardify.Batch, lo int) (hi int, bytes int64, err error) {
	most := min(b.Samples, lo+int(groupRows-s.rows))
	for hi = lo; hi < most && (hi == lo || s.bytes+bytes < groupBytes); hi++ {
		one := int64(0)
		for k := range s.cols {
			if c := &s.cols[k]; c.field >= 0 {
				from, to := b.Columns[c.field].Range(hi, hi+1)
				one += int64(to - from)
			}
		}
		if one > math.MaxInt32/2 {
			return 0, 0, shardify.Amend(shardify.Unsupported("a sample of %s: a page of Parquet has up to 2 GiB", shardify.FormatSize(one)), func(e *shardify.Error) { e.Sample = b.ID(hi).Sample })
		}
		if hi > lo && s.bytes+bytes+one > 2*groupBytes {
			break
		}
		bytes += one
	}
	return hi, bytes, nil
}

// put appends samples [lo, hi) to a column.
func (s *sink) put(c *column, b *shardify.Batch, lo, hi int) {
	if c.field < 0 {
		for i := lo; i < hi; i++ {
			s.key = append(s.key[:0], b.Key(i)...)
			if id := b.ID(i); id.Copy > 0 {
				s.key = tar.AppendCopy(s.key, id)
			}
			c.rep, c.def = append(c.rep, 0), append(c.def, 1)
			one := shardify.Column{Data: s.key, Offsets: [][]int64{{0, int64(len(s.key))}}}
			c.values(&one, 0, 1)
		}
		return
	}
	col := &b.Columns[c.field]
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
	if s.rows > 0 {
		if len(s.groups) == math.MaxInt16 {
			return shardify.Unsupported("more than %d row groups in a file: choose a smaller --shard-size", math.MaxInt16)
		}
		var g group
		s.buf, g = appendGroup(s.buf, s.cols, s.rows, s.size+int64(len(s.buf)))
		s.groups = append(s.groups, g)
		s.samples, s.rows, s.bytes = s.samples+s.rows, 0, 0
	}
	return s.drain()
}

func (s *sink) drain() error {
	s.sum.Write(s.buf)
	_, err := s.file.Write(s.buf)
	s.size += int64(len(s.buf))
	s.buf = s.buf[:0]
	return err
}

// Commit completes and publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	err := s.commit(ctx)
	if s.err = errDone; err != nil {
		s.err = shardify.Annotate(err, "publish", s.spec.Name, "")
		return shardify.Shard{}, s.err
	}
	return shardify.Shard{Name: s.spec.Name, Samples: s.samples, Bytes: s.size, Digest: s.sum.String()}, nil
}

func (s *sink) commit(ctx context.Context) error {
	if n := s.samples + s.rows; s.spec.Exact && n != s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d written", s.spec.Samples, n)
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.buf = appendFoot(s.buf, s.cols, s.groups, metadata(s.cols))
	if err := s.drain(); err != nil {
		return err
	}
	return s.file.Commit(ctx)
}

// Abort drops the shard; after Commit it does nothing.
func (s *sink) Abort() error {
	if s.err == nil {
		s.err = errDone
	}
	return s.file.Abort()
}
