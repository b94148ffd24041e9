package dataset

import "github.com/shardify/shardify/readers/hdf5/internal/meta"

// AllFilters is the mask of a chunk to which no filter was applied.
const AllFilters = ^uint32(0)

// Chunk is one stored chunk.
type Chunk struct {
	Addr int64
	Size int64  // bytes stored
	Mask uint32 // bit j: filter j was not applied
}

// ChunkTable finds the chunks of a data set. It is read-only once made. Chunks
// are numbered row-major over Grid, the chunks of the current extent; a number
// without a stored chunk has the fill value.
type ChunkTable struct {
	Grid []int64 // chunks per dimension

	// One entry per stored chunk in rising order of number; keys is nil when the
	// position is the number (then holes have the address Undefined).
	keys []int64
	addr []int64
	size []int64  // nil: all have fullSize
	mask []uint32 // nil: all 0

	fullSize int64
	stored   int
	edge     *edgeRule
}

// Total is the number of chunks of the extent, stored or not.
func (t *ChunkTable) Total() int64 {
	n := int64(1)
	for _, g := range t.Grid {
		n *= g
	}
	return n
}

// Stored is the number of chunks that have storage.
func (t *ChunkTable) Stored() int { return t.stored }

// number is the row-major number of a chunk of the grid.
func (t *ChunkTable) number(coord []int64) int64 {
	n := int64(0)
	for i, g := range t.Grid {
		n = n*g + coord[i]
	}
	return n
}

// Coord writes the grid coordinates of chunk n to dst and returns it.
func (t *ChunkTable) Coord(n int64, dst []int64) []int64 {
	dst = dst[:len(t.Grid)]
	for i := len(t.Grid) - 1; i >= 0; i-- {
		dst[i] = n % t.Grid[i]
		n /= t.Grid[i]
	}
	return dst
}

// Get returns chunk number n.
func (t *ChunkTable) Get(n int64) (Chunk, bool) {
	i, ok := t.find(n)
	if !ok {
		return Chunk{}, false
	}
	return t.entry(i, n), true
}

// All calls yield for each stored chunk in rising order of number.
func (t *ChunkTable) All(yield func(n int64, c Chunk) bool) {
	for i, a := range t.addr {
		if a == meta.Undefined {
			continue
		}
		n := int64(i)
		if t.keys != nil {
			n = t.keys[i]
		}
		if !yield(n, t.entry(i, n)) {
			return
		}
	}
}
