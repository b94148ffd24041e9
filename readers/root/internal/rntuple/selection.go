package rntuple

import ()

// selection is some flats of an ntuple, read together: lists that several of them
// share are read once. It is not changed after Select; use it from many goroutines.
type selection struct {
	n     *Ntuple
	flats []*flatColumn
	nodes []node // parents before children; 0 is the entries
	items []item // by flat
}

// node is a set of elements: the entries, the items of a list, the present values
// of an optional.
type node struct {
	step
	parent   int
	presence bool // of a maybe or alt whose parents are entries or presences
	level    bool // of any other step: it has offsets
	// per is the elements per entry of the entries and of arrays directly below
	// them; 0 for all others. Only columns of such nodes can be deferred.
	per      int64
	children []int
	slots    []int // of the values and lists that count this node's elements
	perSlot  []int64
}

// item is the values of one flat.
type item struct {
	node int
	leaf leaf
}

// Select takes flats by their place in n.Flats.
func (n *Ntuple) Select(flats []int) *selection {
	s := &selection{n: n, nodes: []node{{parent: -1, per: 1}}}
	known := map[nodeKey]int{}
	for _, i := range flats {
		f := &n.Flats[i]
		at := 0
		for _, st := range f.path {
			at = s.child(known, at, st)
		}
		s.flats = append(s.flats, f)
		s.items = append(s.items, item{at, f.leaf})
		if f.leaf.kind == values {
			s.nodes[at].add(f.leaf.slot, f.leaf.n)
		}
	}
	return s
}

type nodeKey struct {
	parent int
	kind   stepKind
	slot   int
	tag    uint32
	n      int64
}

func (s *selection) child(known map[nodeKey]int, parent int, st step) int {
	key := nodeKey{parent, st.kind, st.slot, st.tag, st.n}
	if id, ok := known[key]; ok {
		return id
	}
	p := &s.nodes[parent]
	c := node{step: st, parent: parent}
	switch {
	case (st.kind == maybe || st.kind == alt) && (parent == 0 || p.presence):
		c.presence = true
	default:
		c.level = true
	}
	if st.kind == array {
		c.per = p.per * st.n
		if c.per > maxElements {
			c.per = 0
		}
	} else {
		p.add(st.slot, 1)
	}
	id := len(s.nodes)
	p.children = append(p.children, id)
	s.nodes = append(s.nodes, c)
	known[key] = id
	return id
}

func (n *node) add(slot int, per int64) {
	n.slots = append(n.slots, slot)
	n.perSlot = append(n.perSlot, per)
}

// Bytes is the memory of the columns of a cluster, decoded.
func (s *selection) Bytes(cluster int) int64 {
	c := &s.n.Clusters[cluster]
	var sum int64
	count := make([]int64, len(s.nodes))
	for i := range s.nodes {
		switch n := &s.nodes[i]; {
		case i == 0:
			count[i] = c.Entries
		case n.kind == array:
			count[i] = min(mul(count[n.parent], n.n), maxElements)
		default:
			count[i] = min(s.guess(n, c), maxElements)
		}
		if n := &s.nodes[i]; n.level {
			sum += 8 * count[n.parent]
		} else if n.presence {
			sum += c.Entries
		}
		sum = min(sum, maxElements)
	}
	for i, it := range s.items {
		f := s.flats[i]
		n := count[it.node]
		if it.leaf.kind == counts || f.Levels == 0 {
			n = max(n, c.Entries)
		}
		sum = min(sum+mul(n, it.leaf.n*int64(f.DType.Size())), maxElements)
		if f.Deep {
			sum = min(sum+8*c.Entries, maxElements)
		}
	}
	return sum
}

// guess is the elements of a node in a cluster, as the pages of its columns say:
// an estimate, since nothing of it is verified here.
func (s *selection) guess(n *node, c *clusterRange) int64 {
	for i, slot := range n.slots {
		for _, id := range s.n.slots[slot].columns {
			if ch := c.chunk(id); ch.elements > 0 {
				return ch.elements / n.perSlot[i]
			}
		}
	}
	for _, child := range n.children {
		if ch := &s.nodes[child]; ch.kind == array {
			return s.guess(ch, c) / ch.n
		}
	}
	return 0
}

func mul(a, b int64) int64 {
	if a != 0 && b > maxElements/a {
		return maxElements
	}
	return a * b
}

// Inside is how many entries a piece of a cluster should have to be of about target
// bytes. Pages that are on both sides of a cut are decoded for both pieces, so it is
// more where pages are large: a cut may cost half of a piece at most.
func (s *selection) Inside(target int64) int64 {
	n := s.n
	var bytes, twice int64
	for i := range n.Clusters {
		bytes = min(bytes+s.Bytes(i), maxElements)
	}
	for i := range s.nodes {
		for _, slot := range s.nodes[i].slots {
			twice += 2 * n.pageBytes(slot)
		}
	}
	entries := float64(max(target, twice)) / float64(max(bytes, 1)) * float64(n.Entries)
	return int64(max(min(entries, float64(n.Entries)), 1))
}

// pageBytes is the mean size of a slot's pages, decompressed.
func (n *Ntuple) pageBytes(slot int) int64 {
	var bytes, pages int64
	for _, id := range n.slots[slot].columns {
		for i := range n.Clusters {
			ch := n.Clusters[i].chunk(id)
			bytes = min(bytes+(ch.elements*int64(n.Columns[id].Bits)+7)/8, maxElements)
			pages += int64(ch.hi - ch.lo)
		}
	}
	return bytes / max(pages, 1)
}
