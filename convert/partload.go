package convert

import (
	"io"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/varint"
)

// LargestSpan is the decoded bytes of the largest span.
func (p *Plan) LargestSpan() (n int64) {
	for i := range p.parts {
		n = max(n, p.parts[i].largest)
	}
	for _, s := range p.Spans {
		n = max(n, s.Bytes)
	}
	return n
}

// TableBytes is about what the tables of the inputs take while a plan is carried out.
func (p *Plan) TableBytes() int64 {
	n := int64(p.Table.Len())*64 + int64(len(p.Spans))*48 + int64(len(p.State))
	if p.InParts() {
		n += 2 * p.partBytes()
	}
	return n
}

// partBytes is about what the largest part takes when it is open.
func (p *Plan) partBytes() (n int64) {
	const each = 8 // bytes for one of the unpacked blocks
	for i := range p.parts {
		n = max(n, each*(p.parts[i].names.plain+p.parts[i].spans.plain))
	}
	return n
}

// FileAt is input i, wherever it is listed.
func (p *Plan) FileAt(i int64) (path string, size, mtime int64, err error) {
	t, k := p.Table, int(i)
	if p.InParts() {
		for part := range p.parts {
			if i < p.parts[part].files {
				l, err := p.loadPart(part)
				if err != nil {
					return "", 0, 0, err
				}
				t, k = l.table, int(i)
				break
			}
			i -= p.parts[part].files
		}
	}
	return t.Path(k), t.Size(k), t.ModTime(k), nil
}

// touchedParts is Touched for plans in parts of equal content: it looks into those that
// have other times.
func (p *Plan) touchedParts(now *Plan) (list []int64, err error) {
	var first int64
	for i := range p.parts {
		if p.parts[i].listed != now.parts[i].listed {
			a, err := p.loadPart(i)
			if err != nil {
				return nil, err
			}
			b, err := now.loadPart(i)
			if err != nil {
				return nil, err
			}
			list = appendTouched(list, first, a.table, b.table)
		}
		first += p.parts[i].files
	}
	return list, nil
}

// partOf is the part that shard i lies in.
func (p *Plan) partOf(i int) int {
	end := 0
	for part := range p.parts {
		if end += p.parts[part].shards; i < end {
			return part
		}
	}
	return -1
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
	shards := x.shards
	for i := range k {
		l.first, shards = l.first+p.parts[i].samples, shards+p.parts[i].shards
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
	spans := 0
	if x.shards > 0 {
		spans = p.Shards[shards-1].Hi
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
	if got := index.DigestOf(b); got != x.listed {
		return shardify.Corrupt(x.names.off, "digest of a block is %s, stored %q", got, x.listed)
	}
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
	return parseSpansBlock(b, x)
}

func parseSpansBlock(b []byte, x *planPart) ([]shardify.Span, error) {
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
		middle := float64(at) + float64(float64(size)/2)
		of[u] = int32(min(int(middle/float64(total)*float64(n)), n-1))
		at += size
	}
	return of
}
