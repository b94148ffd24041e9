package h5

// Heap reads variable-length data. Parsed collections stay in a bounded cache, as
// neighbouring elements share them. A Heap belongs to one goroutine; make one per
// worker.
type Heap struct {
	f *File
	heapState
}

// NewHeap returns a reader that keeps up to cacheBytes of collections; 0 means 8
// MiB.
func (f *File) NewHeap(cacheBytes int64) *Heap { return newHeap(f, cacheBytes) }

// RefSize is the bytes of a variable-length element in the file: u32 count,
// address, u32 index.
func (f *File) RefSize() int { return 8 + f.OffsetSize }

// View returns the data of the variable-length element at the start of ref: count
// base elements of baseSize bytes each. It is valid until the next call.
func (h *Heap) View(ref []byte, baseSize int) (data []byte, err error) { return h.view(ref, baseSize) }

// Append appends the data of one element to dst. It does not allocate beyond the
// growth of dst while collections are in the cache.
func (h *Heap) Append(dst, ref []byte, baseSize int) ([]byte, error) {
	b, err := h.view(ref, baseSize)
	if err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

// Count returns the number of base elements of the element at the start of ref
// without touching the heap.
func (h *Heap) Count(ref []byte) int64 { return h.count(ref) }

// Object returns one heap object, valid until the next call: what a region
// reference (address, u32 index) leads to.
func (h *Heap) Object(addr int64, index uint32) ([]byte, error) { return h.object(addr, index) }

// Address turns an address stored in data (an object reference, the start of a
// region reference) into an offset of this file: Undefined for all ones and for 0,
// the null reference.
func (f *File) Address(raw []byte) (int64, error) { return f.address(raw) }
