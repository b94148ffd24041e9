package rntuple

import (
	"context"
	"math"

	"github.com/shardify/shardify"
)

// Reader reads a selection. Its buffers are kept from one Read to the next; use it
// from one goroutine at a time, and several readers at once.
type Reader struct {
	// Limit bounds the memory of one Read, and of each page that is decompressed for
	// it: more is an error, for a small file can claim any number of elements. 0
	// means 256 MiB and 1024 times the file's size.
	Limit int64
	// Jobs is the number of goroutines that decode pages; 0 means one.
	Jobs int

	s      *selection
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
func (s *selection) Reader() *Reader { return &Reader{s: s} }

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

func (r *Reader) limit() int64 {
	if r.Limit == 0 {
		return 256<<20 + min(r.s.n.size, 1<<40)*1024
	}
	return r.Limit
}

// alloc is memory from the arena, within the limit. Its content is undefined.
func (r *Reader) alloc(n, size int64) ([]byte, error) {
	limit := r.limit()
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
		width, kind = columnTypes[colSwitch].width, nativeTask
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
