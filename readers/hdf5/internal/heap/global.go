package heap

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// A global heap collection: "GCOL", u8 1, 3 reserved, L size of the collection,
// then objects: u16 index, u16 references, u32 reserved, L size, data. Both heads and the
// data are padded to 8. Index 0 is the free space and ends the list.

// headSize is the length of the head of a collection, and of an object.
func headSize(f *meta.File) int { return (8 + f.LengthSize + 7) &^ 7 }

// Heap reads variable-length data. Parsed collections stay in a bounded cache, as
// neighbouring elements share them. A Heap belongs to one goroutine; make one per
// worker.
type Heap struct {
	f *meta.File
	heapState
}

// heapState is the cache of a Heap.
type heapState struct {
	limit, held int64
	m           map[int64]*collection
	last        *collection
	newest      *collection // ends of the list in order of use
	oldest      *collection
	free        *collection // memory of one that was put out
}

// collection is a parsed collection: where the object of each index is.
type collection struct {
	addr  int64
	data  []byte
	spans []heapSpan // by index; n is -1 for a missing one
	newer *collection
	older *collection
}

type heapSpan struct{ off, n int32 }

// minCollection is the smallest collection, and what is read at first.
const minCollection = 4096

// New returns a reader that keeps up to cacheBytes of collections; 0 means 8
// MiB.
func New(f *meta.File, cacheBytes int64) *Heap {
	if cacheBytes <= 0 {
		cacheBytes = 8 << 20
	}
	return &Heap{f: f, heapState: heapState{limit: cacheBytes, m: map[int64]*collection{}}}
}

// View returns the data of the variable-length element at the start of ref: count
// base elements of baseSize bytes each. It is valid until the next call.
//
// view reads a reference: u32 count, O collection, u32 index.
func (h *Heap) View(ref []byte, baseSize int) ([]byte, error) {
	n := int64(binary.LittleEndian.Uint32(ref)) * int64(baseSize)
	o := h.f.OffsetSize
	addr := h.f.Offset(ref[4 : 4+o])
	// Address 0 is stored for an empty element; it is the base in this file.
	if n == 0 || addr == meta.Undefined || addr == h.f.Base {
		return nil, nil
	}
	b, err := h.Object(addr, binary.LittleEndian.Uint32(ref[4+o:]))
	if err != nil {
		return nil, err
	}
	if n > int64(len(b)) {
		return nil, shardify.Corrupt(addr, "global heap: %d bytes wanted of an object of %d", n, len(b))
	}
	return b[:n:n], nil
}

// Object returns one heap object, valid until the next call: what a region
// reference (address, u32 index) leads to.
func (h *Heap) Object(addr int64, index uint32) ([]byte, error) {
	c := h.last
	if c == nil || c.addr != addr {
		var err error
		if c, err = h.collection(addr); err != nil {
			return nil, h.f.Fail(err, "")
		}
	}
	if index == 0 || int64(index) >= int64(len(c.spans)) || c.spans[index].n < 0 {
		return nil, h.f.Fail(shardify.Corrupt(addr, "global heap: no object %d", index), "")
	}
	s := c.spans[index]
	return c.data[s.off : int64(s.off)+int64(s.n)], nil
}

func (h *Heap) collection(addr int64) (*collection, error) {
	if c := h.m[addr]; c != nil {
		h.unlink(c)
		h.front(c)
		h.last = c
		return c, nil
	}
	c := h.free
	h.free = nil
	if c == nil {
		c = &collection{}
	}
	if err := h.read(c, addr); err != nil {
		return nil, err
	}
	if err := h.parse(c); err != nil {
		return nil, err
	}
	h.front(c)
	h.m[addr] = c
	h.held += c.bytes()
	h.last = c
	for h.held > h.limit && len(h.m) > 1 {
		h.evict()
	}
	return c, nil
}

func (c *collection) bytes() int64 { return int64(cap(c.data)) + 8*int64(cap(c.spans)) }

// evict puts out the collection that was not used for longest.
func (h *Heap) evict() {
	c := h.oldest
	h.unlink(c)
	delete(h.m, c.addr)
	h.held -= c.bytes()
	h.free = c
}

func (h *Heap) front(c *collection) {
	c.older, c.newer = h.newest, nil
	if h.newest != nil {
		h.newest.newer = c
	} else {
		h.oldest = c
	}
	h.newest = c
}

func (h *Heap) unlink(c *collection) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		h.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		h.oldest = c.newer
	}
}

// read loads a collection into c. Most have the smallest size: one read.
func (h *Heap) read(c *collection, addr int64) error {
	f := h.f
	head := int64(headSize(f))
	if err := f.Within(addr, head, "global heap collection"); err != nil {
		return err
	}
	n := min(minCollection, f.Size()-addr)
	c.addr, c.data = addr, resize(c.data, n)
	if err := f.ReadAt(c.data, addr); err != nil {
		return err
	}
	d := f.Decode(c.data, addr, "global heap collection")
	if err := d.Magic("GCOL"); err != nil {
		return err
	}
	if err := d.Version(1); err != nil {
		return err
	}
	d.Skip(3)
	size := d.Size()
	if size < head || size > math.MaxInt32 {
		return d.Corrupt("%d bytes", size)
	}
	if err := f.Within(addr, size, "global heap collection"); err != nil {
		return err
	}
	if size > n {
		whole := resize(nil, size)
		copy(whole, c.data)
		if err := f.ReadAt(whole[n:], addr+n); err != nil {
			return err
		}
		c.data = whole
	}
	c.data = c.data[:size]
	return nil
}

func resize(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func (h *Heap) parse(c *collection) error {
	c.spans = c.spans[:0]
	head := headSize(h.f)
	for at := head; len(c.data)-at >= head; {
		index := int(binary.LittleEndian.Uint16(c.data[at:]))
		if index == 0 {
			break
		}
		n := meta.Uint(c.data[at+8 : at+8+h.f.LengthSize])
		at += head
		if n > uint64(len(c.data)-at) {
			return shardify.Corrupt(c.addr+int64(at), "global heap: object %d of %d bytes reaches past its collection", index, n)
		}
		for len(c.spans) <= index {
			c.spans = append(c.spans, heapSpan{n: -1})
		}
		c.spans[index] = heapSpan{int32(at), int32(n)}
		at += (int(n) + 7) &^ 7
	}
	return nil
}
