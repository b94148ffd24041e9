package mds

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// sink writes one shard. The head holds the places of all samples, so it comes
// last. With the number of samples known its size is, too, and samples go to their
// place at once; else they wait in a scratch file.
type sink struct {
	store  storage.Store
	spec   format.ShardSpec
	cols   []column
	keys   int // place of the keys in cols, or -1
	config []byte
	file   storage.Pending
	spill  *local.Spill // nil if the head's size is known

	ends []uint32
	size int64 // of the samples
	// front is what follows the head, up to the end of a piece: it is hashed with the
	// head.
	front    []byte
	frontCap int
	buf      []byte // a piece of the digest
	at       int64  // of buf in the file
	sums     []byte // of the pieces behind front
	zip      bool
	bytes    int64 // of the published file
	err      error
}

var errDone = errors.New("shard is published or aborted")

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	s, err := create(st, spec)
	return s, shardify.Annotate(err, "write", spec.Name, "")
}

func create(st storage.Store, spec format.ShardSpec) (*sink, error) {
	s := &sink{store: st, spec: spec, keys: -1}
	var err error
	if s.cols, s.config, err = newColumns(spec.Schema, spec.Keyed); err != nil {
		return nil, err
	}
	for i := range s.cols {
		if s.cols[i].Field < 0 {
			s.keys = i
		}
	}
	if s.file, err = st.Create(spec.Name); err != nil {
		return nil, err
	}
	s.zip = zipped(spec.Options)
	if !spec.Exact || s.zip {
		s.spill, err = local.NewSpill(st)
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Abort())
	}
	s.buf = make([]byte, 0, index.PieceBytes)
	s.ends = make([]uint32, 0, min(max(spec.Samples, 0), 1<<20))
	if s.spill == nil {
		head := headBytes(spec.Samples, s.config)
		s.at = (head + index.PieceBytes - 1) / index.PieceBytes * index.PieceBytes
		s.frontCap = int(s.at - head)
		s.front = make([]byte, 0, s.frontCap)
	}
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
	if err := s.bind(b); err != nil {
		return err
	}
	for i := 0; i < b.Samples; i++ {
		if err := s.sample(b, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) bind(b *shardify.Batch) error {
	if n := int64(len(s.ends) + b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	if s.keys >= 0 && (b.Keys == nil || b.Keys.Levels != 1 || b.Keys.ElemBytes() != 1) {
		return shardify.Mismatch("batch without keys for a keyed shard")
	}
	for i := range s.cols {
		s.cols[i].bind(b)
	}
	return nil
}

func (s *sink) sample(b *shardify.Batch, i int) error {
	total := int64(0)
	for k := range s.cols {
		c := &s.cols[k]
		if err := c.sample(i); err != nil {
			return at(err, b, i, c.Name)
		}
		if k == s.keys {
			c.copyOf(b.ID(i))
		}
		total += int64(c.size())
		if c.Kind != kindFixed {
			total += 4
		}
	}
	s.size += total
	if s.size+headBytes(int64(len(s.ends)+1), s.config) > maxBytes {
		return at(shardify.Unsupported("an MDS shard of more than 4 GiB: choose a smaller --shard-size"), b, i, "")
	}
	for k := range s.cols {
		if c := &s.cols[k]; c.Kind != kindFixed {
			var n [4]byte
			binary.LittleEndian.PutUint32(n[:], uint32(c.size()))
			if err := s.put(n[:]); err != nil {
				return err
			}
		}
	}
	for k := range s.cols {
		c := &s.cols[k]
		if len(c.head) > 0 {
			if err := s.put(c.head); err != nil {
				return err
			}
		}
		if err := s.put(c.data[c.lo:c.hi]); err != nil {
			return err
		}
	}
	s.ends = append(s.ends, uint32(s.size))
	return nil
}

// at says which sample and field an error is about.
func at(err error, b *shardify.Batch, i int, field string) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Field = b.ID(i).Sample, field })
}

// put appends bytes of samples.
func (s *sink) put(p []byte) error {
	if n := s.frontCap - len(s.front); n > 0 {
		n = min(n, len(p))
		s.front, p = append(s.front, p[:n]...), p[n:]
	}
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
	if len(s.buf) == 0 {
		return nil
	}
	var err error
	if s.spill != nil {
		_, err = s.spill.Write(s.buf)
	} else {
		sum := index.PieceSum(s.buf)
		s.sums = append(s.sums, sum[:]...)
		_, err = s.file.WriteAt(s.buf, s.at)
		s.at += int64(len(s.buf))
	}
	s.buf = s.buf[:0]
	return err
}

// Commit completes and publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	digest, err := s.commit(ctx)
	if err != nil {
		s.err = shardify.Annotate(err, "write", s.spec.Name, "")
		return shardify.Shard{}, s.err
	}
	s.close()
	return shardify.Shard{
		Name: s.spec.Name, Samples: int64(len(s.ends)), Bytes: s.bytes, Digest: digest,
	}, nil
}

func (s *sink) commit(ctx context.Context) (digest string, err error) {
	if s.spec.Exact && int64(len(s.ends)) != s.spec.Samples {
		return "", shardify.Mismatch("samples: %d planned, %d written", s.spec.Samples, len(s.ends))
	}
	if err := s.flush(); err != nil {
		return "", err
	}
	s.bytes = headBytes(int64(len(s.ends)), s.config) + s.size
	if s.zip {
		digest, err = s.compress(ctx)
	} else if s.spill != nil {
		var sum index.PieceDigest
		err = s.assemble(ctx, io.MultiWriter(&sum, s.file))
		digest = sum.String()
	} else {
		digest, err = s.complete()
	}
	if err != nil {
		return "", err
	}
	return digest, s.file.Commit(ctx)
}

// complete writes the head in front of the samples.
func (s *sink) complete() (string, error) {
	head := append(appendHead(nil, s.ends, s.config), s.front...)
	if _, err := s.file.WriteAt(head, 0); err != nil {
		return "", err
	}
	var sums []byte
	for p := head; len(p) > 0; {
		n := min(len(p), index.PieceBytes)
		sum := index.PieceSum(p[:n])
		sums, p = append(sums, sum[:]...), p[n:]
	}
	return index.DigestOfSums(sums, s.sums), nil
}

// assemble writes head and samples, those from the scratch file.
func (s *sink) assemble(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(appendHead(nil, s.ends, s.config)); err != nil {
		return err
	}
	buf := s.buf[:cap(s.buf)]
	for off := int64(0); off < s.size; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := buf[:min(int64(len(buf)), s.size-off)]
		if n, err := s.spill.ReadAt(p, off); n < len(p) {
			return err
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return nil
}

// Abort drops the shard; after Commit it does nothing.
func (s *sink) Abort() error {
	if s.err == errDone {
		return nil
	}
	s.close()
	return s.file.Abort()
}

func (s *sink) close() {
	s.err = errDone
	if s.spill != nil {
		s.spill.Close()
		s.spill = nil
	}
	s.buf, s.front = nil, nil
}
