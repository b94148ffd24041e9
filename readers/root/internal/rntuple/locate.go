package rntuple

import "github.com/shardify/shardify"

// want queues the pages of elements in of a slot, to be decoded to dst.
func (r *Reader) want(slot, part int, per int64, in span, dst []byte, t task) error {
	if in.lo == in.hi {
		return nil
	}
	n := r.s.n
	c := &n.Clusters[r.parts[part].cluster]
	id, err := n.choose(slot, c)
	if err != nil {
		return err
	}
	ch := c.chunk(id)
	lead, err := n.lead(&n.Columns[id], c, ch, per)
	if err != nil {
		return err
	}
	if in.hi > lead+ch.elements {
		return n.columnError(id, shardify.Corrupt(-1, "elements up to %d wanted in cluster from entry %d, %d are stored", in.hi, c.FirstEntry, lead+ch.elements))
	}
	width := int64(len(dst)) / (in.hi - in.lo)
	if in.lo < lead {
		zero := min(in.hi, lead) - in.lo
		clear(dst[:zero*width])
		dst, in.lo = dst[zero*width:], in.lo+zero
	}
	in.lo, in.hi = in.lo-lead, in.hi-lead
	t.column = id
	for i := ch.search(c, in.lo); in.lo < in.hi; i++ {
		t.page = &c.pages[i]
		t.from = int(in.lo - t.page.first)
		t.to = int(min(in.hi-t.page.first, int64(t.page.n)))
		t.dst = dst[:int64(t.to-t.from)*width]
		dst = dst[len(t.dst):]
		in.lo += int64(t.to - t.from)
		if t.to == t.from { // an empty page
			continue
		}
		if t.page.offset < 0 {
			return n.columnError(id, shardify.Unsupported("page stored outside of the file"))
		}
		if n.maxKey > 0 && uint64(t.page.size) > n.maxKey {
			return n.columnError(id, shardify.Unsupported("page of %d bytes is stored in several pieces (each at most %d)", t.page.size, n.maxKey))
		}
		if raw := t.page.rawBytes(&n.Columns[id]); raw > t.page.size && raw > r.limit() {
			return n.columnError(id, shardify.Unsupported("compressed page of %d bytes in a read of at most %d", raw, r.limit()))
		}
		r.queue.tasks = append(r.queue.tasks, t)
	}
	return nil
}

// stored checks that the columns of a list's items have so many in a cluster, before memory is
// taken for them. None of them is deferred.
func (s *selection) stored(n *node, c *clusterRange, items int64) error {
	for i, slot := range n.slots {
		id, err := s.n.choose(slot, c)
		if err != nil {
			return err
		}
		if have := c.chunk(id).elements; mul(items, n.perSlot[i]) > have {
			return s.n.columnError(id, shardify.Corrupt(-1, "%d items of %d elements in the cluster from entry %d, %d elements are stored", items, n.perSlot[i], c.FirstEntry, have))
		}
	}
	return nil
}

// search finds the page of a stored element.
func (ch *chunk) search(c *clusterRange, element int64) int {
	lo, hi := ch.lo, ch.hi
	for lo < hi {
		mid := (lo + hi) / 2
		if p := &c.pages[mid]; p.first+int64(p.n) <= element {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// choose takes the representation that a cluster has.
func (n *Ntuple) choose(slot int, c *clusterRange) (column int, err error) {
	missing := -1
	for _, id := range n.slots[slot].columns {
		switch {
		case id >= len(c.chunks):
			if missing < 0 {
				missing = id
			}
		case !c.chunks[id].suppressed:
			return id, nil
		}
	}
	if missing < 0 {
		id := n.slots[slot].columns[0]
		return 0, n.columnError(id, shardify.Corrupt(-1, "all representations are suppressed in the cluster from entry %d", c.FirstEntry))
	}
	return missing, nil
}

// lead is the elements of a column that precede the stored ones in a cluster and
// are zero, because the column was added later. per is its elements per entry, or 0
// if they vary: such columns are never deferred.
func (n *Ntuple) lead(col *Column, c *clusterRange, ch chunk, per int64) (int64, error) {
	if per == 0 {
		return 0, nil
	}
	want := mul(c.Entries, per)
	if ch.elements >= want {
		return 0, nil
	}
	lead := want - ch.elements
	begin := mul(c.FirstEntry, per) + lead // of the stored elements, in the whole column
	if col.First == begin || ch.elements == 0 && col.First > begin {
		return lead, nil
	}
	return 0, n.columnError(col.ID, shardify.Corrupt(-1, "%d elements in the cluster from entry %d, %d are needed; the column begins at element %d", ch.elements, c.FirstEntry, want, col.First))
}

// columnError names the field of a column.
func (n *Ntuple) columnError(column int, err error) error {
	e, ok := err.(*shardify.Error)
	if !ok {
		return err
	}
	c := *e
	c.Field = n.Path(n.Columns[column].Field)
	return &c
}

// Path is the dotted name of a field with nothing hidden.
func (n *Ntuple) Path(field int) string {
	f := &n.Fields[field]
	s := f.Name
	for range maxDepth {
		if f.Parent == f.ID {
			break
		}
		f = &n.Fields[f.Parent]
		s = f.Name + "." + s
	}
	return s
}
