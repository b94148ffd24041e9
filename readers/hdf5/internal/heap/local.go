package heap

import (
	"bytes"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Local holds the names of an old-style group: "HEAP", u8 0, 3 reserved, L
// data size, L free list, O data. Names are NUL-ended, at offsets into the data.
type Local struct {
	f          *meta.File
	addr, data int64
	size       int64
	whole      string // all data, when small enough to be read at once
}

// maxWholeHeap is the largest local heap that is read as one piece; names of
// larger ones are read one by one.
const maxWholeHeap = 16 << 20

// maxName bounds a single name or path.
const maxName = 1 << 20

// OpenLocal reads the header of a local heap.
func OpenLocal(f *meta.File, addr int64) (*Local, error) {
	b, err := f.View(addr, int64(8+2*f.LengthSize+f.OffsetSize), "local heap")
	if err != nil {
		return nil, err
	}
	d := f.Decode(b, addr, "local heap")
	if err := d.Magic("HEAP"); err != nil {
		return nil, err
	}
	if err := d.Version(0); err != nil {
		return nil, err
	}
	d.Skip(3)
	h := &Local{f: f, addr: addr, size: d.Size()}
	d.Length()
	h.data = d.Addr()
	if err := d.Err(); err != nil {
		return nil, err
	}
	if h.size == 0 {
		return h, nil
	}
	if err := f.Within(h.data, h.size, "local heap data"); err != nil {
		return nil, err
	}
	if h.size <= maxWholeHeap {
		b, err := f.View(h.data, h.size, "local heap data")
		if err != nil {
			return nil, err
		}
		h.whole = string(b)
	}
	return h, nil
}

// Text returns the string at an offset into the data.
func (h *Local) Text(off uint64) (string, error) {
	if off >= uint64(h.size) {
		return "", shardify.Corrupt(h.addr, "local heap: offset %d in %d bytes", off, h.size)
	}
	at := int64(off)
	if h.whole != "" {
		for i := at; i < h.size; i++ {
			if h.whole[i] == 0 {
				return h.whole[at:i], nil
			}
		}
		return "", shardify.Corrupt(h.data+at, "local heap: name without an end")
	}
	for n := int64(128); ; n *= 8 {
		n = min(n, h.size-at, maxName)
		b, err := h.f.View(h.data+at, n, "local heap data")
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(b[:i]), nil
		}
		if n == h.size-at || n == maxName {
			return "", shardify.Corrupt(h.data+at, "local heap: name without an end in %d bytes", n)
		}
	}
}
