package tfrecord

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/storage"
)

// sink writes one file.
type sink struct {
	spec     format.ShardSpec
	features []feature
	file     storage.Pending
	sum      index.PieceDigest
	buf      []byte
	samples  int64
	size     int64
	enc      tfrecord.Encoder
	wides    [][]byte
	key      []byte
	err      error
}

var errDone = errors.New("shard is published or aborted")

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	all, err := plan(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := st.Create(spec.Name)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	return &sink{spec: spec, features: all, file: f, buf: make([]byte, 0, index.PieceBytes), wides: make([][]byte, len(all))}, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error {
	if s.err == nil {
		s.err = shardify.Annotate(s.write(b), "write", s.spec.Name, "")
	}
	return s.err
}

func (s *sink) write(b *shardify.Batch) error {
	if n := s.samples + int64(b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	if s.spec.Keyed && (b.Keys == nil || b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
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
		if err := s.record(s.enc.Append(s.key[:0])); err != nil {
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
			err := shardify.Unsupported("%d is more than the i64 of an Example: --cast %s=f32, or use --format mmap", v, c.Name)
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Field = b.ID(sampleAt(c, b.Samples, i)).Sample, c.Name })
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
		key := append(s.key[:0], b.Key(i)...)
		if id := b.ID(i); id.Copy > 0 {
			key = tar.AppendCopy(key, id)
		}
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

// record appends a record to the file, in pieces of the digest.
func (s *sink) record(p []byte) error {
	s.key = p
	s.samples++
	s.size += int64(len(p))
	for len(p) > 0 {
		n := min(cap(s.buf)-len(s.buf), len(p))
		s.buf, p = append(s.buf, p[:n]...), p[n:]
		if len(s.buf) == cap(s.buf) {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sink) flush() error {
	s.sum.Write(s.buf)
	_, err := s.file.Write(s.buf)
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
	if s.spec.Exact && s.samples != s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d written", s.spec.Samples, s.samples)
	}
	if err := s.flush(); err != nil {
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
