package tier

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
)

// Mapped is staged mmap shards in memory that all ranks of a node share: a shard's tensors
// are those of a table, so samples go from there straight into the slot. Only files of our
// own in tmpfs are mapped, which no program shortens.
type Mapped struct {
	Set    *load.Shards
	files  [][]byte
	tables []*load.Table // by shard
}

// Open maps all shards, and checks once what the gather relies on.
func (m *Mapped) Open(c *load.Crew) error {
	m.Close()
	m.files = make([][]byte, len(m.Set.Shards))
	m.tables = make([]*load.Table, len(m.Set.Shards))
	err := c.Each(len(m.Set.Shards), func(i int) error {
		sh := m.Set.Shards[i]
		return shardify.Annotate(m.openShard(i, sh), "open", sh.Path, "")
	})
	if err != nil {
		m.Close()
	}
	return err
}

func (m *Mapped) openShard(i int, sh *load.Shard) error {
	if sh.Record.Samples == 0 {
		return nil
	}
	h, err := m.Set.Acquire(sh)
	if err != nil {
		return err
	}
	defer m.Set.Release(h)
	if m.files[i], err = load.MapFile(h.File, sh.Record.Bytes); err != nil {
		return err
	}
	t := load.NewTable(m.Set.Layout, load.HostMemory{}, nil)
	t.Rows = sh.Record.Samples
	for k, j := range h.Tensors {
		t.Counts[k] = h.Mmap.Counts[j]
		if !h.Mmap.Placed(j) {
			t.Data[k] = shardify.Bytes(make([]int64, t.Counts[k]))
			if err := h.Mmap.Read(t.Data[k], j, 0); err != nil {
				return err
			}
			continue
		}
		t.Data[k] = m.files[i][h.Mmap.Places[j].Lo:h.Mmap.Places[j].Hi]
		if err := h.Mmap.Check(t.Data[k], j, 0); err != nil {
			return err
		}
	}
	m.tables[i] = t
	return nil
}

// Close unmaps the shards.
func (m *Mapped) Close() {
	if m == nil {
		return
	}
	for _, b := range m.files {
		load.UnmapFile(b)
	}
	m.files, m.tables = nil, nil
}

// Windows finds the rows of windows, each of them from a row on, in the shards. Those that go
// from one shard to the next come in parts.
func (m *Mapped) Windows(list []load.Segment, starts []int64, each int64) []load.Segment {
	s := m.Set.Starts
	for j, i := 0, 0; j < len(starts); {
		if r := starts[j]; r < s[i] || r >= s[i+1] {
			i = m.Set.Number(r)
		}
		lo, hi, first := s[i], s[i+1], j
		for ; j < len(starts) && starts[j] >= lo && starts[j]+each <= hi; j++ {
			starts[j] -= lo
		}
		if j > first {
			list = append(list, load.Segment{From: m.tables[i], Rows: starts[first:j], At: int64(first) * each, Each: each})
			continue
		}
		for r, end := starts[j], starts[j]+each; r < end; i++ {
			if n := min(end, s[i+1]) - r; n > 0 {
				list = append(list, load.Segment{From: m.tables[i], Rows: []int64{r - s[i]}, At: int64(j+1)*each - (end - r), Each: n})
				r += n
			}
		}
		j, i = j+1, 0
	}
	return list
}

// Segments finds the rows of samples in the shards.
func (m *Mapped) Segments(list []load.Segment, ids, rows []int64) []load.Segment {
	for j := 0; j < len(ids); {
		i := m.Set.Number(ids[j])
		lo, hi, start := m.Set.Starts[i], m.Set.Starts[i+1], j
		for ; j < len(ids) && ids[j] >= lo && ids[j] < hi; j++ {
			rows[j] = ids[j] - lo
		}
		list = append(list, load.Segment{From: m.tables[i], Rows: rows[start:j], At: int64(start)})
	}
	return list
}
