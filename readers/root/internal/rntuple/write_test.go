package rntuple

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// made is a file of the tests' own writer.
type made struct {
	*maker
	data []byte
}

// makeFile invents fields, entries and clusters from a seed.
func makeFile(seed uint64, fields, entries int, plain bool) *made {
	m := &maker{rng: rand.New(rand.NewPCG(3, seed)), plain: plain}
	m.compress = []int{0, 50, 100}[m.rng.IntN(3)]
	m.multi = m.rng.IntN(3) == 0
	for i := range fields {
		f := m.random(fmt.Sprintf("f%d", i), 3)
		m.top = append(m.top, f)
		m.register(f, -1)
	}
	for _, f := range m.top {
		if f.kind == vector && f.kids[0].kind == number {
			m.projectionsOf(f)
		}
	}
	m.write(entries)
	return &made{m, m.file.Bytes()}
}

// makeOf writes entries of fields that a test chose.
func makeOf(entries int, tweak func(kind int, payload []byte) []byte, fields ...*model) *made {
	m := &maker{rng: rand.New(rand.NewPCG(3, 3)), plain: true, tweak: tweak, top: fields, fixed: true}
	for _, f := range fields {
		m.register(f, -1)
	}
	m.write(entries)
	return &made{m, m.file.Bytes()}
}

func (m *maker) write(entries int) {
	m.nHeader = [2]int{len(m.fields), len(m.columns)}
	in := 0
	for e := range entries {
		if e > 0 && !m.fixed && m.rng.IntN(12) == 0 {
			m.add(e)
		}
		row := make([]any, len(m.top))
		for i, f := range m.top {
			row[i] = m.value(f)
			m.fill(f, row[i])
		}
		m.entries = append(m.entries, row)
		if in++; m.rng.IntN(15) == 0 {
			m.flush(int64(in))
			if in = 0; m.rng.IntN(4) == 0 {
				m.flush(0) // a cluster of nothing
			}
		}
	}
	if in > 0 {
		m.flush(int64(in))
	}
	m.finish()
}

// add adds a field after some entries.
func (m *maker) add(entry int) {
	f := m.random(fmt.Sprintf("late%d", len(m.top)), 2)
	f.first = entry
	m.top = append(m.top, f)
	m.register(f, -1)
	f.principal(1, func(g *model, per int64) {
		for _, c := range g.columns {
			if g.kind == text && c.Type == colChar {
				continue
			}
			c.First, c.Deferred = per*int64(entry), true
			c.offset = c.First
		}
	})
}

// projectionsOf shows a vector of numbers under another name, and its length.
func (m *maker) projectionsOf(f *model) {
	item := &model{kind: projection, name: "_0", typeName: f.kids[0].typeName, source: f.kids[0], alias: f.kids[0].columns[0]}
	m.register(&model{kind: projection, name: "p" + f.name, typeName: f.typeName, role: roleCollection, source: f, alias: f.columns[0], kids: []*model{item}}, -1)
	m.register(&model{kind: projection, name: "n" + f.name, typeName: "ROOT::RNTupleCardinality<std::uint64_t>", source: f, alias: f.columns[0]}, -1)
}

// out builds envelopes.
type out struct{ b []byte }

func (o *out) u16(v int)    { o.b = le.AppendUint16(o.b, uint16(v)) }
func (o *out) u32(v int)    { o.b = le.AppendUint32(o.b, uint32(v)) }
func (o *out) u64(v int64)  { o.b = le.AppendUint64(o.b, uint64(v)) }
func (o *out) str(s string) { o.u32(len(s)); o.b = append(o.b, s...) }

func (o *out) frame(items int, body func()) {
	at := len(o.b)
	o.u64(0)
	if items >= 0 {
		o.u32(items)
	}
	body()
	size := int64(len(o.b) - at)
	if items >= 0 {
		size = -size
	}
	le.PutUint64(o.b[at:], uint64(size))
}

// locator takes the wide form for every third place.
func (o *out) locator(at, size int64) {
	if at%3 == 0 {
		o.u32(-(1<<24 | 20))
		o.u64(size)
		o.u64(at)
		return
	}
	o.u32(int(size))
	o.u64(at)
}

// close frames the payload as an envelope and appends it to the file, compressed or
// not.
func (m *maker) envelope(kind int, payload []byte) (b blob, sum uint64) {
	if m.tweak != nil {
		payload = m.tweak(kind, payload)
	}
	all := le.AppendUint64(nil, uint64(kind)|uint64(len(payload)+16)<<16)
	all = append(all, payload...)
	sum = xxh3.Hash(all)
	all = le.AppendUint64(all, sum)
	b = blob{uint64(m.file.Len()), uint64(len(all)), uint64(len(all))}
	if !m.plain && m.rng.IntN(100) < m.compress {
		if z := zlibBlock(all); len(z) < len(all) {
			m.file.Write(z)
			b.disk = uint64(len(z))
			return b, sum
		}
	}
	m.places = append(m.places, envelopePlace{kind, m.file.Len(), len(all)})
	m.file.Write(all)
	return b, sum
}

func (m *maker) schema(o *out, f0, f1, c0, c1 int) {
	o.frame(f1-f0, func() {
		for i := f0; i < f1; i++ {
			m.fieldRecord(o, i)
		}
	})
	o.frame(c1-c0, func() {
		for i := c0; i < c1; i++ {
			columnRecord(o, &m.columns[i].Column)
		}
	})
	var aliases []*model
	for _, f := range m.fields[f0:f1] {
		if f.alias != nil {
			aliases = append(aliases, f)
		}
	}
	o.frame(len(aliases), func() {
		for _, f := range aliases {
			o.frame(-1, func() { o.u32(f.alias.ID); o.u32(f.id) })
		}
	})
	o.frame(0, func() {})
}

func (m *maker) fieldRecord(o *out, i int) {
	f := m.fields[i]
	role := map[kind]fieldRole{vector: roleCollection, option: roleCollection, record: roleRecord, variant: roleVariant, projection: f.role}[f.kind]
	flags := 0
	if f.kind == fixed || f.kind == bitset {
		flags |= fieldRepetitive
	}
	if f.source != nil {
		flags |= fieldProjected
	}
	o.frame(-1, func() {
		o.u32(0)
		o.u32(-1)
		o.u32(m.parents[i])
		o.u16(int(role))
		o.u16(flags)
		o.str(f.name)
		o.str(f.typeName)
		o.str("")
		o.str("what it is")
		if flags&fieldRepetitive != 0 {
			o.u64(int64(f.n))
		}
		if flags&fieldProjected != 0 {
			o.u32(f.source.id)
		}
		o.u16(0xbeef) // a tail of the future
	})
}

func columnRecord(o *out, c *Column) {
	o.frame(-1, func() {
		flags := 0
		if c.Deferred {
			flags |= columnDeferred
		}
		if c.Type == colReal32Quant {
			flags |= columnRange
		}
		o.u16(int(c.Type))
		o.u16(c.Bits)
		o.u32(c.Field)
		o.u16(flags)
		o.u16(c.Representation)
		if c.Deferred {
			o.u64(c.First)
		}
		if flags&columnRange != 0 {
			o.f64(c.Min)
			o.f64(c.Max)
		}
	})
}

// finish writes envelopes and the anchor.
func (m *maker) finish() {
	var h out
	h.u64(0)
	h.str("made")
	h.str("by a test")
	h.str("shardify")
	m.schema(&h, 0, m.nHeader[0], 0, m.nHeader[1])
	header, sum := m.envelope(headerEnvelope, h.b)
	var f out
	f.u64(0)
	f.u64(int64(sum))
	f.frame(-1, func() { m.schema(&f, m.nHeader[0], len(m.fields), m.nHeader[1], len(m.columns)) })
	for lo := 0; lo < len(m.clusters); {
		hi := min(lo+1+m.rng.IntN(3), len(m.clusters))
		m.groups = append(m.groups, [2]int{lo, hi})
		lo = hi
	}
	f.frame(len(m.groups), func() {
		first := int64(0)
		for _, g := range m.groups {
			list := m.pageList(g[0], g[1], first, int64(sum))
			entries := int64(0)
			for _, n := range m.clusters[g[0]:g[1]] {
				entries += n
			}
			f.frame(-1, func() {
				f.u64(first)
				f.u64(entries)
				f.u32(g[1] - g[0])
				f.u64(int64(list.size))
				f.locator(int64(list.offset), int64(list.disk))
			})
			first += entries
		}
	})
	f.frame(0, func() {}) // attribute sets
	footer, _ := m.envelope(footerEnvelope, f.b)
	be := binary.BigEndian
	a := be.AppendUint32(nil, 0x40000042)
	for _, v := range []uint16{2, 1, 0, 1, 0} {
		a = be.AppendUint16(a, v)
	}
	for _, v := range []uint64{header.offset, header.disk, header.size, footer.offset, footer.disk, footer.size, 1 << 30, 0} {
		a = be.AppendUint64(a, v)
	}
	sealAnchor(a)
	m.anchor = a
}

func (m *maker) pageList(lo, hi int, first, sum int64) blob {
	var o out
	o.u64(sum)
	o.frame(hi-lo, func() {
		for _, n := range m.clusters[lo:hi] {
			o.frame(-1, func() { o.u64(first); o.u64(n) })
			first += n
		}
	})
	o.frame(hi-lo, func() {
		for i := lo; i < hi; i++ {
			n := 0
			for n < len(m.columns) && m.columns[n].born <= i {
				n++
			}
			o.frame(n, func() {
				for _, c := range m.columns[:n] {
					o.chunk(&c.clusters[i-c.born])
				}
			})
		}
	})
	b, _ := m.envelope(pageListEnvelope, o.b)
	return b
}

func (o *out) chunk(c *writtenChunk) {
	o.frame(len(c.pages), func() {
		for _, p := range c.pages {
			if p.summed {
				o.u32(-p.n)
			} else {
				o.u32(p.n)
			}
			o.locator(p.at, int64(p.size))
		}
		if c.suppressed {
			o.u64(-1)
			return
		}
		o.u64(c.offset)
		o.u32(101)
	})
}
