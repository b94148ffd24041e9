package plan

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Builder makes a plan block by block, in a scratch file until the plan is published.
type Builder struct {
	p     *Plan
	spill *local.Spill
	out   *blockWriter
	list  lister
}

// Measured is the spans of a block, numbered from its first sample.
type Measured struct {
	spans                   []shardify.Span
	samples, bytes, largest int64
}

// Add adds a span.
func (m *Measured) Add(s shardify.Span) {
	if s.Hi > s.Lo {
		m.spans = append(m.spans, s)
		m.samples, m.bytes, m.largest = m.samples+s.Samples(), m.bytes+s.Bytes, max(m.largest, s.Bytes)
	}
}

// Len is how many spans there are.
func (m *Measured) Len() int { return len(m.spans) }

// NewBuilder begins the blocks of a plan, with scratch space in a store; nil is the system's.
func NewBuilder(p *Plan, scratch storage.Store) (*Builder, error) {
	spill, err := local.NewSpill(scratch)
	if err != nil {
		return nil, err
	}
	out, err := newBlockWriter(spill, maxBlock)
	if err != nil {
		spill.Close()
		return nil, err
	}
	p.stored.open, p.stored.drop = func() (blob, error) { return stillOpen{spill}, nil }, spill.Close
	return &Builder{p: p, spill: spill, out: out}, nil
}

// stillOpen is a file that the caller closes.
type stillOpen struct{ io.ReaderAt }

func (stillOpen) Close() error { return nil }

// Drop gives the blocks up.
func (b *Builder) Drop() {
	b.out.close()
	b.spill.Close()
}

// Len is how many blocks there are.
func (b *Builder) Len() int { return len(b.p.Pack.blocks) }

// Add adds a block. It need not be measured yet; t is not kept.
func (b *Builder) Add(t *format.Table, m *Measured) error {
	b.list.add(t)
	x := Block{files: int64(t.Len())}
	if err := b.out.names(t, &x); err != nil {
		return err
	}
	b.p.Pack.blocks = append(b.p.Pack.blocks, x)
	if m == nil {
		return nil
	}
	return b.Measure(len(b.p.Pack.blocks)-1, m)
}

// Measure fixes the spans of block k, or replaces them.
func (b *Builder) Measure(k int, m *Measured) error {
	x := &b.p.Pack.blocks[k]
	x.samples, x.bytes, x.largest = m.samples, m.bytes, m.largest
	plain := appendSpans(nil, m.spans)
	if x.spans.digest == index.DigestOf(plain) {
		return nil
	}
	return b.out.spans(plain, x)
}

// Names is the inputs of block k.
func (b *Builder) Names(k int) (*format.Table, error) {
	return b.p.In.readNames(b.spill, &b.p.Pack.blocks[k])
}

// All is the inputs of all blocks.
func (b *Builder) All() (*format.Table, error) {
	all := b.p.In.none()
	for k := range b.p.Pack.blocks {
		t, err := b.Names(k)
		if err != nil {
			return nil, err
		}
		all.AppendTable(t)
	}
	return all, nil
}

// Finish cuts the blocks into shards, each by itself, and completes the plan.
func (b *Builder) Finish(c Cutting) error {
	p := b.p
	defer b.out.close()
	in := b.list.inputs(p.In.Format)
	p.In.Listed = &in
	first, err := b.Names(0)
	if err != nil {
		return err
	}
	p.In.First = first.Name(0)
	for i := range p.Pack.blocks {
		p.Pack.Samples += p.Pack.blocks[i].samples
		p.Pack.DecodedBytes += p.Pack.blocks[i].bytes
	}
	if err := b.cut(c); err != nil {
		return err
	}
	if err := Seal(p); err != nil || p.Pack.InParts() {
		return err
	}
	// A list that was not long after all.
	l, err := readBlock(p, b.spill, 0)
	if err != nil {
		return err
	}
	p.In.Table, p.Pack.Spans = l.Table, l.Spans
	return nil
}

func (b *Builder) cut(c Cutting) error {
	p := &b.p.Pack
	k := newPacker(&b.p.Sample, c)
	p.OutputBytes = k.bytes(shardify.Span{Hi: p.Samples, Bytes: p.DecodedBytes})
	k.aim(c, p.OutputBytes)
	for i := range p.blocks {
		x := &p.blocks[i]
		spans, err := readSpans(b.spill, x)
		if err != nil {
			return err
		}
		k.all(spans)
		x.shards, x.units = len(k.shards), len(k.units)
		for _, u := range k.units {
			p.Units = append(p.Units, Unit{u.Lo + len(p.Shards), u.Hi + len(p.Shards)})
		}
		for _, s := range k.shards {
			p.shardBytes = append(p.shardBytes, bytesOf(spans[s.Lo:s.Hi]))
		}
		p.Shards = append(p.Shards, k.shards...)
	}
	return nil
}
