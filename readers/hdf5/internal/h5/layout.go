package h5

import (
	"bytes"
	"math"

	"github.com/shardify/shardify"
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

// parseLayout parses a layout message.
//
//	v1, 2: u8 version, u8 D, u8 class, 5 reserved, [address], D x u32 sizes, [compact: u32 size, data]
//	v3:    u8 3, u8 class, compact: u16 size, data | contiguous: address, length |
//	       chunked: u8 D, address of a v1 B-tree, D x u32
//	v4, 5: u8 version, u8 class, as v3, but
//	       chunked: u8 flags, u8 D, u8 width, D sizes, u8 index kind, its parameters, address
//	       virtual: address of a global heap collection, u32 index
//
// D is the rank + 1, the last size that of an element.
func (f *MetaFile) parseLayout(b []byte, at int64) (Layout, error) {
	d := f.decode(b, at, "layout")
	l := Layout{Version: d.u8(), Addr: Undefined, Size: -1}
	var err error
	switch l.Version {
	case 1, 2:
		err = parseLayout1(&d, &l)
	case 3, 4, 5:
		l.Class = LayoutClass(d.u8())
		switch {
		case l.Class == Compact:
			l.Data = bytes.Clone(d.bytes(int(d.u16())))
		case l.Class == Contiguous:
			l.Addr, l.Size = d.addr(), d.size()
		case l.Class == Chunked && l.Version == 3:
			n := d.u8()
			l.Addr = d.addr()
			err = chunkSizes(&d, &l, int(n), 4)
		case l.Class == Chunked:
			err = parseChunked4(&d, &l)
		case l.Class == Virtual && l.Version >= 4:
			l.Addr, l.params.heapIndex = d.addr(), d.u32()
		default:
			err = d.corrupt("class %d", l.Class)
		}
	default:
		if l.Version == 6 {
			return l, shardify.Unsupported("layout version %d", l.Version)
		}
		err = d.corrupt("version is %d", l.Version)
	}
	if err == nil {
		err = d.err()
	}
	return l, err
}

func parseLayout1(d *decoder, l *Layout) error {
	n := d.u8()
	l.Class = LayoutClass(d.u8())
	d.skip(5)
	if n == 0 || n > maxRank+1 {
		return d.corrupt("rank %d", n)
	}
	switch l.Class {
	case Compact:
		d.skip(4 * int(n))
		l.Data = bytes.Clone(d.bytes(int(d.u32())))
	case Contiguous:
		l.Addr = d.addr() // the sizes may be truncated, nothing depends on them
	case Chunked:
		l.Addr = d.addr()
		return chunkSizes(d, l, int(n), 4)
	default:
		return d.corrupt("class %d", l.Class)
	}
	return nil
}

// chunkSizes reads n sizes of w bytes. ChunkDims keeps the element size at its
// end until the data set is put together.
func chunkSizes(d *decoder, l *Layout, n, w int) error {
	if n < 1 || n > maxRank+1 || w < 1 || w > 8 {
		return d.corrupt("%d chunk sizes of %d bytes", n, w)
	}
	l.ChunkDims = make([]int64, n)
	l.ChunkBytes = 1
	for i := range l.ChunkDims {
		v := d.uint(w)
		if d.bad {
			return d.err()
		}
		if v == 0 || v > math.MaxInt64 {
			return d.corrupt("chunk size %d", v)
		}
		l.ChunkDims[i] = int64(v)
		var ok bool
		if l.ChunkBytes, ok = mulFits(l.ChunkBytes, int64(v)); !ok {
			return d.corrupt("chunk %v overflows", l.ChunkDims)
		}
	}
	return nil
}

func parseChunked4(d *decoder, l *Layout) error {
	flags, n, w := d.u8(), d.u8(), d.u8()
	if err := chunkSizes(d, l, int(n), int(w)); err != nil {
		return err
	}
	l.EdgeUnfiltered = flags&1 != 0
	l.Index = IndexKind(d.u8())
	p := &l.params
	switch l.Index {
	case IndexSingle:
		if flags&2 != 0 {
			p.hasSize, p.storedSize, p.mask = true, d.size(), d.u32()
		}
	case IndexImplicit:
	case IndexFixed:
		p.pageBits = d.u8()
	case IndexExtensible:
		p.maxBits, p.indexElements, p.minPointers, p.minElements, p.pageBits = d.u8(), d.u8(), d.u8(), d.u8(), d.u8()
	case IndexBTree2:
		d.skip(6)
	default:
		return d.corrupt("chunk index of kind %d", l.Index)
	}
	l.Addr = d.addr()
	return nil
}
