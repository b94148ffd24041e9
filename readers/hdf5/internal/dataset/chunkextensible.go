package dataset

import (
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// extArray is an extensible array. Super block k has 2^(k/2) data blocks of
// minElements x 2^ceil(k/2) elements each; those of the first super blocks are
// in the index block, the others have a secondary block.
type extArray struct {
	chunkArray
	maxBits, indexElements, minElements, minPointers, pageBits int
	used                                                       int64 // highest element set + 1
	offBytes                                                   int
}

// indexExtensible reads an extensible array.
//
//	"EAHD", u8 0, u8 client, u8 element size, u8 max bits, u8 index elements, u8 min elements m,
//	        u8 min pointers q, u8 page bits, 6 L counts (the fifth: highest set + 1), O index block, u32 lookup3
//	"EAIB", u8 0, u8 client, O header, index elements, 2(q-1) data blocks, secondary blocks, u32 lookup3
//	"EASB", u8 0, u8 client, O header, offset, [page bits], data blocks, u32 lookup3
//	"EADB", u8 0, u8 client, O header, offset, elements, u32 lookup3 | u32 lookup3, pages
func (ds *Dataset) indexExtensible(b *tableBuilder) error {
	unlimited := -1
	for i, n := range ds.Space.MaxDims {
		if n == datatype.Unlimited && unlimited < 0 {
			unlimited = i
		}
	}
	if unlimited < 0 {
		return shardify.Corrupt(ds.Addr, "extensible array without an unlimited dimension")
	}
	m, err := ds.maximalGrid(b, unlimited)
	if err != nil {
		return err
	}
	a := &extArray{chunkArray: chunkArray{d: ds, b: b, m: m, f: ds.File, header: ds.Layout.Addr}}
	index, err := a.readHeader()
	if err != nil {
		return err
	}
	b.expect(min(a.used, a.f.Size()/int64(a.element)))
	if index == meta.Undefined {
		return nil
	}
	return a.readIndex(index)
}

func (a *extArray) readHeader() (index int64, err error) {
	f := a.f
	head, err := f.View(a.header, int64(16+6*f.LengthSize+f.OffsetSize), "extensible array header")
	if err != nil {
		return 0, err
	}
	d := f.Decode(head, a.header, "extensible array header")
	if err := d.Magic("EAHD"); err != nil {
		return 0, err
	}
	if err := d.Version(0); err != nil {
		return 0, err
	}
	client, element := d.U8(), d.U8()
	a.maxBits, a.indexElements, a.minElements, a.minPointers, a.pageBits = int(d.U8()), int(d.U8()), int(d.U8()), int(d.U8()), int(d.U8())
	d.Skip(4 * f.LengthSize)
	a.used = d.Size()
	d.Length()
	index = d.Addr()
	if err := d.Checksum(); err != nil {
		return 0, err
	}
	if err := a.elementSize(&d, client, element); err != nil {
		return 0, err
	}
	power := func(v int) bool { return bits.OnesCount(uint(v)) == 1 }
	if a.maxBits == 0 || a.maxBits > 64 || !power(a.minElements) || !power(a.minPointers) || a.minPointers < 2 || a.pageBits > 62 || a.superBlocks() < a.direct() {
		return 0, d.Corrupt("max bits %d, elements %d, pointers %d, page bits %d", a.maxBits, a.minElements, a.minPointers, a.pageBits)
	}
	a.offBytes = (a.maxBits + 7) / 8
	return index, nil
}

// superBlocks is the number of super blocks, direct of those without a block.
func (a *extArray) superBlocks() int { return 1 + a.maxBits - bits.TrailingZeros(uint(a.minElements)) }
func (a *extArray) direct() int      { return 2 * bits.TrailingZeros(uint(a.minPointers)) }

// super returns the data blocks of super block k and the elements of each.
func (a *extArray) super(k int) (blocks, elements int64) {
	return 1 << (k / 2), int64(a.minElements) << ((k + 1) / 2)
}

func (a *extArray) readIndex(addr int64) error {
	f := a.f
	start := 6 + f.OffsetSize
	inner := 2 * (a.minPointers - 1)
	second := a.superBlocks() - a.direct()
	size := int64(start + a.indexElements*a.element + (inner+second)*f.OffsetSize + 4)
	d, err := a.open(addr, size, "EAIB", "extensible array index")
	if err != nil {
		return err
	}
	elements := d.Bytes(a.indexElements * a.element)
	pointers := f.Decode(d.Bytes((inner+second)*f.OffsetSize), addr, d.What)
	if err := d.Checksum(); err != nil {
		return err
	}
	if err := a.add(0, elements); err != nil {
		return err
	}
	at := int64(a.indexElements)
	for k := range a.direct() {
		blocks, n := a.super(k)
		for range blocks {
			if err := a.dataBlock(pointers.Addr(), at, n); err != nil {
				return err
			}
			at += n
		}
	}
	for k := a.direct(); k < a.superBlocks(); k++ {
		blocks, n := a.super(k)
		if err := a.secondary(pointers.Addr(), at, blocks, n); err != nil {
			return err
		}
		var ok bool
		if n, ok = meta.Product(n, blocks); !ok || at > 1<<62-n {
			return nil // more than can be addressed
		}
		at += n
	}
	return nil
}

// dataBlock reads a data block that is not paged.
func (a *extArray) dataBlock(addr, at, n int64) error {
	if addr == meta.Undefined {
		return nil
	}
	start := int64(6 + a.f.OffsetSize + a.offBytes)
	if n > a.f.Size()/int64(a.element) {
		return shardify.Corrupt(addr, "extensible array block of %d elements", n)
	}
	if _, err := a.open(addr, start, "EADB", "extensible array block"); err != nil {
		return err
	}
	return a.whole(addr, start, at, n, "extensible array block")
}

func (a *extArray) secondary(addr, at, blocks, n int64) error {
	if addr == meta.Undefined {
		return nil
	}
	f := a.f
	page := int64(1) << a.pageBits
	pages, bitmap := int64(0), int64(0)
	if n > page {
		pages = n / page
		bitmap = blocks * ((pages + 7) / 8)
	}
	if blocks > f.Size()/int64(f.OffsetSize) || bitmap < 0 || bitmap > f.Size() {
		return shardify.Corrupt(addr, "secondary block of %d blocks of %d elements", blocks, n)
	}
	start := int64(6 + f.OffsetSize + a.offBytes)
	d, err := a.open(addr, start+bitmap+blocks*int64(f.OffsetSize)+4, "EASB", "extensible array secondary block")
	if err != nil {
		return err
	}
	d.Skip(a.offBytes)
	present := d.Bytes(int(bitmap))
	pointers := f.Decode(d.Bytes(int(blocks)*f.OffsetSize), addr, d.What)
	if err := d.Checksum(); err != nil {
		return err
	}
	for i := range blocks {
		block := pointers.Addr()
		first := at + i*n
		if pages == 0 {
			if err := a.dataBlock(block, first, n); err != nil {
				return err
			}
			continue
		}
		if block == meta.Undefined {
			continue
		}
		if err := a.pagedBlock(block, first, pages, page, present, i*pages); err != nil {
			return err
		}
	}
	return nil
}

// pagedBlock reads the pages of a data block that were written. Their bits form
// one run over all blocks of the secondary block.
func (a *extArray) pagedBlock(addr, at, pages, page int64, present []byte, firstBit int64) error {
	start := int64(6 + a.f.OffsetSize + a.offBytes)
	d, err := a.open(addr, start+4, "EADB", "extensible array block")
	if err != nil {
		return err
	}
	d.Skip(a.offBytes)
	if err := d.Checksum(); err != nil {
		return err
	}
	p := addr + start + 4
	for j := range pages {
		if bit(present, firstBit+j) {
			if err := a.page(p, at+j*page, page, "extensible array page"); err != nil {
				return err
			}
		}
		p += page*int64(a.element) + 4
	}
	return nil
}
