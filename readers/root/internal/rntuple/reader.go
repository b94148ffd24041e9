package rntuple

import (
	"context"
	"math"

	"github.com/shardify/shardify"
)

// Reader reads a selection. Its buffers are kept from one Read to the next; use it
// from one goroutine at a time, and several readers at once.
type Reader struct {
	// Limit bounds the memory of one Read: more is an error, for a small file can
	// claim any number of elements. 0 means 256 MiB and 1024 times the file's size.
	Limit int64
	// Jobs is the number of goroutines that decode pages; 0 means one.
	Jobs int

	s      *Selection
	mem    *shardify.Arena
	used   int64
	parts  []part
	nodes  []nodeState
	items  []itemState
	ranges []span // of all nodes, one after the other
	queue  queue
}

// part is what a Read takes of one cluster.
type part struct {
	cluster int
	whole   bool
}

// span is elements [lo, hi) of a node in one cluster.
type span struct{ lo, hi int64 }

type nodeState struct {
	count int64  // elements in all parts
	in    []span // by part
	// known: in and count are, from the page lists (when clusters are read whole)
	// or from decoded offsets. asked: the offsets are in the queue. done: they are
	// decoded and checked.
	known, asked, done bool
	off                []int64 // of levels; for other nodes while they are decoded
	tags               []byte  // switch elements
	valid              []byte  // of presences: by entry
}

type itemState struct {
	data  []byte
	asked bool
}

// Reader returns a new reader.
func (s *Selection) Reader() *Reader { return &Reader{s: s} }

// Read appends the columns of entries [lo, hi), decoded into mem, to columns. Those
// that share a list share its offsets. All that is read is verified; after an error
// nothing is appended.
func (r *Reader) Read(ctx context.Context, lo, hi int64, mem *shardify.Arena, columns []shardify.Column) ([]shardify.Column, error) {
	n := r.s.n
	if lo < 0 || hi < lo || hi > n.Entries {
		return columns, n.annotate(shardify.Mismatch("entries [%d, %d) of %d", lo, hi, n.Entries))
	}
	r.begin(lo, hi, mem)
	for {
		if err := r.ask(); err != nil {
			return columns, n.annotate(err)
		}
		if err := r.queue.run(ctx, n, r.Jobs); err != nil {
			return columns, n.annotate(err)
		}
		more, err := r.finish()
		if err != nil {
			return columns, n.annotate(err)
		}
		if !more {
			break
		}
	}
	return r.assemble(columns)
}

// begin sets the state up. When all clusters are read whole, the page lists say how
// many elements each node has, so that everything can be asked for in one round and
// read in the order of the file. Else each level needs the offsets of the one above.
func (r *Reader) begin(lo, hi int64, mem *shardify.Arena) {
	r.mem, r.used = mem, 0
	r.parts = r.parts[:0]
	r.queue.tasks = r.queue.tasks[:0]
	r.nodes = reuse(r.nodes, len(r.s.nodes))
	r.items = reuse(r.items, len(r.s.items))
	whole := true
	var entries []span
	for i := r.s.n.clusterOf(lo); lo < hi; i++ {
		c := &r.s.n.Clusters[i]
		end := min(hi, c.FirstEntry+c.Entries)
		if end == lo { // a cluster of nothing
			continue
		}
		p := part{i, end-lo == c.Entries}
		whole = whole && p.whole
		r.parts = append(r.parts, p)
		entries = append(entries, span{lo - c.FirstEntry, end - c.FirstEntry})
		r.nodes[0].count += end - lo
		lo = end
	}
	r.ranges = reuse(r.ranges, len(r.parts)*len(r.nodes))
	for i := range r.nodes {
		r.nodes[i].in = r.ranges[i*len(r.parts):][:len(r.parts)]
	}
	copy(r.nodes[0].in, entries)
	r.nodes[0].known, r.nodes[0].done = true, true
	if whole {
		r.predict()
	}
}

func reuse[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// clusterOf is the cluster that holds an entry, or the number of clusters.
func (n *Ntuple) clusterOf(entry int64) int {
	lo, hi := 0, len(n.Clusters)
	for lo < hi {
		mid := (lo + hi) / 2
		if c := &n.Clusters[mid]; c.FirstEntry+c.Entries <= entry {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (r *Reader) predict() {
	for i := 1; i < len(r.nodes); i++ {
		n, st := &r.s.nodes[i], &r.nodes[i]
		for p := range r.parts {
			if n.kind == array {
				st.in[p].hi = mul(r.nodes[n.parent].in[p].hi, n.n)
			} else {
				st.in[p].hi = r.s.guess(n, &r.s.n.Clusters[r.parts[p].cluster])
			}
			st.count += st.in[p].hi
		}
		st.known = true
	}
}

// alloc is memory from the arena, within the limit. Its content is undefined.
func (r *Reader) alloc(n, size int64) ([]byte, error) {
	limit := r.Limit
	if limit == 0 {
		limit = 256<<20 + min(r.s.n.size, 1<<40)*1024
	}
	if size > 0 && n > (limit-r.used)/size {
		return nil, shardify.Unsupported("%d elements of %d bytes beside %d bytes in a read of at most %d", n, size, r.used, limit)
	}
	r.used += n * size
	return r.mem.Alloc(int(n * size)), nil
}

func (r *Reader) int64s(n int64) ([]int64, error) {
	b, err := r.alloc(n, 8)
	return shardify.View[int64](b), err
}

// ask queues all offsets and values whose place is known by now.
func (r *Reader) ask() error {
	for i := 1; i < len(r.nodes); i++ {
		st, p := &r.nodes[i], &r.nodes[r.s.nodes[i].parent]
		if st.asked || !p.known {
			continue
		}
		st.asked = true
		if err := r.askNode(&r.s.nodes[i], st, p); err != nil {
			return err
		}
	}
	for i := range r.items {
		it := &r.s.items[i]
		st := &r.nodes[it.node]
		if r.items[i].asked || !st.known {
			continue
		}
		r.items[i].asked = true
		if it.leaf.kind == counts {
			continue
		}
		if err := r.askValues(i, it, st); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) askNode(n *node, st, parent *nodeState) (err error) {
	if st.off, err = r.int64s(parent.count + 1); err != nil {
		return err
	}
	st.off[0] = 0
	if n.kind == array {
		return nil
	}
	dst := shardify.Bytes(st.off)
	width := 8
	kind := indexTask
	if n.kind == alt {
		width, kind = columnTypes[Switch].width, nativeTask
		if st.tags, err = r.alloc(parent.count, int64(width)); err != nil {
			return err
		}
		dst = st.tags
	} else {
		dst = dst[width:]
	}
	for p, in := range parent.in {
		lo, hi := in.lo, in.hi
		to := dst[:int(hi-lo)*width]
		dst = dst[len(to):]
		if lo > 0 && kind == indexTask {
			// The item before ends where the first of ours begins. Only the first
			// part can begin inside of a cluster, and there off[0] is free for it.
			lo--
			to = shardify.Bytes(st.off)[:int(hi-lo)*width]
		}
		if err := r.want(n.slot, p, r.s.nodes[n.parent].per, span{lo, hi}, to, task{kind: kind}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) askValues(i int, it *item, st *nodeState) (err error) {
	dt := r.s.flats[i].DType
	if dt.Size() == 0 || st.count > math.MaxInt64/it.leaf.n {
		return shardify.Corrupt(-1, "field %s: %d times %d values", r.s.flats[i].Name, st.count, it.leaf.n)
	}
	dst, err := r.alloc(st.count*it.leaf.n, int64(dt.Size()))
	if err != nil {
		return err
	}
	r.items[i].data = dst
	per := mul(r.s.nodes[it.node].per, it.leaf.n)
	for p, in := range st.in {
		if in.hi > math.MaxInt64/2/it.leaf.n {
			return shardify.Corrupt(-1, "field %s: element %d of %d values each", r.s.flats[i].Name, in.hi, it.leaf.n)
		}
		in.lo, in.hi = in.lo*it.leaf.n, in.hi*it.leaf.n
		to := dst[:int(in.hi-in.lo)*dt.Size()]
		dst = dst[len(to):]
		if err := r.want(it.leaf.slot, p, per, in, to, task{kind: valueTask, dtype: dt}); err != nil {
			return err
		}
	}
	return nil
}

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
		r.queue.tasks = append(r.queue.tasks, t)
	}
	return nil
}

// search finds the page of a stored element.
func (ch *chunk) search(c *Cluster, element int64) int {
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
func (n *Ntuple) choose(slot int, c *Cluster) (column int, err error) {
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
func (n *Ntuple) lead(col *Column, c *Cluster, ch chunk, per int64) (int64, error) {
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
