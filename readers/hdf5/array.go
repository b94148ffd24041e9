package hdf5

import (
	"context"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/filter"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// array is a data set ready to be read, by several readers at once. Rows are its
// first dimension; a data set of rank 0 has one.
type array struct {
	file *file
	path string
	set  *h5.Dataset
	dims []int64

	rows     int64
	elem     int64 // bytes of an element in the file
	rowElems int64
	rowBytes int64

	once   sync.Once // what reading needs beyond the messages
	err    error
	chunks *chunks
	maps   []mapping
	pieces []piece

	// Of an array whose axes are read in another order: the stored one, and bytes from one
	// value to the next by its axes.
	base    *array
	how     *turn
	strides []int64

	typeOnce sync.Once
	typeErr  error
	leaves   []leaf
}

// newArray takes the measures of a data set.
func newArray(f *file, path string, d *h5.Dataset) (*array, error) {
	a := &array{file: f, path: path, set: d, dims: d.Space.Dims, elem: int64(d.Type.Size), rows: 1, rowElems: 1}
	if d.Space.Kind == h5.Null {
		return nil, shardify.Unsupported("a null dataspace: no values")
	}
	if len(a.dims) > 0 {
		a.rows = a.dims[0]
		a.rowElems = dimsBytes(a.dims[1:], 1)
	}
	if a.rowBytes = dimsBytes(a.inner(), a.elem); a.rowBytes < 0 || a.rowBytes > 0 && a.rows > maxBytes/a.rowBytes {
		return nil, shardify.Corrupt(-1, "data set of %v elements of %d bytes", a.dims, a.elem)
	}
	if a.rowBytes == 0 && a.rows > maxEmpty {
		return nil, shardify.Unsupported("%d rows without values", a.rows)
	}
	return a, nil
}

const (
	// maxEmpty bounds rows that take no bytes in the file but do in memory.
	maxEmpty = 1 << 20
	// hugeClaim is from where on a data set must show a part of its bytes: its
	// spans alone take memory.
	hugeClaim = 1 << 40
)

// inner are the dimensions within a row.
func (a *array) inner() []int64 {
	if len(a.dims) == 0 {
		return nil
	}
	return a.dims[1:]
}

// ready parses what reading needs: the chunk index, the mappings, the pieces.
func (a *array) ready() error {
	if a.base != nil {
		return a.base.ready()
	}
	a.once.Do(func() {
		switch l := &a.set.Layout; {
		case l.Class == h5.Chunked:
			a.chunks, a.err = newChunks(a)
		case l.Class == h5.Virtual:
			a.maps, a.err = newMappings(a)
		case len(a.set.External) > 0:
			a.pieces, a.err = newPieces(a)
		}
	})
	return a.err
}

// read reads rows [lo, hi) as they stand in the file, len(dst) = (hi-lo) rows.
func (a *array) read(ctx context.Context, w *work, dst []byte, lo, hi int64) error {
	if err := a.ready(); err != nil {
		return err
	}
	if lo < 0 || hi > a.rows || hi < lo || int64(len(dst)) != (hi-lo)*a.rowBytes {
		panic("hdf5: rows that are not the array's")
	}
	if len(dst) == 0 {
		return nil
	}
	if a.base != nil {
		return a.readTurned(ctx, w, dst, lo, hi)
	}
	switch l := &a.set.Layout; {
	case a.chunks != nil:
		return a.chunks.read(ctx, w, dst, lo, hi)
	case a.maps != nil:
		return a.readVirtual(ctx, w, dst, lo, hi)
	case a.pieces != nil:
		return a.readPieces(dst, lo*a.rowBytes)
	case l.Class == h5.Compact:
		if int64(len(l.Data)) < hi*a.rowBytes {
			return shardify.Corrupt(-1, "compact data set of %d bytes holds %d", a.rows*a.rowBytes, len(l.Data))
		}
		copy(dst, l.Data[lo*a.rowBytes:])
		return nil
	case l.Class == h5.Contiguous && l.Addr == h5.Undefined, l.Class == h5.Virtual:
		fill(dst, a.set.Fill)
		return nil
	case l.Class == h5.Contiguous:
		return a.file.readAt(dst, l.Addr+lo*a.rowBytes)
	}
	return shardify.Unsupported("layout class %d", a.set.Layout.Class)
}

// largeClaim is from where on a data set must show bytes in the file before
// memory is taken for what it claims.
const largeClaim = 64 << 20

// backed refuses rows whose memory would be out of proportion to what the file
// holds: a damaged size in a header must not take the machine.
func (a *array) backed(rows int64) error { return a.claim(rows, new(int64)) }

// smallClaim is what is not looked into.
const smallClaim = 1 << 20

// claim is backed for several arrays whose rows are in memory together; sum is
// what they claimed so far beyond what the file holds.
func (a *array) claim(rows int64, sum *int64) error {
	if a.rowBytes == 0 || rows <= smallClaim/a.rowBytes {
		return nil
	}
	have := int64(math.MaxInt64)
	switch l := &a.set.Layout; {
	case l.Class == h5.Chunked:
		if err := a.ready(); err != nil {
			return err
		}
		have = a.asStored().chunks.decoded()
	case l.Class == h5.Virtual:
		if err := a.ready(); err != nil {
			return err
		}
		have = 0
		b := a.asStored()
		for i := range b.maps {
			have += min(b.maps[i].to.count*b.elem, maxBytes/int64(len(b.maps)))
		}
	case l.Class == h5.Contiguous && l.Addr == h5.Undefined && len(a.set.External) == 0:
		have = 0
	}
	n := rows * a.rowBytes
	if have >= n/16 {
		return nil
	}
	if *sum += n - 16*have; *sum > largeClaim {
		return shardify.Unsupported("%s in one piece, of which the file holds at most %s", shardify.FormatSize(n), shardify.FormatSize(have))
	}
	return nil
}

// chunks are the chunks of an array and their geometry.
type chunks struct {
	a     *array
	table *h5.ChunkTable
	pipe  *filter.Pipeline
	plain bool // no filters
	dims  []int64
	size  int64 // of a decoded chunk
	inner int64 // chunks side by side in a row of chunks
	// direct: the rows of a chunk are whole rows of the array.
	direct   bool
	from, to []int64 // strides of a chunk and of the array, in bytes
	run      int     // the dimension from which on bytes stand side by side in both
	ratio    int64   // the most that the filters may expand
}

func newChunks(a *array) (*chunks, error) {
	l := &a.set.Layout
	c := &chunks{a: a, dims: l.ChunkDims, size: l.ChunkBytes, inner: 1}
	rank := len(a.dims)
	if rank == 0 || len(c.dims) != rank {
		return nil, shardify.Corrupt(-1, "chunks of rank %d for a data set of rank %d", len(c.dims), rank)
	}
	var err error
	if c.pipe, err = newPipeline(a.set); err != nil {
		return nil, err
	}
	c.plain = len(a.set.Filters) == 0
	c.ratio = expansion(a.set.Filters)
	if c.table, err = a.set.Chunks(); err != nil {
		return nil, err
	}
	for _, g := range c.table.Grid[1:] {
		c.inner *= g
	}
	c.from, c.to = strides(c.dims, a.elem), strides(a.dims, a.elem)
	c.run = rank - 1
	for c.run > 0 && c.dims[c.run] == a.dims[c.run] {
		c.run--
	}
	c.direct = rank == 1 || slices.Equal(c.dims[1:], a.dims[1:])
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
	c.table.All(func(_ int64, k h5.Chunk) bool {
		n += min(c.size, k.Size*c.ratio)
		return n < maxBytes
	})
	return n
}

func newPipeline(d *h5.Dataset) (*filter.Pipeline, error) {
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
func expansion(filters []h5.Filter) int64 {
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

// readAt fills b from the file; an end within b is damage.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return shardify.Corrupt(off, "truncated: needs %d bytes, has %d", len(b), n)
	}
	return err
}
