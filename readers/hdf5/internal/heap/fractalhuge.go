package heap

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/readers/hdf5/internal/btree"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// hugeRecord is an object of a fractal heap that is too large for its blocks and has a
// place of its own in the file.
type hugeRecord struct {
	addr, stored int64
	mask         uint32
	size         int64 // after decoding
}

// hugeObject reads the rest of a heap ID of kind 1: the place itself, when it
// fits, else a key into the huge B-tree.
func (h *fractal) hugeObject(d *meta.Decoder) ([]byte, error) {
	f := h.f
	room := f.OffsetSize + f.LengthSize
	if h.filters != nil {
		room += 4 + f.LengthSize
	}
	if h.idLength-1 >= room {
		return h.readHuge(h.hugeFields(d))
	}
	key := d.Uint(min(8, h.idLength-1))
	if err := d.Err(); err != nil {
		return nil, err
	}
	if h.huge == nil {
		if err := h.readHugeTree(); err != nil {
			return nil, err
		}
	}
	r, ok := h.huge[key]
	if !ok {
		return nil, h.corrupt("no huge object with ID %d", key)
	}
	return h.readHuge(r, nil)
}

func (h *fractal) hugeFields(d *meta.Decoder) (r hugeRecord, err error) {
	r.addr, r.stored = d.Addr(), d.Size()
	r.size = r.stored
	if h.filters != nil {
		r.mask, r.size = d.U32(), d.Size()
	}
	return r, d.Err()
}

func (h *fractal) readHugeTree() error {
	kind := uint8(btree.RecHuge)
	if h.filters != nil {
		kind = btree.RecHugeFiltered
	}
	huge := map[uint64]hugeRecord{}
	err := btree.WalkV2(h.f, h.hugeTree, []uint8{kind}, func(_ uint8, rec []byte) error {
		d := h.f.Decode(rec, -1, "huge object record")
		r, err := h.hugeFields(&d)
		if err != nil {
			return err
		}
		huge[d.Length()] = r
		return d.Err()
	})
	if err == nil {
		h.huge = huge
	}
	return err
}

func (h *fractal) readHuge(r hugeRecord, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	b, err := h.f.View(r.addr, r.stored, "huge heap object")
	if err != nil || h.filters == nil {
		return b, err
	}
	if r.size > meta.MaxMeta {
		return nil, shardify.Unsupported("huge heap object of %d bytes", r.size)
	}
	return unfilter(h.filters, r.mask, b, int(r.size))
}

// unfilter undoes the pipeline of a heap. Only deflate has been seen there.
func unfilter(filters []Filter, mask uint32, b []byte, size int) ([]byte, error) {
	if size/1032 > len(b)+1 { // more than deflate can make of it
		return nil, shardify.Corrupt(-1, "%d bytes of a heap stored in %d", size, len(b))
	}
	for i := len(filters) - 1; i >= 0; i-- {
		if mask&(1<<i) != 0 {
			continue
		}
		switch filters[i].ID {
		case filterDeflate:
			out := make([]byte, size)
			n, _, err := inflate.Zlib(out, b)
			if err != nil {
				return nil, shardify.Corrupt(-1, "filtered heap block: %v", err)
			}
			b = out[:n]
		default:
			return nil, shardify.Unsupported("heap filtered with %d", filters[i].ID)
		}
	}
	if len(b) != size {
		return nil, shardify.Corrupt(-1, "filtered heap block has %d bytes, not %d", len(b), size)
	}
	return b, nil
}
