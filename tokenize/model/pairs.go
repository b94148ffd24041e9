package model

import "math/bits"

// Pairs finds what two neighbouring tokens merge to, and when.
type Pairs struct {
	slots []pairSlot // open addressing
	n     int
	shift uint
}

type pairSlot struct {
	pair uint64 // left<<32 | right
	link uint64 // rank<<32 | id
}

// noLink is what pairs have that do not merge; its rank is after all others.
const noLink = ^uint64(0)

// NewPairs makes a table with room for n pairs; it grows.
func NewPairs(n int) *Pairs {
	p := &Pairs{}
	p.resize(1 << bits.Len(uint(2*n)))
	return p
}

func (p *Pairs) resize(size int) {
	old := p.slots
	p.slots, p.shift = make([]pairSlot, size), uint(64-bits.TrailingZeros(uint(size)))
	for i := range p.slots {
		p.slots[i].link = noLink
	}
	for _, s := range old {
		if s.link != noLink {
			*p.slot(s.pair) = s
		}
	}
}

func (p *Pairs) slot(pair uint64) *pairSlot {
	i := (pair ^ hashA) * 0x9e3779b97f4a7c15
	for i >>= p.shift; ; i++ {
		s := &p.slots[i&uint64(len(p.slots)-1)]
		if s.pair == pair || s.link == noLink {
			return s
		}
	}
}

// Set says what a pair merges to; the last word on a pair counts.
func (p *Pairs) Set(left, right int32, rank uint32, id int32) {
	if 2*p.n >= len(p.slots) {
		p.resize(2 * len(p.slots))
	}
	pair := uint64(left)<<32 | uint64(right)
	s := p.slot(pair)
	if s.link == noLink {
		p.n++
	}
	*s = pairSlot{pair, uint64(rank)<<32 | uint64(id)}
}

// link is the rank and the id of what the two merge to, or noLink.
func (p *Pairs) link(left, right int32) uint64 {
	pair := uint64(left)<<32 | uint64(right)
	if s := p.slot(pair); s.pair == pair {
		return s.link
	}
	return noLink
}
