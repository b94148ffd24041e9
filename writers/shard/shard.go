// Package shard is what sinks that write a file from its beginning to its end have in common: the checks
// of batches, the digest, and how a shard is published once or not at all.
//
//	s, err := shard.Create(store, spec)
//	err = s.Write(batch, func(b *shardify.Batch) error { return s.Put(...) })
//	record, err := s.Commit(ctx, func() error { return s.Put(...) })
package shard

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// direct is the length from which bytes go to the file without a copy.
const direct = 64 << 10

// Shard is a file that is written.
type Shard struct {
	Spec format.ShardSpec
	Size int64 // bytes so far

	samples int64
	file    storage.Pending
	sum     index.PieceDigest
	buf     []byte
	key     []byte
	err     error
}

var errDone = errors.New("shard is published or aborted")

// Create begins a shard.
func Create(st storage.Store, spec format.ShardSpec) (*Shard, error) {
	f, err := st.Create(spec.Name)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	return &Shard{Spec: spec, file: f}, nil
}

// Write checks a batch, and passes it to put. An error is final.
func (s *Shard) Write(b *shardify.Batch, put func(b *shardify.Batch) error) error {
	if s.err == nil {
		s.err = s.check(b)
	}
	if s.err == nil {
		s.samples += int64(b.Samples)
		s.err = shardify.Annotate(put(b), "write", s.Spec.Name, "")
	}
	return s.err
}

func (s *Shard) check(b *shardify.Batch) error {
	var err error
	if n := s.samples + int64(b.Samples); s.Spec.Exact && n > s.Spec.Samples {
		err = shardify.Mismatch("samples: %d planned, %d came", s.Spec.Samples, n)
	} else if err = b.Match(s.Spec.Schema); err == nil && s.Spec.Keyed && (b.Keys == nil || b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		err = shardify.Mismatch("batch without keys for a keyed shard")
	}
	return shardify.Annotate(err, "write", s.Spec.Name, "")
}

// Key is the name of a sample, until the next call.
func (s *Shard) Key(b *shardify.Batch, i int) []byte {
	s.key = append(s.key[:0], b.Key(i)...)
	if id := b.ID(i); id.Copy > 0 {
		s.key = tar.AppendCopy(s.key, id)
	}
	return s.key
}

// Put appends bytes to the file.
func (s *Shard) Put(p []byte) error {
	s.Size += int64(len(p))
	if len(p) >= direct {
		if err := s.flush(); err != nil {
			return err
		}
		return s.write(p)
	}
	if s.buf == nil {
		s.buf = make([]byte, 0, index.PieceBytes)
	}
	n := min(cap(s.buf)-len(s.buf), len(p))
	s.buf = append(s.buf, p[:n]...)
	if len(s.buf) < cap(s.buf) {
		return nil
	}
	err := s.flush()
	s.buf = append(s.buf, p[n:]...)
	return err
}

func (s *Shard) write(p []byte) error {
	s.sum.Write(p)
	_, err := s.file.Write(p)
	return err
}

func (s *Shard) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	err := s.write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Commit lets last complete the file, and publishes it.
func (s *Shard) Commit(ctx context.Context, last func() error) (shardify.Shard, error) {
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	var err error
	if s.Spec.Exact && s.samples != s.Spec.Samples {
		err = shardify.Mismatch("samples: %d planned, %d written", s.Spec.Samples, s.samples)
	} else if err = last(); err == nil {
		err = s.flush()
	}
	if err == nil {
		err = s.file.Commit(ctx)
	}
	if s.err = errDone; err != nil {
		s.err = shardify.Annotate(err, "publish", s.Spec.Name, "")
		return shardify.Shard{}, s.err
	}
	return shardify.Shard{Name: s.Spec.Name, Samples: s.samples, Bytes: s.Size, Digest: s.sum.String()}, nil
}

// Abort drops the shard; after Commit it does nothing.
func (s *Shard) Abort() error {
	if s.err == nil {
		s.err = errDone
	}
	return s.file.Abort()
}
