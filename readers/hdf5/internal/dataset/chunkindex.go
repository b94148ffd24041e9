package dataset

import (
	"cmp"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/btree"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Chunks reads the whole chunk index in one pass.
func (d *Dataset) Chunks() (*ChunkTable, error) {
	t, err := d.readChunks()
	if err != nil {
		return nil, d.File.Fail(err, d.Path)
	}
	return t, nil
}

func (d *Dataset) readChunks() (*ChunkTable, error) {
	if d.Layout.Class != Chunked {
		return nil, shardify.Corrupt(d.Addr, "the data set is not chunked")
	}
	b, err := d.newTable()
	if err != nil {
		return nil, err
	}
	if d.Layout.Addr == meta.Undefined || b.total == 0 {
		b.expect(0)
		return b.finish()
	}
	switch d.Layout.Index {
	case indexBTree1:
		err = d.indexBTree1(b)
	case indexSingle:
		err = d.indexSingle(b)
	case indexImplicit:
		err = d.indexImplicit(b)
	case indexFixed:
		err = d.indexFixed(b)
	case indexExtensible:
		err = d.indexExtensible(b)
	case indexBTree2:
		err = d.indexBTree2(b)
	}
	if err != nil {
		return nil, err
	}
	return b.finish()
}

// indexBTree1: the key before a child is u32 stored size, u32 filter mask, one u64
// element offset per dimension and one for the bytes of the element, which is 0.
func (d *Dataset) indexBTree1(b *tableBuilder) error {
	f, rank := d.File, d.Space.Rank()
	t := btree.NewV1(f, btree.Chunks, 8+8*(rank+1), f.ChunkK)
	fatal := func(err error) error { return err }
	leaves, err := t.Leaves(d.Layout.Addr, fatal)
	if err != nil {
		return err
	}
	b.expect(int64(len(leaves)) * int64(t.MaxCount))
	return t.Each(leaves, 0, func(n *btree.Node) error {
		for i := range n.Count {
			e := n.Entry(i)
			if err := d.checkKey(n, i); err != nil {
				return err
			}
			number, inside := int64(0), true
			for j, c := range d.Layout.ChunkDims {
				off := binary.LittleEndian.Uint64(e[8+8*j:])
				k := off / uint64(c)
				if k*uint64(c) != off {
					return shardify.Corrupt(n.Addr, "B-tree node: entry %d starts at element %d, no multiple of %d", i, off, c)
				}
				if k >= uint64(b.t.Grid[j]) {
					inside = false // left over from before the extent shrank
					break
				}
				number = number*b.t.Grid[j] + int64(k)
			}
			if !inside {
				continue
			}
			size := int64(binary.LittleEndian.Uint32(e))
			addr := f.Offset(e[t.KeySize : t.KeySize+f.OffsetSize])
			if err := b.add(number, addr, size, binary.LittleEndian.Uint32(e[4:])); err != nil {
				return err
			}
		}
		return nil
	}, fatal)
}

// checkKey compares the place of a chunk with that of the entry before, and with what
// the extent can become: chunks that an extent left behind as it shrank are allowed.
func (d *Dataset) checkKey(n *btree.Node, i int) error {
	at := func(k, j int) uint64 { return binary.LittleEndian.Uint64(n.Entry(k)[8+8*j:]) }
	rank := d.Space.Rank()
	if v := at(i, rank); v != 0 {
		return shardify.Corrupt(n.Addr, "B-tree node: entry %d starts at byte %d of an element", i, v)
	}
	order := 0
	for j := range rank {
		if v, most := at(i, j), d.Space.MaxDims[j]; most != datatype.Unlimited && v >= uint64(most) {
			return shardify.Corrupt(n.Addr, "B-tree node: entry %d starts at element %d of at most %d", i, v, most)
		}
		if i > 0 && order == 0 {
			order = cmp.Compare(at(i, j), at(i-1, j))
		}
	}
	if i > 0 && order <= 0 {
		return shardify.Corrupt(n.Addr, "B-tree node: entry %d does not follow that before", i)
	}
	return nil
}

func (d *Dataset) indexSingle(b *tableBuilder) error {
	b.expect(1)
	if b.total != 1 {
		return shardify.Corrupt(d.Addr, "single chunk for %v", b.t.Grid)
	}
	p := &d.Layout.params
	if p.hasSize {
		return b.add(0, d.Layout.Addr, p.storedSize, p.mask)
	}
	return b.add(0, d.Layout.Addr, d.Layout.ChunkBytes, 0)
}

// indexImplicit: all chunks of the maximal extent in one piece.
func (d *Dataset) indexImplicit(b *tableBuilder) error {
	m, err := d.maximalGrid(b, -1)
	if err != nil {
		return err
	}
	if m.total > d.File.Size()/max(d.Layout.ChunkBytes, 1) {
		return shardify.Corrupt(d.Layout.Addr, "%d chunks of %d bytes in a file of %d", m.total, d.Layout.ChunkBytes, d.File.Size())
	}
	b.expect(m.total)
	for i := range m.total {
		if n, ok := m.number(i); ok {
			if err := b.add(n, d.Layout.Addr+i*d.Layout.ChunkBytes, d.Layout.ChunkBytes, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexBTree2: O address, [stored size, u32 mask], one u64 per dimension.
func (d *Dataset) indexBTree2(b *tableBuilder) error {
	f, rank := d.File, d.Space.Rank()
	t, err := btree.OpenV2(f, d.Layout.Addr, []uint8{btree.RecChunk, btree.RecChunkFilters})
	if err != nil {
		return err
	}
	width := 0 // of the stored size
	plain := f.OffsetSize + 8*rank
	if t.Kind == btree.RecChunkFilters {
		width = t.RecordSize - plain - 4
		if width < 1 || width > 8 {
			return shardify.Corrupt(d.Layout.Addr, "chunk records of %d bytes for rank %d", t.RecordSize, rank)
		}
	} else if t.RecordSize != plain {
		return shardify.Corrupt(d.Layout.Addr, "chunk records of %d bytes for rank %d", t.RecordSize, rank)
	}
	b.expect(t.Total)
	return t.Walk(func(_ uint8, rec []byte) error {
		addr := f.Offset(rec[:f.OffsetSize])
		number, inside := int64(0), true
		for j, at := range b.t.Grid {
			k := binary.LittleEndian.Uint64(rec[len(rec)-8*(rank-j):])
			if k >= uint64(at) {
				inside = false
				break
			}
			number = number*at + int64(k)
		}
		if !inside || addr == meta.Undefined {
			return nil
		}
		size, mask := d.Layout.ChunkBytes, uint32(0)
		if width > 0 {
			size, mask = d.chunkFields(rec[f.OffsetSize:], width)
		}
		return b.add(number, addr, size, mask)
	})
}

// chunkFields reads the stored size and the mask of a filtered element.
func (d *Dataset) chunkFields(e []byte, width int) (size int64, mask uint32) {
	v := meta.Uint(e[:width])
	return int64(min(v, 1<<62)), binary.LittleEndian.Uint32(e[width:])
}

// maximal numbers chunks over the largest extent, as fixed and extensible arrays
// and implicit indexes do, and turns such numbers into those of the grid.
type maximal struct {
	dims  []int64 // chunks per dimension, in the order of numbering
	grid  []int64 // the same of the current extent
	total int64
	first int // dimension that was moved to the front, 0 for none
	same  bool
}

// maximalGrid computes the numbering. unlimited is the dimension moved to the
// front, whose maximal size is not known; -1 for none.
func (d *Dataset) maximalGrid(b *tableBuilder, unlimited int) (*maximal, error) {
	m := &maximal{total: 1, same: true}
	rank := d.Space.Rank()
	order := make([]int, 0, rank)
	if unlimited >= 0 {
		order = append(order, unlimited)
		m.first = unlimited
	}
	for i := range rank {
		if i != unlimited {
			order = append(order, i)
		}
	}
	for k, i := range order {
		g := b.t.Grid[i]
		n := g
		if i != unlimited {
			if d.Space.MaxDims[i] == datatype.Unlimited {
				return nil, shardify.Corrupt(d.Addr, "chunk index %d with an unlimited dimension %d", d.Layout.Index, i)
			}
			n = gridSize(d.Space.MaxDims[i], d.Layout.ChunkDims[i])
			var ok bool
			if m.total, ok = meta.Product(m.total, n); !ok {
				return nil, shardify.Corrupt(d.Addr, "%v elements at most overflow", d.Space.MaxDims)
			}
		}
		if k > 0 && n != g {
			m.same = false
		}
		m.dims, m.grid = append(m.dims, n), append(m.grid, g)
	}
	if m.first != 0 {
		m.same = false
	}
	return m, nil
}

// number turns a number of the index into one of the grid; false outside of the
// current extent.
func (m *maximal) number(i int64) (int64, bool) {
	if m.same { // only the slowest dimension can be larger
		rest := int64(1)
		for _, g := range m.grid {
			rest *= g
		}
		return i, i < rest
	}
	var c [datatype.MaxRank]int64
	for k := len(m.dims) - 1; k > 0; k-- {
		c[k] = i % m.dims[k]
		i /= m.dims[k]
	}
	c[0] = i
	for k, g := range m.grid {
		if c[k] >= g {
			return 0, false
		}
	}
	// The dimension moved to the front goes back to its place.
	n := int64(0)
	for k := 1; k <= m.first; k++ {
		n = n*m.grid[k] + c[k]
	}
	n = n*m.grid[0] + c[0]
	for k := m.first + 1; k < len(m.grid); k++ {
		n = n*m.grid[k] + c[k]
	}
	return n, true
}
