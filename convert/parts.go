package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
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
	largest               int64 // bytes of the largest span
	shards, units         int
	names, spans          packed
	listed                string // digest of all that the block of names holds, times too
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
		for _, n := range []int64{x.files, x.samples, x.bytes, x.largest, int64(x.shards), int64(x.units)} {
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
		b = append(b, p.parts[i].listed...)
	}
	return b, nil
}

// tail is what stands behind the blocks.
func (p *Plan) tail() ([]byte, error) {
	plain := p.sealed
	if plain == nil {
		plain = p.content()
	}
	content, err := compress(plain)
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
func (p *Plan) publishInParts(ctx context.Context, s storage.Store) error {
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
	drop := p.drop
	p.parts, p.blocks, p.drop, p.sealed = q.parts, stored(s), nil, nil
	if drop != nil {
		return drop()
	}
	return nil
}
