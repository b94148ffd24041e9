package heap

import (
	"math/bits"

	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

func (h *fractal) managed(off, n uint64) ([]byte, error) {
	if n == 0 || n > h.maxDirect {
		return nil, h.corrupt("object of %d bytes", n)
	}
	slot, err := h.find(off)
	if err != nil {
		return nil, err
	}
	in := off - uint64(slot.offset)
	head := uint64(5 + h.f.OffsetSize + h.offBytes)
	if in < head || n > slot.size || in > slot.size-n {
		return nil, h.corrupt("object of %d bytes at %d of a block of %d", n, in, slot.size)
	}
	b, err := h.direct(slot)
	if err != nil {
		return nil, err
	}
	return b[in : in+n : in+n], nil
}

// rowSize is the size of a block of row r; 0 when it exceeds 64 bits.
func (h *fractal) rowSize(r int) uint64 {
	if r > 0 {
		r--
	}
	if r >= bits.LeadingZeros64(h.start) {
		return 0
	}
	return h.start << r
}

// find runs down the doubling table to the direct block that holds an offset.
func (h *fractal) find(off uint64) (heapSlot, error) {
	if h.root == meta.Undefined {
		return heapSlot{}, h.corrupt("object in an empty heap")
	}
	if h.rootRows == 0 {
		return heapSlot{h.root, 0, h.start, h.rootSize, h.rootMask}, h.rootFits(off)
	}
	addr, rows, base := h.root, h.rootRows, uint64(0)
	for range 64 {
		children, err := h.indirect(addr, rows, base)
		if err != nil {
			return heapSlot{}, err
		}
		row, at := 0, base
		var size uint64
		for ; ; row++ {
			if size = h.rowSize(row); row == rows || size == 0 {
				return heapSlot{}, h.corrupt("offset %d lies outside of the heap", off)
			}
			hi, whole := bits.Mul64(size, h.width)
			if hi != 0 || off-at < whole {
				break
			}
			at += whole
		}
		column := (off - at) / size
		at += column * size
		slot := heapSlot{offset: int64(at), size: size}
		directEntry := h.f.OffsetSize
		if h.filters != nil {
			directEntry += h.f.LengthSize + 4
		}
		n := row*int(h.width) + int(column)
		d := h.f.Decode(children, addr, "fractal heap indirect block")
		if row < h.directRows {
			d.Skip(n * directEntry)
			slot.addr = d.Addr()
			if h.filters != nil {
				slot.stored, slot.mask = d.Size(), d.U32()
			}
			if err := d.Err(); err != nil {
				return slot, err
			}
			if slot.addr == meta.Undefined {
				return slot, h.corrupt("object at %d is in a block that is not there", off)
			}
			return slot, nil
		}
		direct := h.directRows * int(h.width)
		d.Skip(direct*directEntry + (n-direct)*h.f.OffsetSize)
		child := d.Addr()
		if err := d.Err(); err != nil {
			return slot, err
		}
		if child == meta.Undefined {
			return slot, h.corrupt("object at %d is in a block that is not there", off)
		}
		addr, base = child, at
		rows = bits.TrailingZeros64(size) - bits.TrailingZeros64(h.start) - bits.TrailingZeros64(h.width) + 1
		if rows <= 0 {
			return slot, h.corrupt("indirect block without rows")
		}
	}
	return heapSlot{}, h.corrupt("indirect blocks nested too deep")
}

func (h *fractal) rootFits(off uint64) error {
	if off >= h.start {
		return h.corrupt("offset %d in a heap of one block of %d", off, h.start)
	}
	return nil
}

// indirect returns the children of an indirect block.
func (h *fractal) indirect(addr int64, rows int, base uint64) ([]byte, error) {
	if b, ok := h.ind[addr]; ok {
		return b, nil
	}
	f := h.f
	entry := int64(f.OffsetSize)
	if h.filters != nil {
		entry += int64(f.LengthSize + 4)
	}
	direct := int64(min(rows, h.directRows)) * int64(h.width)
	inner := int64(max(rows-h.directRows, 0)) * int64(h.width)
	head := int64(5 + f.OffsetSize + h.offBytes)
	n := head + direct*entry + inner*int64(f.OffsetSize)
	b, err := f.View(addr, n+4, "fractal heap indirect block")
	if err != nil {
		return nil, err
	}
	d := f.Decode(b, addr, "fractal heap indirect block")
	if err := h.blockHead(&d, "FHIB", base); err != nil {
		return nil, err
	}
	d.Skip(int(n) - d.Pos)
	if err := d.Checksum(); err != nil {
		return nil, err
	}
	if len(h.ind) >= 64 {
		clear(h.ind)
	}
	h.ind[addr] = b[head:n]
	return b[head:n], nil
}

func (h *fractal) blockHead(d *meta.Decoder, magic string, base uint64) error {
	if err := d.Magic(magic); err != nil {
		return err
	}
	if err := d.Version(0); err != nil {
		return err
	}
	if a := d.Addr(); a != h.addr {
		return d.Corrupt("belongs to the heap at %d, not %d", a, h.addr)
	}
	if o := d.Uint(h.offBytes); o != base {
		return d.Corrupt("block offset is %d, not %d", o, base)
	}
	return d.Err()
}

// direct returns a verified direct block.
func (h *fractal) direct(s heapSlot) ([]byte, error) {
	if h.last.addr == s.addr {
		return h.last.data, nil
	}
	f := h.f
	const what = "fractal heap direct block"
	n := int64(s.size)
	if h.filters != nil {
		n = s.stored
	}
	b, err := f.View(s.addr, n, what)
	if err != nil {
		return nil, err
	}
	if h.filters != nil {
		if b, err = unfilter(h.filters, s.mask, b, int(s.size)); err != nil {
			return nil, err
		}
	}
	d := f.Decode(b, s.addr, what)
	if err := h.blockHead(&d, "FHDB", uint64(s.offset)); err != nil {
		return nil, err
	}
	if h.checksums {
		if err := blockChecksum(&d); err != nil {
			return nil, err
		}
	}
	h.last = heapBlock{s.addr, b}
	return b, nil
}

// blockChecksum verifies a direct block, whose checksum counts its own field as 0.
func blockChecksum(d *meta.Decoder) error {
	at := d.Pos
	stored := d.U32()
	if err := d.Err(); err != nil {
		return err
	}
	c := append([]byte(nil), d.Data...)
	clear(c[at : at+4])
	if sum := codecs.Lookup3(c); sum != stored && !d.File.NoSums {
		return d.CorruptAt(0, "checksum is %08x, stored %08x", sum, stored)
	}
	return nil
}
