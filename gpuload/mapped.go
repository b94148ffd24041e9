package gpuload

import (
	"github.com/shardify/shardify"
)

// mapped is staged mmap shards in memory that all ranks of a node share: a shard's
// tensors are those of a table, so samples go from there straight into the slot. Only
// files of our own in tmpfs are mapped, which nobody shortens.
type mapped struct {
	set    *shardSet
	files  [][]byte
	tables []*table // by shard
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
	t := newTable(m.set.layout, hostMemory{}, nil)
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

// segments finds the rows of samples in the shards.
func (m *mapped) segments(list []segment, ids, rows []int64) []segment {
	for j := 0; j < len(ids); {
		i := m.set.number(ids[j])
		lo, hi, start := m.set.starts[i], m.set.starts[i+1], j
		for ; j < len(ids) && ids[j] >= lo && ids[j] < hi; j++ {
			rows[j] = ids[j] - lo
		}
		list = append(list, segment{m.tables[i], rows[start:j], int64(start)})
	}
	return list
}
