package dataset

import (
	"bytes"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// indexParams are what the layout message says about the chunk index.
type indexParams struct {
	// Single chunk, when filtered.
	hasSize    bool
	storedSize int64
	mask       uint32
	// Extensible array.
	maxBits, indexElements, minPointers, minElements uint8
	// Fixed and extensible array.
	pageBits uint8

	heapIndex uint32 // Virtual: object in the global heap at Addr
}

// ParseLayout parses a layout message.
//
//	v1, 2: u8 version, u8 D, u8 class, 5 reserved, [address], D x u32 sizes, [compact: u32 size, data]
//	v3:    u8 3, u8 class, compact: u16 size, data | contiguous: address, length |
//	       chunked: u8 D, address of a v1 B-tree, D x u32
//	v4, 5: u8 version, u8 class, as v3, but
//	       chunked: u8 flags, u8 D, u8 width, D sizes, u8 index kind, its parameters, address
//	       virtual: address of a global heap collection, u32 index
//
// D is the rank + 1, the last size that of an element.
func ParseLayout(f *meta.File, b []byte, at int64) (layout, error) {
	d := f.Decode(b, at, "layout")
	l := layout{Version: d.U8(), Addr: meta.Undefined, Size: -1}
	var err error
	switch l.Version {
	case 1, 2:
		err = parseLayout1(&d, &l)
	case 3, 4, 5:
		l.Class = layoutClass(d.U8())
		switch {
		case l.Class == Compact:
			l.Data = bytes.Clone(d.Bytes(int(d.U16())))
		case l.Class == Contiguous:
			l.Addr, l.Size = d.Addr(), d.Size()
		case l.Class == Chunked && l.Version == 3:
			n := d.U8()
			l.Addr = d.Addr()
			err = chunkSizes(&d, &l, int(n), 4)
		case l.Class == Chunked:
			err = parseChunked4(&d, &l)
		case l.Class == Virtual && l.Version >= 4:
			l.Addr, l.params.heapIndex = d.Addr(), d.U32()
		default:
			err = d.Corrupt("class %d", l.Class)
		}
	default:
		if l.Version == 6 {
			return l, shardify.Unsupported("layout version %d", l.Version)
		}
		err = d.Corrupt("version is %d", l.Version)
	}
	if err == nil {
		err = d.Err()
	}
	return l, err
}

func parseLayout1(d *meta.Decoder, l *layout) error {
	n := d.U8()
	l.Class = layoutClass(d.U8())
	d.Skip(5)
	if n == 0 || n > datatype.MaxRank+1 {
		return d.Corrupt("rank %d", n)
	}
	switch l.Class {
	case Compact:
		d.Skip(4 * int(n))
		l.Data = bytes.Clone(d.Bytes(int(d.U32())))
	case Contiguous:
		l.Addr = d.Addr() // the sizes may be truncated, nothing depends on them
	case Chunked:
		l.Addr = d.Addr()
		return chunkSizes(d, l, int(n), 4)
	default:
		return d.Corrupt("class %d", l.Class)
	}
	return nil
}

// chunkSizes reads n sizes of w bytes. ChunkDims keeps the element size at its
// end until the data set is put together.
func chunkSizes(d *meta.Decoder, l *layout, n, w int) error {
	if n < 1 || n > datatype.MaxRank+1 || w < 1 || w > 8 {
		return d.Corrupt("%d chunk sizes of %d bytes", n, w)
	}
	l.ChunkDims = make([]int64, n)
	l.ChunkBytes = 1
	for i := range l.ChunkDims {
		v := d.Uint(w)
		if d.Bad {
			return d.Err()
		}
		if v == 0 || v > math.MaxInt64 {
			return d.Corrupt("chunk size %d", v)
		}
		l.ChunkDims[i] = int64(v)
		var ok bool
		if l.ChunkBytes, ok = meta.Product(l.ChunkBytes, int64(v)); !ok {
			return d.Corrupt("chunk %v overflows", l.ChunkDims)
		}
	}
	return nil
}

func parseChunked4(d *meta.Decoder, l *layout) error {
	flags, n, w := d.U8(), d.U8(), d.U8()
	if err := chunkSizes(d, l, int(n), int(w)); err != nil {
		return err
	}
	l.EdgeUnfiltered = flags&1 != 0
	l.Index = indexKind(d.U8())
	p := &l.params
	switch l.Index {
	case indexSingle:
		if flags&2 != 0 {
			p.hasSize, p.storedSize, p.mask = true, d.Size(), d.U32()
		}
	case indexImplicit:
	case indexFixed:
		p.pageBits = d.U8()
	case indexExtensible:
		p.maxBits, p.indexElements, p.minPointers, p.minElements, p.pageBits = d.U8(), d.U8(), d.U8(), d.U8(), d.U8()
	case indexBTree2:
		d.Skip(6)
	default:
		return d.Corrupt("chunk index of kind %d", l.Index)
	}
	l.Addr = d.Addr()
	return nil
}
