package array

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/filter"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
)

// chunks are the chunks of an array and their geometry.
type chunks struct {
	a     *Array
	table *dataset.ChunkTable
	pipe  *filter.Pipeline
	plain bool // no filters
	dims  []int64
	size  int64 // of a decoded chunk
	inner int64 // chunks side by side in a row of chunks
	// direct: the rows of a chunk are whole rows of the array.
	direct   bool
	from, to []int64 // strides of a chunk and of the array, in bytes
	run      int     // the dimension from which on bytes are side by side in both
	ratio    int64   // the most that the filters may expand
}

func newChunks(a *Array) (*chunks, error) {
	l := &a.Set.Layout
	c := &chunks{a: a, dims: l.ChunkDims, size: l.ChunkBytes, inner: 1}
	rank := len(a.Dims)
	if rank == 0 || len(c.dims) != rank {
		return nil, shardify.Corrupt(-1, "chunks of rank %d for a data set of rank %d", len(c.dims), rank)
	}
	var err error
	if c.pipe, err = newPipeline(a.Set); err != nil {
		return nil, err
	}
	c.plain = len(a.Set.Filters) == 0
	c.ratio = expansion(a.Set.Filters)
	if c.table, err = a.Set.Chunks(); err != nil {
		return nil, err
	}
	for _, g := range c.table.Grid[1:] {
		c.inner *= g
	}
	c.from, c.to = strides(c.dims, a.Elem), strides(a.Dims, a.Elem)
	c.run = rank - 1
	for c.run > 0 && c.dims[c.run] == a.Dims[c.run] {
		c.run--
	}
	c.direct = rank == 1 || slices.Equal(c.dims[1:], a.Dims[1:])
	return c, nil
}

func strides(dims []int64, elem int64) []int64 {
	s := make([]int64, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = elem
		elem *= dims[i]
	}
	return s
}

// decoded bounds the bytes that the stored chunks can hold.
func (c *chunks) decoded() (n int64) {
	c.table.All(func(_ int64, k dataset.Chunk) bool {
		n += min(c.size, k.Size*c.ratio)
		return n < maxBytes
	})
	return n
}

func newPipeline(d *dataset.Dataset) (*filter.Pipeline, error) {
	specs := make([]filter.Spec, len(d.Filters))
	for i, f := range d.Filters {
		specs[i] = filter.Spec{ID: f.ID, Name: f.Name, Client: f.Values}
		if f.Optional {
			specs[i].Flags = 1
		}
	}
	return filter.New(specs, d.Type.Size, d.Layout.ChunkBytes)
}

// expansion is the most that a pipeline's output can be larger than its input.
func expansion(filters []heap.Filter) int64 {
	n := int64(1)
	for i := range filters {
		switch filters[i].ID {
		case 1:
			n *= 1100
		case 2, 3:
		case 32000:
			n *= 128
		case 32004:
			n *= 300
		default:
			n *= 1 << 16
		}
		n = min(n, 1<<24)
	}
	return n
}
