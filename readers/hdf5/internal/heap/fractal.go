package heap

import (
	"math"
	"math/bits"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// A fractal heap stores objects in blocks that double in size row by row:
//
//	header "FRHP", u8 0, u16 ID length, u16 filter length F, u8 flags (bit 1: direct blocks have checksums),
//	       u32 max managed size, L next huge ID, O huge B-tree, L free, O free manager, L managed, L allocated,
//	       L iterator, L objects, L huge size, L huge count, L tiny size, L tiny count, u16 width W, L start S,
//	       L largest direct block M, u16 heap bits H, u16 rows at start, O root block, u16 rows of the root,
//	       [F: L size of the root block, u32 mask, filter pipeline], u32 lookup3
//	direct   "FHDB", u8 0, O header, block offset, [u32 lookup3], objects
//	indirect "FHIB", u8 0, O header, block offset, children, u32 lookup3
//
// Offsets of objects count a block from its signature on. A row r holds W blocks
// of S bytes (r = 0, 1) or S x 2^(r-1).
type fractal struct {
	f    *meta.File
	addr int64

	idLength   int
	checksums  bool
	maxManaged uint64
	hugeTree   int64
	width      uint64
	start      uint64
	maxDirect  uint64
	offBytes   int // of a heap offset
	lenBytes   int // of an object length
	directRows int
	root       int64
	rootRows   int

	filters  []Filter // of direct blocks and huge objects
	rootSize int64    // filtered root direct block
	rootMask uint32

	mu   sync.Mutex
	last heapBlock // the direct block used last, verified and decoded
	huge map[uint64]hugeRecord
	ind  map[int64][]byte // children of verified indirect blocks
}

// heapBlock is a direct block in memory.
type heapBlock struct {
	addr int64
	data []byte
}

// heapSlot is a direct block found in the doubling table.
type heapSlot struct {
	addr, offset int64 // in the file, in the heap
	size         uint64
	stored       int64 // filtered: bytes in the file
	mask         uint32
}

// maxHeaps bounds the heaps kept open; heaps belong to objects, which are many.
const maxHeaps = 32

// Fractals are the heaps of a file that are open. The zero value is ready.
type Fractals struct {
	mu   sync.Mutex
	open map[int64]*fractal // by address
}

// At returns the heap at an address.
func (c *Fractals) At(f *meta.File, addr int64) (*fractal, error) {
	c.mu.Lock()
	h := c.open[addr]
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	h, err := readFractal(f, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxHeaps || c.open == nil {
		c.open = map[int64]*fractal{}
	}
	c.open[addr] = h
	return h, nil
}

func readFractal(f *meta.File, addr int64) (*fractal, error) {
	fixed := int64(26 + 12*f.LengthSize + 3*f.OffsetSize)
	b, err := f.View(addr, fixed, "fractal heap")
	if err != nil {
		return nil, err
	}
	filterLength := int64(meta.Uint(b[7:9]))
	if filterLength > 0 {
		fixed += int64(f.LengthSize) + 4 + filterLength
		if b, err = f.View(addr, fixed, "fractal heap"); err != nil {
			return nil, err
		}
	}
	d := f.Decode(b, addr, "fractal heap")
	if err := d.Magic("FRHP"); err != nil {
		return nil, err
	}
	if err := d.Version(0); err != nil {
		return nil, err
	}
	h := &fractal{f: f, addr: addr, ind: map[int64][]byte{}, last: heapBlock{addr: meta.Undefined}}
	h.idLength = int(d.U16())
	d.Skip(2)
	h.checksums = d.U8()&2 != 0
	h.maxManaged = uint64(d.U32())
	d.Length()
	h.hugeTree = d.Addr()
	d.Length()
	d.Addr()
	d.Skip(8 * f.LengthSize)
	h.width, h.start, h.maxDirect = uint64(d.U16()), d.Length(), d.Length()
	heapBits := int(d.U16())
	d.Skip(2)
	h.root, h.rootRows = d.Addr(), int(d.U16())
	var filterBytes []byte
	if filterLength > 0 {
		h.rootSize, h.rootMask = d.Size(), d.U32()
		filterBytes = d.Bytes(int(filterLength))
	}
	if err := d.Checksum(); err != nil {
		return nil, err
	}
	if filterLength > 0 {
		if h.filters, err = ParseFilters(f, filterBytes, addr+int64(d.Pos)-4-filterLength); err != nil {
			return nil, err
		}
	}
	return h, h.geometry(&d, heapBits)
}

func (h *fractal) geometry(d *meta.Decoder, heapBits int) error {
	power := func(v uint64) bool { return bits.OnesCount64(v) == 1 }
	if h.width == 0 || !power(h.width) || !power(h.start) || !power(h.maxDirect) || h.maxDirect < h.start || h.maxDirect > meta.MaxMeta || heapBits > 64 || heapBits == 0 {
		return d.Corrupt("width %d, blocks of %d to %d bytes, %d bits", h.width, h.start, h.maxDirect, heapBits)
	}
	h.offBytes = (heapBits + 7) / 8
	h.lenBytes = min(meta.Width(h.maxDirect), meta.Width(h.maxManaged))
	h.directRows = bits.TrailingZeros64(h.maxDirect) - bits.TrailingZeros64(h.start) + 2
	if most := heapBits - bits.TrailingZeros64(h.start) - bits.TrailingZeros64(h.width) + 1; h.rootRows > most {
		return d.Corrupt("%d rows, at most %d", h.rootRows, most)
	}
	return nil
}

// Object returns the object of a heap ID. It must not be written to.
func (h *fractal) Object(id []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.f.Decode(id, -1, "heap ID")
	first := d.U8()
	if first>>6 != 0 {
		return nil, h.corrupt("ID of version %d", first>>6)
	}
	switch first >> 4 & 3 {
	case 0:
		off, n := d.Uint(h.offBytes), d.Uint(h.lenBytes)
		if err := d.Err(); err != nil {
			return nil, err
		}
		return h.managed(off, n)
	case 1:
		return h.hugeObject(&d)
	case 2:
		n := int(first&15) + 1
		if h.idLength > 17 {
			n = int(first&15)<<8 | int(d.U8()) + 1
		}
		b := d.Bytes(n)
		return b, d.Err()
	}
	return nil, h.corrupt("ID of kind %d", first>>4&3)
}

func (h *fractal) corrupt(format string, args ...any) error {
	return shardify.Corrupt(h.addr, "fractal heap: "+format, args...)
}

// Place orders heap IDs by where their objects are.
func (h *fractal) Place(id []byte) uint64 {
	if id[0]>>4&3 != 0 || len(id) < 1+h.offBytes {
		return math.MaxUint64
	}
	return meta.Uint(id[1 : 1+h.offBytes])
}
