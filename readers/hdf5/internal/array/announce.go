package array

import (
	"slices"

	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/storage"
)

// Announce passes to the file where rows [lo, hi) are, except those that w keeps decoded.
func (a *Array) Announce(w *Buffers, lo, hi int64) {
	if _, ok := storage.As[storage.Announcer](a.File.in); !ok || hi <= lo || a.ready() != nil {
		return // errors come with the reads
	}
	if a.base != nil {
		a.announceTurned(w, lo, hi)
		return
	}
	storage.Announce(a.File.in, func(yield func(storage.Range) bool) {
		l := &a.Set.Layout
		if l.Class == dataset.Contiguous && l.Addr != meta.Undefined && a.pieces == nil {
			yield(storage.Range{Off: l.Addr + lo*a.RowBytes, Len: (hi - lo) * a.RowBytes})
		}
		c := a.chunks
		if c == nil {
			return
		}
		for row := lo / c.dims[0]; row*c.dims[0] < hi; row++ {
			if w.keeps(a, row*c.dims[0]) {
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

// announceTurned passes where the parts of rows [lo, hi) are, of which a part is taken or
// whose axes are turned.
func (a *Array) announceTurned(w *Buffers, lo, hi int64) {
	if at, n, ok := a.stretch(lo, hi); ok {
		a.base.Announce(w, at, at+n)
	} else if a.base.chunks != nil {
		if start, end := a.block(lo); w.keeps(a, start) {
			lo = end
		}
		if lo >= hi {
			return
		}
		jobs, _ := a.chunkJobs(w, lo, hi)
		storage.Announce(a.File.in, func(yield func(storage.Range) bool) {
			for i := range jobs {
				if !yield(storage.Range{Off: jobs[i].Addr, Len: jobs[i].Size}) {
					return
				}
			}
		})
	}
}

// keeps reports whether the row of chunks that begins with a row is kept.
func (w *Buffers) keeps(a *Array, row int64) bool {
	return slices.ContainsFunc(w.kept, func(k kept) bool { return k.a == a && k.row == row })
}
