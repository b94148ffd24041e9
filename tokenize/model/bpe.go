package model

import (
	"unicode/utf8"
)

// BPE merges neighbouring tokens of a word, the pair of lowest rank first, the leftmost of these.
type BPE struct {
	Pairs *Pairs
	// The tokens to begin with: of each byte, or of each character.
	Bytes *[256]int32
	Chars map[rune]int32
	// Characters that are not a token are their bytes, if Bytes is there too, or Unk; without
	// Unk (-1) they are dropped.
	Unk  int32
	Fuse bool // neighbours that are unknown are one unk
}

// shortMerge is the number of tokens up to which the lowest rank is looked for in all of them.
const shortMerge = 64

// Encode appends the ids of a word.
func (m *BPE) Encode(c *Coder, w []byte) {
	ids := c.merge.ids[:0]
	if m.Chars == nil {
		for _, b := range w {
			ids = append(ids, m.Bytes[b])
		}
	} else {
		ids = m.begin(c, ids, w)
	}
	c.merge.ids = ids
	m.all(c)
}

// all merges the tokens in c.merge.ids and appends what is left.
func (m *BPE) all(c *Coder) {
	if len(c.merge.ids) <= shortMerge {
		c.Out = append(c.Out, m.short(&c.merge, c.merge.ids)...)
		return
	}
	m.long(&c.merge)
	for i, id := range c.merge.ids {
		if c.merge.next[i] != gone {
			c.Out = append(c.Out, id)
		}
	}
	c.merge.shrink()
}

// begin appends the tokens of the characters.
func (m *BPE) begin(c *Coder, ids []int32, w []byte) []int32 {
	pending := false
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRune(w[i:])
		id, ok := m.Chars[r]
		switch {
		case ok:
			ids, pending = append(ids, id), false
		case m.Bytes != nil:
			for _, b := range w[i : i+n] {
				ids = append(ids, m.Bytes[b])
			}
			pending = false
		case m.Unk < 0:
			c.Dropped++
		default:
			c.Unknown++
			if !pending || !m.Fuse {
				ids = append(ids, m.Unk)
			}
			pending = true
		}
		i += n
	}
	return ids
}

// merging is the memory to merge one word in.
type merging struct {
	ids   []int32
	links [shortMerge]uint64
	prev  []int32
	next  []int32 // gone: merged into the one before
	heap  []uint64
}

const gone = -2

// shrink drops the memory that a very long word took.
func (s *merging) shrink() {
	if cap(s.heap) > 1<<20 {
		s.ids, s.prev, s.next, s.heap = nil, nil, nil, nil
	}
}

// short merges in place and returns what is left.
func (m *BPE) short(s *merging, ids []int32) []int32 {
	if len(ids) < 2 {
		return ids
	}
	links := s.links[:len(ids)-1]
	for i := range links {
		links[i] = m.Pairs.link(ids[i], ids[i+1])
	}
	for {
		best, k := noLink, -1
		for i, l := range links {
			if l < best {
				best, k = l, i
			}
		}
		if k < 0 {
			return ids
		}
		ids[k] = int32(uint32(best))
		ids = append(ids[:k+1], ids[k+2:]...)
		links = append(links[:k], links[k+1:]...)
		if k > 0 {
			links[k-1] = m.Pairs.link(ids[k-1], ids[k])
		}
		if k < len(links) {
			links[k] = m.Pairs.link(ids[k], ids[k+1])
		}
	}
}

// long merges with a heap of rank<<32 | place. A place in the heap whose pair has another rank
// by now is out of date: the pair that is there now has a place of its own.
func (m *BPE) long(s *merging) {
	n := len(s.ids)
	s.prev, s.next, s.heap = s.prev[:0], s.next[:0], s.heap[:0]
	for i := range n {
		s.prev, s.next = append(s.prev, int32(i-1)), append(s.next, int32(i+1))
		if i+1 < n {
			if l := m.Pairs.link(s.ids[i], s.ids[i+1]); l != noLink {
				s.heap = append(s.heap, l>>32<<32|uint64(i))
			}
		}
	}
	for i := len(s.heap)/4 + 1; i >= 0; i-- {
		s.down(i)
	}
	for len(s.heap) > 0 {
		top := s.pop()
		i := int32(uint32(top))
		j := s.next[i]
		if j == gone || int(j) >= n {
			continue
		}
		l := m.Pairs.link(s.ids[i], s.ids[j])
		if l == noLink || l>>32 != top>>32 {
			continue
		}
		after := s.next[j]
		s.ids[i], s.next[i], s.next[j] = int32(uint32(l)), after, gone
		if int(after) < n {
			s.prev[after] = i
			s.push(m.Pairs.link(s.ids[i], s.ids[after]), i)
		}
		if p := s.prev[i]; p >= 0 {
			s.push(m.Pairs.link(s.ids[p], s.ids[i]), p)
		}
	}
}

func (s *merging) push(link uint64, place int32) {
	if link == noLink {
		return
	}
	v := link>>32<<32 | uint64(place)
	s.heap = append(s.heap, v)
	i := len(s.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if s.heap[up] <= v {
			break
		}
		s.heap[i], i = s.heap[up], up
	}
	s.heap[i] = v
}

func (s *merging) pop() uint64 {
	top, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.down(0)
	return top
}

// down moves the value at i to where none below it is lower.
func (s *merging) down(i int) {
	h := s.heap
	if i >= len(h) {
		return
	}
	v := h[i]
	for {
		k := 4*i + 1
		if k >= len(h) {
			break
		}
		least := k
		for j := k + 1; j < min(k+4, len(h)); j++ {
			if h[j] < h[least] {
				least = j
			}
		}
		if h[least] >= v {
			break
		}
		h[i], i = h[least], least
	}
	h[i] = v
}
