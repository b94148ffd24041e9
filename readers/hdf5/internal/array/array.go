package array

import (
	"context"
	"io"
	"math"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/internal/grid"
)

// Array is a data set ready to be read, by several readers at once. Rows are its
// first dimension; a data set of rank 0 has one.
type Array struct {
	File *File
	Path string
	Set  *dataset.Dataset
	Dims []int64

	Rows     int64
	Elem     int64 // bytes of an element in the file
	RowElems int64
	RowBytes int64

	once   sync.Once // what reading needs beyond the messages
	err    error
	chunks *chunks
	maps   []mapping
	pieces []piece

	// Of an array whose axes are read in another order: the stored one, and bytes from one
	// value to the next by its axes.
	base    *Array
	Order   *Order
	strides []int64
	places  []grid.Places // what is taken of each stored axis
}

// New takes the measures of a data set.
func New(f *File, path string, d *dataset.Dataset) (*Array, error) {
	a := &Array{File: f, Path: path, Set: d, Dims: d.Space.Dims, Elem: int64(d.Type.Size), Rows: 1, RowElems: 1}
	if d.Space.Kind == datatype.Null {
		return nil, shardify.Unsupported("a null dataspace: no values")
	}
	if len(a.Dims) > 0 {
		a.Rows = a.Dims[0]
		a.RowElems = dimsBytes(a.Dims[1:], 1)
	}
	if a.RowBytes = dimsBytes(a.Inner(), a.Elem); a.RowBytes < 0 || a.RowBytes > 0 && a.Rows > maxBytes/a.RowBytes {
		return nil, shardify.Corrupt(-1, "data set of %v elements of %d bytes", a.Dims, a.Elem)
	}
	if a.RowBytes == 0 && a.Rows > maxEmpty {
		return nil, shardify.Unsupported("%d rows without values", a.Rows)
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

// Inner are the dimensions within a row.
func (a *Array) Inner() []int64 {
	if len(a.Dims) == 0 {
		return nil
	}
	return a.Dims[1:]
}

// ready parses what reading needs: the chunk index, the mappings, the pieces.
func (a *Array) ready() error {
	if a.base != nil {
		return a.base.ready()
	}
	a.once.Do(func() {
		switch l := &a.Set.Layout; {
		case l.Class == dataset.Chunked:
			a.chunks, a.err = newChunks(a)
		case l.Class == dataset.Virtual:
			a.maps, a.err = newMappings(a)
		case len(a.Set.External) > 0:
			a.pieces, a.err = newPieces(a)
		}
	})
	return a.err
}

// Read reads rows [lo, hi) as the file has them, len(dst) = (hi-lo) rows.
func (a *Array) Read(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	if err := a.ready(); err != nil {
		return err
	}
	if lo < 0 || hi > a.Rows || hi < lo || int64(len(dst)) != (hi-lo)*a.RowBytes {
		panic("hdf5: rows that are not the array's")
	}
	if len(dst) == 0 {
		return nil
	}
	if a.base != nil {
		return a.readTurned(ctx, w, dst, lo, hi)
	}
	switch l := &a.Set.Layout; {
	case a.chunks != nil:
		return a.chunks.read(ctx, w, dst, lo, hi)
	case a.maps != nil:
		return a.readVirtual(ctx, w, dst, lo, hi)
	case a.pieces != nil:
		return a.readPieces(dst, lo*a.RowBytes)
	case l.Class == dataset.Compact:
		if int64(len(l.Data)) < hi*a.RowBytes {
			return shardify.Corrupt(-1, "compact data set of %d bytes holds %d", a.Rows*a.RowBytes, len(l.Data))
		}
		copy(dst, l.Data[lo*a.RowBytes:])
		return nil
	case l.Class == dataset.Contiguous && l.Addr == meta.Undefined, l.Class == dataset.Virtual:
		Fill(dst, a.Set.Fill)
		return nil
	case l.Class == dataset.Contiguous:
		return a.File.ReadFull(dst, l.Addr+lo*a.RowBytes)
	}
	return shardify.Unsupported("layout class %d", a.Set.Layout.Class)
}

// ReadKept is Read for an array that is needed again as a whole: w keeps it, unless it is large.
func (a *Array) ReadKept(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	if a.Rows*a.RowBytes > KeepRow || a.Set.Layout.Class != dataset.Chunked {
		return a.Read(ctx, w, dst, lo, hi)
	}
	data, err := a.keep(ctx, w, 0, a.Rows, a.Read)
	if err == nil {
		copy(dst, data[lo*a.RowBytes:])
	}
	return err
}

// LargeClaim is from where on a data set must show bytes in the file before
// memory is taken for what it claims.
const LargeClaim = 64 << 20

// Backed refuses rows whose memory would be out of proportion to what the file
// holds: a damaged size in a header must not take the machine.
func (a *Array) Backed(rows int64) error { return a.Claim(rows, new(int64)) }

// SmallClaim is what is not looked into.
const SmallClaim = 1 << 20

// Claim is backed for several arrays whose rows are in memory together; sum is
// what they claimed so far beyond what the file holds.
func (a *Array) Claim(rows int64, sum *int64) error {
	if a.RowBytes == 0 || rows <= SmallClaim/a.RowBytes {
		return nil
	}
	have := int64(math.MaxInt64)
	switch l := &a.Set.Layout; {
	case l.Class == dataset.Chunked:
		if err := a.ready(); err != nil {
			return err
		}
		have = a.asStored().chunks.decoded()
	case l.Class == dataset.Virtual:
		if err := a.ready(); err != nil {
			return err
		}
		have = 0
		b := a.asStored()
		for i := range b.maps {
			have += min(b.maps[i].to.count*b.Elem, maxBytes/int64(len(b.maps)))
		}
	case l.Class == dataset.Contiguous && l.Addr == meta.Undefined && len(a.Set.External) == 0:
		have = 0
	}
	n := rows * a.RowBytes
	if have >= n/16 {
		return nil
	}
	if *sum += n - 16*have; *sum > LargeClaim {
		return shardify.Unsupported("%s in one piece, of which the file holds at most %s", shardify.FormatSize(n), shardify.FormatSize(have))
	}
	return nil
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

// Fill repeats a pattern over dst.
func Fill(dst, pattern []byte) {
	if len(pattern) == 0 {
		clear(dst)
		return
	}
	n := copy(dst, pattern)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// dimsBytes is the product of dims and size, or -1 if it does not fit.
func dimsBytes(dims []int64, size int64) int64 {
	n := size
	for _, d := range dims {
		if d < 0 || d > 0 && n > maxBytes/d {
			return -1
		}
		n *= d
	}
	return n
}

// maxBytes bounds what one data set may claim.
const maxBytes = 1 << 60

// RowError says in which row of its array an error is, or in which sample.
type RowError struct {
	Row int64
	Err error
}

func (e *RowError) Error() string { return e.Err.Error() }
func (e *RowError) Unwrap() error { return e.Err }
