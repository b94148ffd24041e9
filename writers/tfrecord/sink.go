package tfrecord

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/arrayrecord"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/shard"
)

// sink writes one file.
type sink struct {
	*shard.Shard
	features []feature
	enc      tfrecord.Encoder
	wides    [][]byte
	array    *arrayrecord.Writer // nil for TFRecord
	rec      []byte
}

func (c container) sink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	all, err := plan(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := shard.Create(st, spec)
	if err != nil {
		return nil, err
	}
	s := &sink{Shard: f, features: all, wides: make([][]byte, len(all))}
	if c == arrays {
		s.array = &arrayrecord.Writer{}
	}
	return s, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error { return s.Shard.Write(b, s.write) }

func (s *sink) write(b *shardify.Batch) error {
	for k := range s.features {
		if err := s.widen(b, k); err != nil {
			return err
		}
	}
	for i := range b.Samples {
		s.enc.Begin()
		for k := range s.features {
			s.feature(b, i, k)
		}
		if x := s.enc.Example(); s.array != nil {
			s.rec = s.array.Append(s.rec[:0], x)
		} else {
			s.rec = tfrecord.AppendRecord(s.rec[:0], x)
		}
		if err := s.Put(s.rec); err != nil {
			return err
		}
	}
	return nil
}

// widen makes the values of a column those that an Example has: f32 or i64.
func (s *sink) widen(b *shardify.Batch, k int) error {
	x := &s.features[k]
	if x.field < 0 || x.kind == tfrecord.Bytes {
		return nil
	}
	c := &b.Columns[x.field]
	switch c.DType {
	case shardify.F32, shardify.I64:
		s.wides[k] = c.Data
		return nil
	case shardify.U64:
		s.wides[k] = c.Data
		for i := 0; i < len(c.Data); i += 8 {
			v := binary.LittleEndian.Uint64(c.Data[i:])
			if v <= math.MaxInt64 {
				continue
			}
			k := sampleAt(c, b.Samples, i)
			if c.Valid != nil && c.Valid[k] == 0 { // the value is not written
				continue
			}
			err := shardify.Unsupported("%d is more than the i64 of an Example: --cast %s=f32 rounds the values, or use --format mmap", v, c.Name)
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Field = b.ID(k).Sample, c.Name })
		}
		return nil
	}
	size, wide := c.DType.Size(), shardify.I64
	if c.DType.IsFloat() {
		wide = shardify.F32
	}
	n := len(c.Data) / size * wide.Size()
	if cap(s.wides[k]) < n {
		s.wides[k] = make([]byte, n)
	}
	dst := s.wides[k][:n]
	s.wides[k] = dst
	switch c.DType {
	case shardify.Bool:
		for i, v := range c.Data {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
	case shardify.F16, shardify.BF16:
		from := half.F16
		if c.DType == shardify.BF16 {
			from = half.BF16
		}
		for i := 0; i < len(c.Data); i += 2 {
			binary.LittleEndian.PutUint32(dst[2*i:], math.Float32bits(from(binary.LittleEndian.Uint16(c.Data[i:]))))
		}
	default:
		numeric.Convert(dst, wide, c.Data, c.DType)
	}
	return nil
}

// sampleAt is the sample that has byte at of a column.
func sampleAt(c *shardify.Column, samples, at int) int {
	for i := range samples {
		if _, hi := c.Range(i, i+1); at < hi {
			return i
		}
	}
	return 0
}

// feature appends the value of one field.
func (s *sink) feature(b *shardify.Batch, i, k int) {
	x := &s.features[k]
	if x.field < 0 {
		key := s.Key(b, i)
		s.enc.Bytes(x.name, key, []int64{0, int64(len(key))})
		return
	}
	c := &b.Columns[x.field]
	if c.Valid != nil && c.Valid[i] == 0 {
		return
	}
	switch lo, hi := c.Range(i, i+1); {
	case x.kind == tfrecord.Floats:
		lo, hi = lo/c.DType.Size()*4, hi/c.DType.Size()*4
		s.enc.Floats(x.name, s.wides[k][lo:hi])
	case x.kind == tfrecord.Ints:
		lo, hi = lo/c.DType.Size()*8, hi/c.DType.Size()*8
		s.enc.Ints(x.name, s.wides[k][lo:hi])
	case c.Levels == 1:
		s.enc.Bytes(x.name, c.Data, c.Offsets[0][i:i+2])
	default:
		s.enc.Bytes(x.name, c.Data, c.Offsets[1][c.Offsets[0][i]:c.Offsets[0][i+1]+1])
	}
}

// Commit publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	return s.Shard.Commit(ctx, func() error {
		if s.array == nil {
			return nil
		}
		return s.Put(s.array.End(nil))
	})
}
