package stats

import "math"

const (
	mantissa = 7 // bits: a bucket is 1/128 of a power of two wide
	block    = 1 << mantissa
	tiny     = 1023 - 64 // exponents below count as zero
)

// sketch counts numbers in buckets of a fixed relative width. Equal numbers make
// equal sketches in whatever order and parts they come.
type sketch struct {
	zero  int64
	sides [2]side // positive, negative
}

// side is the buckets of one sign, by exponent from base on.
type side struct {
	base int
	by   []*[block]int64
}

func (s *side) at(exp int) *[block]int64 {
	if len(s.by) == 0 {
		s.base = exp
	}
	for exp < s.base {
		s.base--
		s.by = append([]*[block]int64{nil}, s.by...)
	}
	for exp-s.base >= len(s.by) {
		s.by = append(s.by, nil)
	}
	p := s.by[exp-s.base]
	if p == nil {
		p = new([block]int64)
		s.by[exp-s.base] = p
	}
	return p
}

func (s *sketch) add(x float64) {
	b := math.Float64bits(x)
	sd := &s.sides[b>>63]
	if i := uint(b>>52&0x7ff) - uint(sd.base); i < uint(len(sd.by)) && sd.by[i] != nil {
		sd.by[i][b>>(52-mantissa)&(block-1)]++
		return
	}
	s.addN(x, 1)
}

// merge adds the counts of t, whose numbers are shift larger than they say.
func (s *sketch) merge(t *sketch, shift float64) {
	if shift != 0 {
		t.each(func(lo, hi float64, n int64) { s.addN(float64((lo+hi)/2)+shift, n) })
		return
	}
	s.zero += t.zero
	s.sides[0].merge(&t.sides[0])
	s.sides[1].merge(&t.sides[1])
}

func (s *sketch) addN(x float64, n int64) {
	b := math.Float64bits(x)
	exp, k := int(b>>52&0x7ff), b>>(52-mantissa)&(block-1)
	if exp < tiny {
		s.zero += n
	} else {
		s.sides[b>>63].at(exp)[k] += n
	}
}

func (s *side) merge(t *side) {
	for e, p := range t.by {
		if p == nil {
			continue
		}
		q := s.at(t.base + e)
		for k, n := range p {
			q[k] += n
		}
	}
}

// each calls f for every bucket that holds something, in ascending order.
func (s *sketch) each(f func(lo, hi float64, n int64)) {
	edge := func(e, k int) float64 {
		if k == block {
			e, k = e+1, 0
		}
		if e >= 2047 {
			return math.MaxFloat64
		}
		return math.Float64frombits(uint64(e)<<52 | uint64(k)<<(52-mantissa))
	}
	pos, neg := &s.sides[0], &s.sides[1]
	for i := len(neg.by) - 1; i >= 0; i-- {
		if p, e := neg.by[i], neg.base+i; p != nil {
			for k := block - 1; k >= 0; k-- {
				if p[k] > 0 {
					f(-edge(e, k+1), -edge(e, k), p[k])
				}
			}
		}
	}
	if s.zero > 0 {
		f(0, 0, s.zero)
	}
	for i, p := range pos.by {
		if e := pos.base + i; p != nil {
			for k := range block {
				if p[k] > 0 {
					f(edge(e, k), edge(e, k+1), p[k])
				}
			}
		}
	}
}

// quantile is about the number of that rank, counted from 0.
func (s *sketch) quantile(rank int64) (x float64) {
	found := false
	s.each(func(lo, hi float64, n int64) {
		if found {
			return
		}
		x = lo
		if rank < n {
			x = lo + (hi-lo)*(float64(rank)+0.5)/float64(n)
			// A whole number at the lower edge is what integers near the pivot are.
			if lo >= 0 && lo == math.Trunc(lo) && hi-lo <= 1 {
				x = lo
			}
			if lo < 0 && hi == math.Trunc(hi) && hi-lo <= 1 {
				x = hi
			}
			found = true
		}
		rank -= n
	})
	return x
}
