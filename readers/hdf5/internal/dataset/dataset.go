package dataset

import (
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// layoutClass says how the elements are stored.
type layoutClass uint8

// Classes of layouts, as messages have them.
const (
	Compact    layoutClass = 0
	Contiguous layoutClass = 1
	Chunked    layoutClass = 2
	Virtual    layoutClass = 3
)

// indexKind is the structure that finds chunks.
type indexKind uint8

const (
	indexBTree1     indexKind = 0 // layout versions 1 to 3
	indexSingle     indexKind = 1
	indexImplicit   indexKind = 2
	indexFixed      indexKind = 3
	indexExtensible indexKind = 4
	indexBTree2     indexKind = 5
)

// layout is where the elements are.
type layout struct {
	Version uint8
	Class   layoutClass

	Data []byte // Compact: the elements; at least as many bytes as they need

	// Contiguous: the elements; Undefined without storage, when all have the fill
	// value. Single, implicit and every other index: its address.
	Addr int64
	Size int64 // Contiguous: bytes stored, -1 when the layout does not say

	// Chunked.
	ChunkDims  []int64 // as many as the dataspace has dimensions, each at least 1
	ChunkBytes int64   // decoded size of a chunk
	Index      indexKind
	// EdgeUnfiltered: chunks that stick out of the extent are stored without
	// filters. ChunkTable.At says so by the mask AllFilters.
	EdgeUnfiltered bool

	params indexParams
}

// ExternalFile is a piece of a contiguous data set in another file.
type ExternalFile struct {
	Name   string // as stored: not checked in any way
	Offset int64  // in that file
	Size   int64  // -1: to the end of that file
}

// Dataset holds what is needed to read the elements. It does not keep the Object.
type Dataset struct {
	File     *meta.File
	Addr     int64  // object header
	Path     string // as given to File.Object
	Type     *datatype.Type
	Space    datatype.Space
	Layout   layout
	Filters  []heap.Filter
	External []ExternalFile // empty when the elements are in this file
	// Fill is the fill value in Type's form, Type.Size bytes; nil means zeros.
	Fill []byte
}

// Mapping says that the elements selected in another data set, in row-major
// order, are those selected here.
type Mapping struct {
	File    string // "." is this file; %b stands for a block number, %% for %
	Dataset string
	Source  Selection
	Virtual Selection
}

// selectionKind is the kind of a selection.
type selectionKind uint8

// Kinds of selections.
const (
	SelectNone   selectionKind = 0
	selectPoints selectionKind = 1
	SelectSlab   selectionKind = 2
	SelectAll    selectionKind = 3
)

// Selection of elements of a dataspace. A regular slab (Boxes is nil) has Start,
// Stride, Count and Block per dimension, where Count and Block may be Unlimited;
// an irregular one a list of Boxes; points are Boxes of one element, in the order
// of the list.
type Selection struct {
	Kind                        selectionKind
	Rank                        int // 0 for none and all, which do not say
	Start, Stride, Count, Block []int64
	Boxes                       []Box
}

// Box holds the first and the last (inclusive) coordinate of each dimension.
type Box struct{ First, Last []int64 }

// Check compares the layout with type and space.
func (ds *Dataset) Check(d *meta.Decoder) error {
	need, ok := ds.Space.Bytes(ds.Type.Size)
	if !ok {
		return d.Corrupt("%v elements of %d bytes overflow", ds.Space.Dims, ds.Type.Size)
	}
	l := &ds.Layout
	switch l.Class {
	case Compact:
		if int64(len(l.Data)) < need {
			return d.Corrupt("%d bytes stored, %d needed", len(l.Data), need)
		}
	case Contiguous:
		if len(ds.External) > 0 || l.Addr == meta.Undefined {
			return nil
		}
		if l.Size >= 0 && l.Size != need {
			return d.Corrupt("%d bytes stored, %d needed", l.Size, need)
		}
		return ds.File.Within(l.Addr, need, "data")
	case Chunked:
		rank := len(l.ChunkDims) - 1
		if rank != ds.Space.Rank() || rank == 0 || ds.Space.Kind != datatype.Simple {
			return d.Corrupt("chunks of rank %d for a dataspace of rank %d", rank, ds.Space.Rank())
		}
		if l.ChunkDims[rank] != int64(ds.Type.Size) {
			return d.Corrupt("chunks hold elements of %d bytes, the type has %d", l.ChunkDims[rank], ds.Type.Size)
		}
		l.ChunkDims = l.ChunkDims[:rank]
	}
	return nil
}
