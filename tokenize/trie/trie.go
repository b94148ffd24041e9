package trie

import (
	"hash/maphash"
	"math/bits"
)

// Trie finds the words that a text begins with. Its edges are one hash table.
type Trie struct {
	first [256]uint32 // edges of the root
	edges []edge
	n     int
	value []int32 // by node: what was added, or -1; node 0 is the root
	units []unit  // after pack
}

// unit is a node of a packed trie, which is a double array: the child by byte c is unit base^c, if
// that has the node for a parent.
type unit struct {
	base, parent uint32
	value        int32
}

type edge struct {
	from  uint64 // node<<8 | byte
	child uint32 // 0 is an empty slot
	value int32  // of the child
}

// New makes an empty trie.
func New() *Trie { return &Trie{value: []int32{-1}, edges: make([]edge, 64)} }

func (t *Trie) slot(from uint64) *edge {
	hi, lo := bits.Mul64(from^seedA, seedB|1)
	for i := hi ^ lo; ; i++ {
		if s := &t.edges[i&uint64(len(t.edges)-1)]; s.from == from || s.child == 0 {
			return s
		}
	}
}

// Begins reports whether a word begins with c. It comes before Pack.
func (t *Trie) Begins(c byte) bool { return t.first[c] != 0 }

// Step is the node that follows by c, 0 without one.
func (t *Trie) Step(node uint32, c byte) uint32 {
	if node == 0 {
		return t.first[c]
	}
	from := uint64(node)<<8 | uint64(c)
	if s := t.slot(from); s.from == from {
		return s.child
	}
	return 0
}

// Next is the node that follows by c, 0 without one, and its value.
func (t *Trie) Next(node uint32, c byte) (child uint32, value int32) {
	if t.units != nil {
		child = t.units[node].base ^ uint32(c)
		if u := &t.units[child]; u.parent == node {
			return child, u.value
		}
		return 0, -1
	}
	if node == 0 {
		child = t.first[c]
		return child, t.value[child]
	}
	from := uint64(node)<<8 | uint64(c)
	if s := t.slot(from); s.from == from {
		return s.child, s.value
	}
	return 0, -1
}

// Add gives a word a value; the first one that it was given stays.
func (t *Trie) Add(w []byte, value int32) {
	node, before := uint32(0), uint32(0)
	for _, c := range w {
		child := t.Step(node, c)
		if child == 0 {
			child = uint32(len(t.value))
			t.value = append(t.value, -1)
			t.link(node, c, child)
		}
		node, before = child, node
	}
	if t.value[node] >= 0 {
		return
	}
	t.value[node] = value
	if before != 0 {
		t.slot(uint64(before)<<8 | uint64(w[len(w)-1])).value = value
	}
}

func (t *Trie) link(node uint32, c byte, child uint32) {
	if node == 0 {
		t.first[c] = child
		return
	}
	if 2*t.n >= len(t.edges) {
		old := t.edges
		t.edges = make([]edge, 2*len(old))
		for _, s := range old {
			if s.child != 0 {
				*t.slot(s.from) = s
			}
		}
	}
	from := uint64(node)<<8 | uint64(c)
	*t.slot(from) = edge{from, child, -1}
	t.n++
}

// Longest is the longest word that s begins with, and its value; -1 without one.
func (t *Trie) Longest(s []byte) (value int32, n int) {
	return t.LongestFrom(0, s)
}

// LongestFrom goes on from a node.
func (t *Trie) LongestFrom(node uint32, s []byte) (value int32, n int) {
	value = -1
	for i, c := range s {
		var v int32
		if node, v = t.Next(node, c); node == 0 {
			break
		}
		if v >= 0 {
			value, n = v, i+1
		}
	}
	return value, n
}

const (
	unitBlock = 256 // children of a node are in one block
	unitTries = 256 // places that are looked at for several children before there is a new block
	noParent  = 1<<32 - 1
)

// Pack makes Next fast. Nothing can be added any more, and Step and Begins know no words.
func (t *Trie) Pack() {
	first := make([]uint32, len(t.value)+1) // of the children of each node in list
	t.each(func(from uint64, _ uint32) { first[from>>8+1]++ })
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	at := make([]uint32, len(t.value)) // the place in list at first, then the unit of each node
	copy(at, first)
	list := make([]branch, first[len(t.value)])
	t.each(func(from uint64, child uint32) {
		list[at[from>>8]] = branch{child, byte(from)}
		at[from>>8]++
	})
	clear(at)
	t.edges = nil // before there is room for units
	p := packer{units: make([]unit, 0, len(t.value)+unitBlock), free: 1}
	p.grow()
	p.units[0].parent = noParent - 1 // the root is not a child, and is not free
	for node := range t.value {
		children := list[first[node]:first[node+1]]
		if len(children) == 0 {
			continue
		}
		base := p.place(children)
		p.units[at[node]].base = base
		for i := range children {
			k := base ^ uint32(children[i].by)
			p.units[k] = unit{0, at[node], t.value[children[i].child]}
			at[children[i].child] = k
		}
	}
	*t = Trie{units: p.units}
}

// each calls f with node<<8 | byte and the child of all edges.
func (t *Trie) each(f func(from uint64, child uint32)) {
	for c, child := range t.first {
		if child != 0 {
			f(uint64(c), child)
		}
	}
	for _, s := range t.edges {
		if s.child != 0 {
			f(s.from, s.child)
		}
	}
}

// branch is a child of a node.
type branch struct {
	child uint32
	by    byte
}

// packer makes the units of a trie.
type packer struct {
	units []unit
	free  uint32 // no unit before it is free
}

func (p *packer) grow() {
	for range unitBlock {
		p.units = append(p.units, unit{parent: noParent, value: -1})
	}
}

// place is a base for which the units of all children are free.
func (p *packer) place(children []branch) uint32 {
	for int(p.free) < len(p.units) && p.units[p.free].parent != noParent {
		p.free++
	}
	tries := 0
	for k := p.free; int(k) < len(p.units) && tries < unitTries; k++ {
		if p.units[k].parent != noParent {
			continue
		}
		tries++
		base, ok := k^uint32(children[0].by), true
		for i := 1; i < len(children) && ok; i++ {
			ok = p.units[base^uint32(children[i].by)].parent == noParent
		}
		if ok {
			return base
		}
	}
	base := uint32(len(p.units))
	p.grow()
	return base
}

// The hash begins elsewhere in each process, so that no text can be made that is slow.
var seedA, seedB = func() (a, b uint64) {
	seed := maphash.MakeSeed()
	return maphash.String(seed, "a"), maphash.String(seed, "b")
}()
