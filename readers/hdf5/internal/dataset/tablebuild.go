package dataset

import (
	"cmp"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// edgeRule marks the chunks that stick out of the extent.
type edgeRule struct {
	partial []bool // per dimension: the last chunk sticks out
}

func (t *ChunkTable) find(n int64) (int, bool) {
	if n < 0 {
		return 0, false
	}
	if t.keys == nil {
		if n >= int64(len(t.addr)) || t.addr[n] == meta.Undefined {
			return 0, false
		}
		return int(n), true
	}
	return slices.BinarySearch(t.keys, n)
}

func (t *ChunkTable) entry(i int, n int64) Chunk {
	c := Chunk{Addr: t.addr[i], Size: t.fullSize}
	if t.edge != nil && t.atEdge(n) {
		c.Mask = AllFilters
		return c
	}
	if t.size != nil {
		c.Size = t.size[i]
	}
	if t.mask != nil {
		c.Mask = t.mask[i]
	}
	return c
}

func (t *ChunkTable) atEdge(n int64) bool {
	for i := len(t.Grid) - 1; i >= 0; i-- {
		if t.edge.partial[i] && n%t.Grid[i] == t.Grid[i]-1 {
			return true
		}
		n /= t.Grid[i]
	}
	return false
}

// tableBuilder collects chunks in any order.
type tableBuilder struct {
	t        *ChunkTable
	f        *meta.File
	total    int64 // chunks of the grid
	filtered bool
	dense    bool
}

// newTable prepares the table of a data set.
func (ds *Dataset) newTable() (*tableBuilder, error) {
	l := &ds.Layout
	t := &ChunkTable{Grid: make([]int64, len(l.ChunkDims)), fullSize: l.ChunkBytes}
	b := &tableBuilder{t: t, f: ds.File, total: 1, filtered: len(ds.Filters) > 0}
	partial := make([]bool, len(t.Grid))
	for i, c := range l.ChunkDims {
		d := ds.Space.Dims[i]
		t.Grid[i] = gridSize(d, c)
		partial[i] = d%c != 0
	}
	if slices.Contains(t.Grid, 0) {
		b.total = 0
	}
	for _, g := range t.Grid {
		var ok bool
		if b.total, ok = meta.Product(b.total, g); !ok {
			return nil, shardify.Unsupported("%v chunks", t.Grid)
		}
	}
	if l.EdgeUnfiltered && b.filtered && slices.Contains(partial, true) {
		t.edge = &edgeRule{partial}
	}
	return b, nil
}

func gridSize(dim, chunk int64) int64 {
	if dim == 0 {
		return 0
	}
	return (dim-1)/chunk + 1
}

// expect chooses the form of the table: with one slot per chunk of the grid
// unless most of them would be empty. most is an upper bound of the chunks to come.
func (b *tableBuilder) expect(most int64) {
	b.dense = b.total <= 4096 || b.total <= maxEarly && b.total/4 <= most
	if b.dense {
		b.slots()
	}
}

// maxEarly is the largest table made before the chunks are counted: most is a
// claim of the file.
const maxEarly = 1 << 20

func (b *tableBuilder) slots() {
	b.t.addr = make([]int64, b.total)
	for i := range b.t.addr {
		b.t.addr[i] = meta.Undefined
	}
	if b.filtered {
		b.t.size, b.t.mask = make([]int64, b.total), make([]uint32, b.total)
	}
}

// add takes chunk n of the grid.
func (b *tableBuilder) add(n, addr, size int64, mask uint32) error {
	t := b.t
	if t.edge != nil && t.atEdge(n) {
		size = t.fullSize
	}
	if size < 0 || addr < 0 || addr > b.f.Size()-size {
		return shardify.Corrupt(addr, "chunk %v of %d bytes reaches past the end of the file at %d", t.Coord(n, make([]int64, len(t.Grid))), size, b.f.Size())
	}
	if !b.filtered && size != t.fullSize {
		return shardify.Corrupt(addr, "chunk %v of %d bytes without a filter, should have %d", t.Coord(n, make([]int64, len(t.Grid))), size, t.fullSize)
	}
	t.stored++
	if b.dense {
		if t.addr[n] != meta.Undefined {
			return b.twice(n)
		}
		t.addr[n] = addr
		if b.filtered {
			t.size[n], t.mask[n] = size, mask
		}
		return nil
	}
	t.keys = append(t.keys, n)
	t.addr = append(t.addr, addr)
	if b.filtered {
		t.size, t.mask = append(t.size, size), append(t.mask, mask)
	}
	return nil
}

func (b *tableBuilder) twice(n int64) error {
	return shardify.Corrupt(-1, "chunk %v is in the index twice", b.t.Coord(n, make([]int64, len(b.t.Grid))))
}

func (b *tableBuilder) finish() (*ChunkTable, error) {
	t := b.t
	if !slices.ContainsFunc(t.mask, func(m uint32) bool { return m != 0 }) {
		t.mask = nil
	}
	if b.dense {
		return t, nil
	}
	if b.total/4 <= int64(len(t.keys)) {
		return b.spread()
	}
	if t.keys == nil {
		t.keys = []int64{}
	}
	if !slices.IsSorted(t.keys) {
		sort.Sort((*byKey)(t))
	}
	for i := 1; i < len(t.keys); i++ {
		if t.keys[i] == t.keys[i-1] {
			return nil, b.twice(t.keys[i])
		}
	}
	return t, nil
}

// spread gives a table that turned out to be full one slot per chunk.
func (b *tableBuilder) spread() (*ChunkTable, error) {
	t := b.t
	keys, addr, size, mask := t.keys, t.addr, t.size, t.mask
	t.keys, t.size, t.mask = nil, nil, nil
	masked := mask != nil
	b.slots()
	if !masked {
		t.mask = nil
	}
	for i, n := range keys {
		if t.addr[n] != meta.Undefined {
			return nil, b.twice(n)
		}
		t.addr[n] = addr[i]
		if size != nil {
			t.size[n] = size[i]
		}
		if masked {
			t.mask[n] = mask[i]
		}
	}
	return t, nil
}

// byKey sorts the arrays of a sparse table together.
type byKey ChunkTable

func (t *byKey) Len() int           { return len(t.keys) }
func (t *byKey) Less(i, j int) bool { return cmp.Less(t.keys[i], t.keys[j]) }
func (t *byKey) Swap(i, j int) {
	t.keys[i], t.keys[j] = t.keys[j], t.keys[i]
	t.addr[i], t.addr[j] = t.addr[j], t.addr[i]
	if t.size != nil {
		t.size[i], t.size[j] = t.size[j], t.size[i]
	}
	if t.mask != nil {
		t.mask[i], t.mask[j] = t.mask[j], t.mask[i]
	}
}
