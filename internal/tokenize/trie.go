package tokenize

import "math/bits"

// trie finds the words that a text begins with. Its edges are one hash table.
type trie struct {
	first [256]uint32 // edges of the root
	edges []edge
	n     int
	value []int32 // by node: what was added, or -1; node 0 is the root
}

type edge struct {
	from  uint64 // node<<8 | byte
	child uint32 // 0 is an empty slot
	value int32  // of the child
}

func newTrie() *trie { return &trie{value: []int32{-1}, edges: make([]edge, 64)} }

func (t *trie) slot(from uint64) *edge {
	hi, lo := bits.Mul64(from^hashA, hashB|1) // see hashSeeds
	for i := hi ^ lo; ; i++ {
		if s := &t.edges[i&uint64(len(t.edges)-1)]; s.from == from || s.child == 0 {
			return s
		}
	}
}

// step is the node that follows by c, 0 if there is none.
func (t *trie) step(node uint32, c byte) uint32 {
	if node == 0 {
		return t.first[c]
	}
	from := uint64(node)<<8 | uint64(c)
	if s := t.slot(from); s.from == from {
		return s.child
	}
	return 0
}

// next is the node that follows by c, 0 if there is none, and its value.
func (t *trie) next(node uint32, c byte) (child uint32, value int32) {
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

// add gives a word a value; the first one that it was given stays.
func (t *trie) add(w []byte, value int32) {
	node, before := uint32(0), uint32(0)
	for _, c := range w {
		child := t.step(node, c)
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

func (t *trie) link(node uint32, c byte, child uint32) {
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

// longest is the longest word that s begins with, and its value; -1 if there is none.
func (t *trie) longest(s []byte) (value int32, n int) {
	return t.longestFrom(0, s)
}

// longestFrom goes on from a node.
func (t *trie) longestFrom(node uint32, s []byte) (value int32, n int) {
	value = -1
	for i, c := range s {
		var v int32
		if node, v = t.next(node, c); node == 0 {
			break
		}
		if v >= 0 {
			value, n = v, i+1
		}
	}
	return value, n
}
