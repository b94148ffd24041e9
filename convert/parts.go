package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/varint"
)

// A plan in parts is that of more inputs than memory should hold: a head, and parts of
// consecutive inputs with their names and spans. A shard lies in one part, so that a
// task needs the head and the parts of its shards, and merge the head alone. The file:
//
//	8   magic "SHFYPART"
//	4   u32 PlanVersion
//	..  blocks, zstd each; two for a part:
//	    names: n, n bytes of names and sizes, modification times
//	    spans, numbered from the part's first sample
//	n   zstd of the content: head, of each part the counts and the digests of names and
//	    spans, shards, units
//	m   zstd of the schedule: where the inputs are on this machine, where the blocks are
//	8   u64 n
//	8   u64 m
//	37  digest of the n + m + 16 bytes before it, as text
//
// The digest of the uncompressed content is the plan's identity, as that of any plan.
const (
	partsMagic = "SHFYPART"
	partsHead  = len(partsMagic) + 4
	partsTail  = 8 + 8 + digestSize
	// maxBlock bounds what a block unpacks to.
	maxBlock = 1 << 30
)

// planPart is a part of the inputs.
type planPart struct {
	files, samples, bytes int64 // decoded
	shards, units         int
	names, spans          packed
}

// packed is a block, and the digest of what it holds.
type packed struct {
	digest     string
	off, bytes int64
	plain      int64 // unpacked
}

// blocks opens the file that the blocks of a plan are in.
type blocks func() (blob, error)

type blob interface {
	io.ReaderAt
	io.Closer
}

// InParts tells whether the inputs are in parts. Table and Spans are then empty, and
// State is that of every part.
func (p *Plan) InParts() bool { return p.Listed != nil }

// Inputs is the number of input files and the sum of their known sizes.
func (p *Plan) Inputs() (files, bytes int64) {
	if p.InParts() {
		return p.Listed.Count, p.Listed.Bytes
	}
	return int64(p.Table.Len()), p.Table.Bytes()
}

// Parts is how many parts the inputs are in; 0 for plans that are not in parts.
func (p *Plan) Parts() int { return len(p.parts) }

func (p *Plan) contentInParts() []byte {
	head, err := json.Marshal(p)
	if err != nil {
		panic("convert: plan head: " + err.Error())
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	b = append(b, head...)
	b = binary.AppendUvarint(b, uint64(len(p.State)))
	b = append(b, p.State...)
	b = binary.AppendUvarint(b, uint64(len(p.Table.Roots)))
	b = binary.AppendUvarint(b, uint64(len(p.parts)))
	for i := range p.parts {
		x := &p.parts[i]
		for _, n := range []int64{x.files, x.samples, x.bytes, int64(x.shards), int64(x.units)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = append(append(b, x.names.digest...), x.spans.digest...)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Shards)))
	for i, x := range p.Shards {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Samples))
		b = binary.AppendUvarint(b, uint64(p.shardBytes[i]))
	}
	b = binary.AppendUvarint(b, uint64(len(p.Units)))
	for _, x := range p.Units {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
	}
	return b
}

func (p *Plan) scheduleInParts() ([]byte, error) {
	head, err := p.places()
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	b = append(b, head...)
	for i := range p.parts {
		for _, x := range []*packed{&p.parts[i].names, &p.parts[i].spans} {
			for _, n := range []int64{x.off, x.bytes, x.plain} {
				b = binary.AppendUvarint(b, uint64(n))
			}
		}
	}
	return b, nil
}

// tail is what stands behind the blocks.
func (p *Plan) tail() ([]byte, error) {
	content, err := compress(p.content())
	if err != nil {
		return nil, err
	}
	sched, err := p.scheduleInParts()
	if err != nil {
		return nil, err
	}
	if sched, err = compress(sched); err != nil {
		return nil, err
	}
	b := append(slices.Clip(content), sched...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(sched)))
	return append(b, index.DigestOf(b)...), nil
}

func partsStart() []byte {
	return binary.LittleEndian.AppendUint32([]byte(partsMagic), PlanVersion)
}

func isInParts(head []byte) bool { return bytes.HasPrefix(head, []byte(partsMagic)) }

// publishInParts copies the blocks that count to where they stay, and writes the rest
// behind them.
func (p *Plan) publishInParts(ctx context.Context, s shardify.Store) error {
	from, err := p.blocks()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.Create(PlanName)
	if err != nil {
		return err
	}
	defer to.Abort()
	if _, err := to.Write(partsStart()); err != nil {
		return err
	}
	q := *p
	q.parts = slices.Clone(p.parts)
	at := int64(partsHead)
	var buf []byte
	for i := range q.parts {
		for _, x := range []*packed{&q.parts[i].names, &q.parts[i].spans} {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			buf = slices.Grow(buf[:0], int(x.bytes))[:x.bytes]
			if n, err := from.ReadAt(buf, x.off); n < len(buf) {
				return shardify.Annotate(err, "read", PlanName, "")
			}
			if _, err := to.Write(buf); err != nil {
				return err
			}
			x.off = at
			at += x.bytes
		}
	}
	tail, err := q.tail()
	if err != nil {
		return err
	}
	if _, err := to.Write(tail); err != nil {
		return err
	}
	if err := to.Commit(ctx); err != nil {
		return err
	}
	p.parts, p.blocks = q.parts, stored(s)
	return nil
}

// stored are the blocks of a published plan.
func stored(s shardify.Store) blocks {
	return func() (blob, error) { return s.Open(PlanName) }
}

// loadInParts reads the head of a plan in parts; nil if it is none.
func loadInParts(s shardify.Store) (*Plan, error) {
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
	if err := json.Unmarshal(v.Bytes(v.U()), p); err != nil {
		return nil, shardify.Corrupt(-1, "head: %v", err)
	}
	p.State = slices.Clone(v.Bytes(v.U()))
	nRoots := v.U()
	var where places
	err := json.Unmarshal(s.Bytes(s.U()), &where)
	p.Table.Roots, p.ScratchPath = where.Roots, where.Scratch
	if err != nil || uint64(len(p.Table.Roots)) != nRoots {
		return nil, shardify.Corrupt(-1, "roots: %d, want %d: %v", len(p.Table.Roots), nRoots, err)
	}
	p.parts = make([]planPart, v.Count(5+2*digestSize))
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
	x.files, x.samples, x.bytes = int64(v.U()), int64(v.U()), int64(v.U())
	x.shards, x.units = count(v), count(v)
	for _, b := range []*packed{&x.names, &x.spans} {
		b.digest = string(v.Bytes(uint64(digestSize)))
		b.off, b.bytes, b.plain = int64(s.U()), int64(s.U()), int64(s.U())
		if b.off < int64(partsHead) || b.bytes < 0 || b.off > end-b.bytes || b.plain < 0 || b.plain > maxBlock {
			s.Bad = true
		}
	}
	if x.files < 0 || x.samples < 0 || x.bytes < 0 {
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

// partOf is the part that shard i lies in, and its first shard.
func (p *Plan) partOf(i int) (part, first int) {
	for part = range p.parts {
		if i < first+p.parts[part].shards {
			return part, first
		}
		first += p.parts[part].shards
	}
	return -1, 0
}

// loadedPart is a part in memory.
type loadedPart struct {
	table *shardify.Table
	spans []shardify.Span // numbered over all parts
	first int64           // sample
}

// loadPart reads one part.
func (p *Plan) loadPart(k int) (*loadedPart, error) {
	f, err := p.blocks()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := &p.parts[k]
	l := &loadedPart{}
	if l.table, err = p.readNames(f, x); err != nil {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	if l.spans, err = readSpans(f, x); err != nil {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	for i := range k {
		l.first += p.parts[i].samples
	}
	var samples int64
	for i := range l.spans {
		s := &l.spans[i]
		samples += s.Samples()
		if s.Hi > x.samples {
			return nil, shardify.Annotate(shardify.Corrupt(x.spans.off, "span [%d, %d) of %d samples", s.Lo, s.Hi, x.samples), "read", PlanName, "")
		}
		s.Lo, s.Hi = s.Lo+l.first, s.Hi+l.first
	}
	_, lo := 0, 0
	for i := range k {
		lo += p.parts[i].shards
	}
	spans := 0
	if x.shards > 0 {
		spans = p.Shards[lo+x.shards-1].Hi
	}
	if samples != x.samples || spans != len(l.spans) {
		return nil, shardify.Annotate(shardify.Corrupt(x.spans.off, "%d spans of %d samples, not %d of %d", len(l.spans), samples, spans, x.samples), "read", PlanName, "")
	}
	return l, nil
}

// readBlock reads and unpacks a block.
func readBlock(f io.ReaderAt, x *packed) ([]byte, error) {
	b := make([]byte, x.bytes)
	if n, err := f.ReadAt(b, x.off); int64(n) < x.bytes {
		if err == io.EOF {
			return nil, shardify.Corrupt(x.off, "the file ends in a block of %d bytes", x.bytes)
		}
		return nil, err
	}
	plain, err := unpack(b, max(x.plain, 1<<10))
	if err != nil {
		return nil, shardify.Corrupt(x.off, "block: %v", err)
	}
	return plain, nil
}

func (x *packed) check(content []byte) error {
	if got := index.DigestOf(content); got != x.digest {
		return shardify.Corrupt(x.off, "digest of a block is %s, stored %q", got, x.digest)
	}
	return nil
}

func (p *Plan) readNames(f io.ReaderAt, x *planPart) (*shardify.Table, error) {
	b, err := readBlock(f, &x.names)
	if err != nil {
		return nil, err
	}
	t := &shardify.Table{Roots: p.Table.Roots}
	return t, parseNamesBlock(t, b, x)
}

func parseNamesBlock(t *shardify.Table, b []byte, x *planPart) error {
	r := &varint.Reader{B: b}
	names := r.Bytes(r.U())
	if err := x.names.check(names); err != nil {
		return err
	}
	v := &varint.Reader{B: names}
	before := t.Len()
	parseNames(t, v, r)
	if v.Bad || r.Bad || len(v.B) > 0 || len(r.B) > 0 || int64(t.Len()-before) != x.files {
		return shardify.Corrupt(x.names.off, "a block of %d names does not fit its counts", x.files)
	}
	return nil
}

func readSpans(f io.ReaderAt, x *planPart) ([]shardify.Span, error) {
	b, err := readBlock(f, &x.spans)
	if err != nil {
		return nil, err
	}
	if err := x.spans.check(b); err != nil {
		return nil, err
	}
	v := &varint.Reader{B: b}
	spans := parseSpans(v)
	if v.Bad || len(v.B) > 0 {
		return nil, shardify.Corrupt(x.spans.off, "a block of spans does not fit its counts")
	}
	return spans, nil
}

// Whole makes one of a plan in parts, for who needs all inputs at once. Its digest,
// shards and units are the same; it cannot be published. Other plans stay as they are.
func (p *Plan) Whole() (*Plan, error) {
	if !p.InParts() {
		return p, nil
	}
	q := *p
	q.Listed, q.parts, q.blocks, q.shardBytes = nil, nil, nil, nil
	q.Table = &shardify.Table{Roots: p.Table.Roots}
	q.Spans, q.Shards = nil, slices.Clone(p.Shards)
	shard := 0
	for k := range p.parts {
		l, err := p.loadPart(k)
		if err != nil {
			return nil, err
		}
		if int64(q.Table.Len())+int64(l.table.Len()) > math.MaxUint32 {
			return nil, shardify.Unsupported("a plan of %d inputs does not fit in one table", p.Listed.Count)
		}
		q.Table.AppendTable(l.table)
		for end := shard + p.parts[k].shards; shard < end; shard++ {
			q.Shards[shard].Lo += len(q.Spans)
			q.Shards[shard].Hi += len(q.Spans)
		}
		q.Spans = append(q.Spans, l.spans...)
	}
	return &q, nil
}

// tasksInOrder gives each of n tasks consecutive units of a like size: it needs few
// parts then.
func (p *Plan) tasksInOrder(n int) []int32 {
	of := make([]int32, len(p.Units))
	var total, at int64
	for u := range p.Units {
		total += p.UnitBytes(u) + 1
	}
	for u := range p.Units {
		size := p.UnitBytes(u) + 1
		middle := float64(at) + float64(size)/2
		of[u] = int32(min(int(middle/float64(total)*float64(n)), n-1))
		at += size
	}
	return of
}
