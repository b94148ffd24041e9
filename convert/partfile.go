package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/varint"
	"github.com/shardify/shardify/storage"
)

// stored are the blocks of a published plan.
func stored(s storage.Store) blocks {
	return func() (blob, error) { return s.Open(PlanName) }
}

// loadInParts reads the head of a plan in parts; nil if it is none.
func loadInParts(s storage.Store) (*Plan, error) {
	b, err := s.Open(PlanName)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var head [len(partsMagic)]byte
	if n, err := b.ReadAt(head[:], 0); n < len(head) && err != io.EOF {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	if !isInParts(head[:]) {
		return nil, nil
	}
	p, err := openInParts(sized{b, b.Size()})
	if err != nil {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	p.blocks = stored(s)
	return p, nil
}

// sized is a plan file.
type sized struct {
	blob
	size int64
}

type noClose struct{ io.ReaderAt }

func (noClose) Close() error { return nil }

func inMemory(b []byte) sized { return sized{noClose{bytes.NewReader(b)}, int64(len(b))} }

// openInParts reads the head from the end of a file.
func openInParts(f sized) (*Plan, error) {
	start, err := f.take(0, int64(partsHead))
	if err != nil {
		return nil, err
	}
	if v := binary.LittleEndian.Uint32(start[len(partsMagic):]); v != PlanVersion {
		return nil, shardify.Unsupported("plan of version %d; this program makes and reads version %d", v, PlanVersion)
	}
	at := f.size - int64(partsTail)
	tail, err := f.take(at, int64(partsTail))
	if err != nil {
		return nil, err
	}
	n, m := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint64(tail[8:])
	if room := uint64(max(at-int64(partsHead), 0)); n > room || m > room-n {
		return nil, shardify.Corrupt(at, "head of %d and %d bytes in a file of %d", n, m, f.size)
	}
	at -= int64(n + m)
	b, err := f.take(at, int64(n+m)+16)
	if err != nil {
		return nil, err
	}
	if got, want := index.DigestOf(b), string(tail[16:]); got != want {
		return nil, shardify.Corrupt(at, "digest of the head is %s, stored %q", got, want)
	}
	content, err := unpack(b[:n], maxPlan)
	if err != nil {
		return nil, shardify.Corrupt(at, "content: %v", err)
	}
	sched, err := unpack(b[n:n+m], maxPlan)
	if err != nil {
		return nil, shardify.Corrupt(at+int64(n), "schedule: %v", err)
	}
	p, err := parseInParts(content, sched, at)
	if err != nil {
		return nil, err
	}
	p.blocks = func() (blob, error) { return noClose{f}, nil }
	return p, nil
}

// take reads n bytes at off.
func (f sized) take(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > f.size-n {
		return nil, shardify.Corrupt(f.size, "a plan in parts of %d bytes", f.size)
	}
	b := make([]byte, n)
	if k, err := f.ReadAt(b, off); int64(k) < n {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	return b, nil
}

func unpack(b []byte, most int64) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(b, nil)
}

// parseInParts is the inverse of content and schedule; end is where the blocks end.
func parseInParts(content, sched []byte, end int64) (*Plan, error) {
	p := &Plan{Table: &shardify.Table{}}
	v, s := &varint.Reader{B: content}, &varint.Reader{B: sched}
	if err := p.parseHead(v, s); err != nil {
		return nil, err
	}
	p.parts = make([]planPart, v.Count(6+2*digestSize))
	for i := range p.parts {
		p.parts[i] = parsePart(v, s, end)
	}
	p.Shards = make([]PlannedShard, v.Count(3))
	p.shardBytes = make([]int64, len(p.Shards))
	for i := range p.Shards {
		p.Shards[i] = PlannedShard{Hi: count(v), Samples: int64(v.U())}
		p.shardBytes[i] = int64(v.U())
	}
	p.Units = make([]Unit, v.Count(1))
	at := 0
	for i := range p.Units {
		p.Units[i] = Unit{at, at + count(v)}
		at = p.Units[i].Hi
	}
	if v.Bad || s.Bad || len(v.B) > 0 || len(s.B) > 0 {
		return nil, shardify.Corrupt(-1, "tables do not fit their counts")
	}
	if !p.InParts() {
		return nil, shardify.Corrupt(-1, "the head is not that of a plan in parts")
	}
	if err := p.validate(); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	p.digest = index.DigestOf(content)
	return p, nil
}

// count is a number that a slice may have entries.
func count(v *varint.Reader) int {
	n := v.U()
	if n > math.MaxInt32 {
		v.Bad = true
		return 0
	}
	return int(n)
}

func parsePart(v, s *varint.Reader, end int64) planPart {
	var x planPart
	x.files, x.samples, x.bytes, x.largest = int64(v.U()), int64(v.U()), int64(v.U()), int64(v.U())
	x.shards, x.units = count(v), count(v)
	for _, b := range []*packed{&x.names, &x.spans} {
		b.digest = string(v.Bytes(uint64(digestSize)))
		b.off, b.bytes, b.plain = int64(s.U()), int64(s.U()), int64(s.U())
		if b.off < int64(partsHead) || b.bytes < 0 || b.off > end-b.bytes || b.plain < 0 || b.plain > maxBlock {
			s.Bad = true
		}
	}
	x.listed = string(s.Bytes(uint64(digestSize)))
	if x.files < 0 || x.samples < 0 || x.bytes < 0 || x.largest < 0 {
		v.Bad = true
	}
	return x
}

// validateParts checks the counts of a decoded plan, and settles the places of shards.
func (p *Plan) validateParts() error {
	if p.shaped() {
		return fmt.Errorf("parts, and operations on samples")
	}
	shard, unit := 0, 0
	var files, samples int64
	for i := range p.parts {
		x := &p.parts[i]
		if x.shards > len(p.Shards)-shard || x.units > len(p.Units)-unit {
			return fmt.Errorf("part %d has %d shards in %d units", i, x.shards, x.units)
		}
		at, left := 0, x.samples
		for k := shard; k < shard+x.shards; k++ {
			s := &p.Shards[k]
			n := s.Hi - s.Lo
			if n < 1 || at > math.MaxInt32 || s.Samples < 0 || s.Samples > left || p.shardBytes[k] < 0 {
				return fmt.Errorf("shard %d has %d spans of %d samples", k, n, s.Samples)
			}
			s.Lo, s.Hi = at, at+n
			at, left = at+n, left-s.Samples
		}
		if left != 0 {
			return fmt.Errorf("part %d has %d samples in no shard", i, left)
		}
		for k := unit; k < unit+x.units; k++ {
			if u := p.Units[k]; u.Lo < shard || u.Hi <= u.Lo || u.Hi > shard+x.shards {
				return fmt.Errorf("unit %d has shards [%d, %d)", k, u.Lo, u.Hi)
			}
		}
		shard, unit, files, samples = shard+x.shards, unit+x.units, files+x.files, samples+x.samples
		if files < 0 || samples < 0 {
			return fmt.Errorf("part %d has %d files and %d samples", i, x.files, x.samples)
		}
	}
	if n := len(p.Units); shard != len(p.Shards) || unit != n || n > 0 && p.Units[n-1].Hi != shard || files != p.Listed.Count || samples != p.Samples {
		return fmt.Errorf("the parts have %d of %d shards, %d of %d units, %d of %d files and %d of %d samples",
			shard, len(p.Shards), unit, n, files, p.Listed.Count, samples, p.Samples)
	}
	return nil
}
