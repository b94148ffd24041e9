package rntuple

import "github.com/shardify/shardify"

// clusterSharded marks clusters that hold a part of the columns only.
const clusterSharded = 1

// parsePageList appends the clusters of one group.
func (n *Ntuple) parsePageList(b []byte, headerSum uint64) error {
	c := newCursor(b)
	if sum := c.u64(); c.err == nil && sum != headerSum {
		return shardify.Corrupt(-1, "header checksum %016x, the header has %016x", sum, headerSum)
	}
	in, clusters := c.list(8 + 16)
	have := len(n.Clusters)
	for range clusters {
		r := in.record()
		cl := clusterRange{FirstEntry: r.place(r.u64())}
		w := r.u64()
		cl.Entries = int64(w & (1<<56 - 1))
		switch {
		case r.err != nil:
		case w>>56&clusterSharded != 0:
			return shardify.Unsupported("sharded clusters")
		case cl.Entries > maxElements || cl.FirstEntry > maxElements:
			r.fail("cluster of %d entries from %d", cl.Entries, cl.FirstEntry)
		}
		in.join(&r)
		n.Clusters = append(n.Clusters, cl)
	}
	c.join(&in)
	outer, items := c.list(12)
	if c.err == nil && items != clusters {
		c.fail("pages of %d clusters, %d are listed", items, clusters)
	}
	for i := range items {
		if c.err == nil && outer.err == nil {
			n.parseCluster(&outer, &n.Clusters[have+i])
		}
	}
	c.join(&outer)
	if c.err != nil {
		return c.err
	}
	return nil
}

func (n *Ntuple) parseCluster(c *cursor, cl *clusterRange) {
	columns, items := c.list(12 + 8)
	if columns.err == nil && items > len(n.Columns) {
		columns.fail("pages of %d columns, there are %d", items, len(n.Columns))
		items = 0
	}
	cl.chunks = make([]chunk, 0, items)
	for range items {
		cl.chunks = append(cl.chunks, n.parseChunk(&columns, cl))
	}
	c.join(&columns)
}

// parseChunk reads the pages of one column; behind them, still inside of the list
// frame, follow the element offset and the compression settings.
func (n *Ntuple) parseChunk(c *cursor, cl *clusterRange) chunk {
	pages, items := c.list(4 + 4)
	ch := chunk{lo: len(cl.pages)}
	for range items {
		p := page{n: int32(pages.u32()), first: ch.elements}
		if p.summed = p.n < 0; p.summed {
			p.n = -p.n
		}
		p.offset, p.size = pages.locator()
		switch {
		case pages.err != nil:
		case p.n < 0:
			pages.fail("page of -2^31 elements")
		case p.offset > n.size || p.offset >= 0 && p.disk() > n.size-p.offset:
			pages.fail("page of %d bytes at %d lies outside of the file's %d", p.disk(), p.offset, n.size)
		}
		ch.elements += int64(p.n)
		cl.pages = append(cl.pages, p)
	}
	ch.hi = len(cl.pages)
	// Settings follow only an offset that is not negative; they say nothing that
	// the pages do not.
	ch.suppressed = int64(pages.u64()) < 0
	if ch.suppressed && items > 0 {
		pages.fail("suppressed column with %d pages", items)
	}
	c.join(&pages)
	return ch
}
