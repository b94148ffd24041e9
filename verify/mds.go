package verify

import (
	"fmt"
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// mdsShard checks one MDS shard: its head against the schema, the sizes in every
// sample, and the digest.
func (s *set) mdsShard(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	begun := s.total(e.Name)
	if strings.HasSuffix(e.Name, index.MDSZipExt) {
		s.zippedMDS(r, size, e, out, buf)
		out.sound = s.total(e.Name) == begun
		return
	}
	s.mdsRows(r, size, e, out, buf)
	s.wholeDigest(r, size, e, out, buf)
	out.sound = s.total(e.Name) == begun
}

// zippedMDS checks a compressed shard. It is unpacked only if its digest is right: what
// a damaged one claims to hold could fill the memory.
func (s *set) zippedMDS(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	out.samples = e.Samples
	s.wholeDigest(r, size, e, out, buf)
	if !out.read || out.digest != e.Digest {
		return
	}
	u, err := index.OpenUnzipped(r, size)
	if err != nil {
		s.addError(LevelStructure, e.Name, err)
		return
	}
	defer u.Close()
	s.mdsRows(u, u.Size(), e, out, buf)
}

// mdsRows checks head and samples.
func (s *set) mdsRows(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	ends, err := index.ParseMDSHead(r, size, index.MDSConfig(s.columns))
	if err != nil {
		s.addError(LevelStructure, e.Name, err)
	} else {
		out.samples = int64(len(ends) - 1)
		s.sampleCount(e, out.samples, "its head")
	}
	if out.read && err == nil {
		if i, err := index.CheckMDSSamples(r, ends, s.columns, buf.window); err != nil {
			p := problemOf(LevelStructure, e.Name, err)
			p.Sample = e.sample(i)
			s.add(p)
		}
		out.parts = out.samples
	}
}

// binShard checks the tokens of a Megatron pair; its index is a file of its own.
func (s *set) binShard(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	begun := s.total(e.Name)
	out.samples = e.Samples
	if width := int64(s.schema[0].DType.Size()); size%width != 0 {
		s.addError(LevelStructure, e.Name, shardify.Corrupt(size-size%width, "%d bytes are no whole number of tokens of %d", size, width))
	}
	s.wholeDigest(r, size, e, out, buf)
	out.sound = s.total(e.Name) == begun
}

func (s *set) sampleCount(e *expected, got int64, where string) {
	if e.Samples < 0 || e.Samples == got {
		return
	}
	p := simple(LevelStructure, KindMismatch, e.Name, "samples")
	p.Want, p.Got = &Side{e.from, fmt.Sprint(e.Samples)}, &Side{where, fmt.Sprint(got)}
	s.add(p)
}

// wholeDigest is the digest over all bytes of a shard.
func (s *set) wholeDigest(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	if !out.read {
		return
	}
	whole := &digesting{r: r, size: size, buf: buf.piece, digest: new(index.PieceDigest)}
	digest, err := whole.rest()
	if err != nil {
		s.addError(LevelChecksum, e.Name, err)
		return
	}
	out.digest = digest
	if e.vouched && digest != e.Digest && size == e.Bytes {
		s.fileFlip(r, size, e, out)
	}
}
