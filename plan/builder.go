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

// Build begins the blocks of a plan, with scratch space in a store; nil is the system's.
func (p *Plan) Build(scratch storage.Store) (*Builder, error) {
	spill, err := local.NewSpill(scratch)
	if err != nil {
		return nil, err
	}
	out, err := newBlockWriter(spill, maxBlock)
	if err != nil {
		spill.Close()
		return nil, err
	}
	p.file, p.drop = func() (blob, error) { return stillOpen{spill}, nil }, spill.Close
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
func (b *Builder) Len() int { return len(b.p.blocks) }

// Add adds a block. It need not be measured yet; t is not kept.
func (b *Builder) Add(t *format.Table, m *Measured) error {
	b.list.add(t)
	x := Block{files: int64(t.Len())}
	if err := b.out.names(t, &x); err != nil {
		return err
	}
	b.p.blocks = append(b.p.blocks, x)
	if m == nil {
		return nil
	}
	return b.Measure(len(b.p.blocks)-1, m)
}

// Measure fixes the spans of block k, or replaces them.
func (b *Builder) Measure(k int, m *Measured) error {
	x := &b.p.blocks[k]
	x.samples, x.bytes, x.largest = m.samples, m.bytes, m.largest
	plain := appendSpans(nil, m.spans)
	if x.spans.digest == index.DigestOf(plain) {
		return nil
	}
	return b.out.spans(plain, x)
}

// Names is the inputs of block k.
func (b *Builder) Names(k int) (*format.Table, error) {
	return b.p.readNames(b.spill, &b.p.blocks[k])
}

// All is the inputs of all blocks.
func (b *Builder) All() (*format.Table, error) {
	all := &format.Table{Roots: b.p.Table.Roots, FS: b.p.Table.FS}
	for k := range b.p.blocks {
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
	in := b.list.inputs(p.Input)
	p.Listed = &in
	first, err := b.Names(0)
	if err != nil {
		return err
	}
	p.FirstInput = first.Name(0)
	for i := range p.blocks {
		p.Samples += p.blocks[i].samples
		p.DecodedBytes += p.blocks[i].bytes
	}
	if err := b.cut(c); err != nil {
		return err
	}
	if err := p.Seal(); err != nil || p.InParts() {
		return err
	}
	// A list that was not long after all.
	l, err := p.readBlock(b.spill, 0)
	if err != nil {
		return err
	}
	p.Table, p.Spans = l.Table, l.Spans
	return nil
}

func (b *Builder) cut(c Cutting) error {
	p := b.p
	k := p.packer(c)
	p.OutputBytes = k.bytes(shardify.Span{Hi: p.Samples, Bytes: p.DecodedBytes})
	k.aim(c, p.OutputBytes)
	for i := range p.blocks {
		x := &p.blocks[i]
		spans, err := readSpans(b.spill, x)
		if err != nil {
			return err
		}
		k.p = &Plan{Spans: spans}
		k.all()
		x.shards, x.units = len(k.p.Shards), len(k.p.Units)
		for _, u := range k.p.Units {
			p.Units = append(p.Units, Unit{u.Lo + len(p.Shards), u.Hi + len(p.Shards)})
		}
		for _, s := range k.p.Shards {
			p.shardBytes = append(p.shardBytes, bytesOf(spans[s.Lo:s.Hi]))
		}
		p.Shards = append(p.Shards, k.p.Shards...)
	}
	return nil
}

func bytesOf(spans []shardify.Span) (n int64) {
	for i := range spans {
		n += spans[i].Bytes
	}
	return n
}
