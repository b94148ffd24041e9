package parquet

import (
	"sort"
	"sync"

	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// file is an open file with the columns that are wanted of it.
type file struct {
	f     *rows.Watched
	pq    *pq.File
	cols  []column
	parts []part // of its path

	// The largest page of those that the survey has seen.
	piece      string
	pieceBytes int64

	mu    sync.Mutex
	pages map[chunkID]*known
	means map[int]float64 // by leaf, see dictMean
}

type chunkID struct{ leaf, group int }

// known are the places of some pages of a chunk, found in an offset index or on the
// way, so that readers that start in the middle of a row group need not look at every
// page before.
type known struct {
	pq.Pages
	asked bool // for the offset index
	whole bool // it was there: no page is missing
}

// Close implements io.Closer.
func (f *file) Close() error { return f.f.Close() }

func (f *file) at(id chunkID) *known {
	if f.pages == nil {
		f.pages = map[chunkID]*known{}
	}
	k := f.pages[id]
	if k == nil {
		k = &known{}
		f.pages[id] = k
	}
	return k
}

// place is where a page is, and the one behind it, if that is known.
type place struct {
	off, row         int64
	nextOff, nextRow int64
}

// nearest is the last page known to begin at or before a row.
func (f *file) nearest(leaf, group int, c *pq.Chunk, rows, row int64) (p place, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.at(chunkID{leaf, group})
	if !k.asked {
		k.asked = true
		if p, ok := pq.ReadOffsetIndex(f.f, c, rows); ok {
			k.Pages, k.whole = p, true
		}
	}
	i := sort.Search(len(k.Row), func(i int) bool { return k.Row[i] > row }) - 1
	if i < 0 {
		return p, false
	}
	p = place{off: k.Off[i], row: k.Row[i], nextOff: c.End, nextRow: rows}
	if i+1 < len(k.Row) {
		p.nextOff, p.nextRow = k.Off[i+1], k.Row[i+1]
	} else if !k.whole {
		p.nextOff = 0
	}
	return p, true
}

// maxKnown bounds the pages that are remembered of a chunk.
const maxKnown = 1 << 16

// note remembers where a page is, if it is the first one behind those known.
func (f *file) note(leaf, group int, off, row int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.at(chunkID{leaf, group})
	n := len(k.Off)
	if !k.whole && n < maxKnown && (n == 0 || off > k.Off[n-1] && row > k.Row[n-1]) {
		k.Off, k.Row = append(k.Off, off), append(k.Row, row)
	}
}
