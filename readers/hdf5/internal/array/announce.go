package array

import (
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage"
)

// Announce tells the file where rows [lo, hi) are, except those that w keeps decoded.
func (a *Array) Announce(w *Buffers, lo, hi int64) {
	if _, ok := storage.As[storage.Announcer](a.File.in); !ok || hi <= lo || a.base != nil || a.ready() != nil {
		return // errors come with the reads
	}
	storage.Announce(a.File.in, func(yield func(storage.Range) bool) {
		l := &a.Set.Layout
		if l.Class == h5.Contiguous && l.Addr != h5.Undefined && a.pieces == nil {
			yield(storage.Range{Off: l.Addr + lo*a.RowBytes, Len: (hi - lo) * a.RowBytes})
		}
		c := a.chunks
		if c == nil {
			return
		}
		for row := lo / c.dims[0]; row*c.dims[0] < hi; row++ {
			if w.keeps(c, row) {
				continue
			}
			for n := row * c.inner; n < (row+1)*c.inner; n++ {
				k, ok := c.table.Get(n)
				if !ok {
					continue
				}
				r := storage.Range{Off: k.Addr, Len: k.Size}
				if c.direct && c.stored(job{k, n}) { // only the rows are read
					first := max(lo-row*c.dims[0], 0)
					r.Off, r.Len = k.Addr+first*a.RowBytes, (min(hi-row*c.dims[0], c.dims[0])-first)*a.RowBytes
				}
				if !yield(r) {
					return
				}
			}
		}
	})
}

func (w *Buffers) keeps(c *chunks, row int64) bool {
	for i := range w.kept {
		if w.kept[i].c == c && w.kept[i].row == row {
			return true
		}
	}
	return false
}
