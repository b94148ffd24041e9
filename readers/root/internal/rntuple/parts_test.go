package rntuple

import (
	"iter"

	"github.com/shardify/shardify"
)

// Part is entries [Lo, Hi) that are well read together, and the bytes of their columns as
// far as the metadata give them.
type Part struct{ Lo, Hi, Bytes int64 }

// Parts cuts all entries into parts of about target bytes: whole clusters, several
// small ones together, and pieces of large ones as Inside says.
func (s *selection) Parts(target int64) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		inside := s.Inside(target)
		var p Part
		flush := func() bool {
			ok := p.Hi == p.Lo || yield(p)
			p = Part{Lo: p.Hi, Hi: p.Hi}
			return ok
		}
		for i := range s.n.Clusters {
			c := &s.n.Clusters[i]
			b := s.Bytes(i)
			if p.Bytes+b > target && !flush() {
				return
			}
			pieces := (c.Entries + inside - 1) / inside
			if b <= target || pieces <= 1 {
				p.Hi += c.Entries
				p.Bytes += b
				continue
			}
			for k := range pieces {
				// Two steps, since entries times pieces may overflow.
				each, more := c.Entries/pieces, c.Entries%pieces
				p.Hi = c.FirstEntry + each*(k+1) + min(k+1, more)
				p.Bytes = b / pieces
				if !flush() {
					return
				}
			}
		}
		flush()
	}
}

// Fields returns what Read delivers, in order.
func (s *selection) Fields() []shardify.Field {
	all := make([]shardify.Field, len(s.flats))
	for i, f := range s.flats {
		all[i] = f.Field
	}
	return all
}

// Extent is the place of a page in the file, with its checksum.
type Extent struct {
	Offset, Size  int64
	Column, Index int // the Index-th page of the column in the cluster
}

// Extents lists the pages of the columns in a cluster, in the order of the columns.
// Columns that are suppressed or not there have none.
func (n *Ntuple) Extents(cluster int, columns []int) []Extent {
	var all []Extent
	c := &n.Clusters[cluster]
	for _, id := range columns {
		ch := c.chunk(id)
		for i, p := range c.pages[ch.lo:ch.hi] {
			all = append(all, Extent{p.offset, p.disk(), id, i})
		}
	}
	return all
}
