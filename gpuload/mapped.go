package gpuload

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// mapped is staged mmap shards in memory that all ranks of a node share: a shard's
// tensors are those of a table, so samples go from there straight into the slot. Only
// files of our own in tmpfs are mapped, which nobody shortens.
type mapped struct {
	set    *shardSet
	files  [][]byte
	tables []*table // by shard
}

// maxMapped is how many shards are mapped; the system allows some 65,000 mappings.
const maxMapped = 16 << 10

// windowedRow is the bytes of a sample below which a Block shuffle copies windows into
// huge pages first: samples at random places of 4 KiB pages wait for address
// translation, which at 64 bytes takes twice as long as both copies.
const windowedRow = 512

// mappable tells whether the shards can be mapped once they are staged, and should be.
func (l *Loader) mappable() bool {
	if l.order.Windowed() && l.set.columnBytes(l.layout)/max(l.set.samples, 1) < windowedRow {
		return false
	}
	if len(l.shards.shards) > maxMapped || !inMemory(l.cfg.Stage) {
		return false
	}
	for _, in := range l.set.inputs {
		if in.Format == index.FormatWDS {
			return false
		}
	}
	return true
}

// open maps all shards, and checks once what the gather relies on.
func (m *mapped) open(c *crew) error {
	m.close()
	m.files = make([][]byte, len(m.set.shards))
	m.tables = make([]*table, len(m.set.shards))
	err := c.each(len(m.set.shards), func(i int) error {
		sh := m.set.shards[i]
		return shardify.Annotate(m.openShard(i, sh), "open", sh.path, "")
	})
	if err != nil {
		m.close()
	}
	return err
}

func (m *mapped) openShard(i int, sh *shard) error {
	if sh.record.Samples == 0 {
		return nil
	}
	h, err := m.set.acquire(sh)
	if err != nil {
		return err
	}
	defer m.set.release(h)
	if m.files[i], err = mapFile(h.file, sh.record.Bytes); err != nil {
		return err
	}
	t := newTable(m.set.layout, hostDevice{}, nil)
	t.rows = sh.record.Samples
	for k, j := range h.tensors {
		t.counts[k] = h.mmap.Counts[j]
		t.data[k] = m.files[i][h.mmap.Places[j].Lo:h.mmap.Places[j].Hi]
		if err := h.mmap.Check(t.data[k], j, 0); err != nil {
			return err
		}
	}
	m.tables[i] = t
	return nil
}

func (m *mapped) close() {
	for _, b := range m.files {
		unmapFile(b)
	}
	m.files, m.tables = nil, nil
}

// fromMapped gathers a batch from the shards.
func (m *maker) fromMapped(s *slot) error {
	t := nanos()
	m.items(s)
	s.segments = s.segments[:0]
	for j := 0; j < s.Rows; {
		i := m.shards.number(s.ids[j])
		lo, hi, start := m.shards.starts[i], m.shards.starts[i+1], j
		for ; j < s.Rows && s.ids[j] >= lo && s.ids[j] < hi; j++ {
			m.rows[j] = s.ids[j] - lo
		}
		s.segments = append(s.segments, segment{m.mapped.tables[i], m.rows[start:j], int64(start)})
	}
	err := gather(m.crew, s.table, s.Size, s.segments)
	m.stats.gathered.Add(nanos() - t)
	m.trace.event("gather", "gather", t, s.Number, s.table.size())
	return err
}
