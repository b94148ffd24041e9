package order

import (
	"math/bits"
	"runtime"
	"slices"
)

// sweep reads the lengths of many positions that follow each other. Where the order scatters the samples over more lengths than
// caches hold, they are looked up in the order of the set, and so with few misses: of the processor, of its tables of pages, and
// of memory where lengths are in a mapped file.
type sweep struct {
	p    *Packs
	cur  *Cursor
	from int64
	list []int64 // anything
	vals [maxBudgets][]int64

	// Places by the part of the set that their samples are in, a part being 1<<shift samples: the sample in its part, and the place.
	by    []uint64
	shift int
	ends  [1 << bucketBits]int // of the parts, in by
}

// A scattered order is swept a sweptShare of all samples at a time, over all cores: that takes a byte for each sample at most.
const (
	sweptShare = 32
	leastSwept = 1 << 16
)

// sweepSize is the positions of a sweep.
func (p *Packs) sweepSize() int64 {
	switch o := p.order; {
	case o.Drawn() || o.indices != nil || o.lists != nil:
	case o.shuffle == None:
		return leastSwept
	case o.shuffle == Block:
		return min(max(p.order.Window(), leastSwept), maxSweptWindow)
	}
	return min(max(p.order.Len()/int64(sweptShare*runtime.GOMAXPROCS(0)*len(p.Budgets)), leastSwept), 1<<24)
}

func (p *Packs) sweep(epoch int) *sweep {
	c := p.order.Cursor(epoch)
	c.sweeps = true
	return &sweep{p: p, cur: c}
}

// has reports whether a position was read.
func (s *sweep) has(q int64) bool { return q >= s.from && q < s.from+int64(len(s.list)) }

// read reads positions [from, to).
func (s *sweep) read(from, to int64) {
	s.from = from
	n := int(to - from)
	s.list = slices.Grow(s.list[:0], n)[:n]
	for at := 0; at < n; at += 4096 {
		s.cur.Fill(s.list[at:min(at+4096, n)], from+int64(at), 1)
	}
	last := len(s.p.Budgets) - 1
	for i := range last {
		s.vals[i] = slices.Grow(s.vals[i][:0], n)[:n]
	}
	s.vals[last] = s.list // when they are read, the samples are not needed
	if o := s.p.order; n < leastSwept || o.shuffle == Block && o.indices == nil && o.lists == nil && !o.Drawn() {
		for i := range s.p.Budgets {
			s.p.Budgets[i].Lengths.look(s.vals[i], s.list)
		}
		return
	}
	s.sort()
	for i := range s.p.Budgets {
		l, vals, j := s.p.Budgets[i].Lengths, s.vals[i], 0
		for d, end := range &s.ends {
			base := int64(d) << s.shift
			for _, k := range s.by[j:end] {
				vals[k&(1<<placeBits-1)] = l.Of(base + int64(k>>placeBits))
			}
			j = end
		}
	}
}

const (
	placeBits  = 26 // of a place in a sweep, which is at most maxPackWindow
	bucketBits = 11 // of the samples: so many parts of the set are looked at one after the other
)

// sort puts the places into the order of the parts of the set that their samples are in.
func (s *sweep) sort() {
	most := slices.Max(s.list)
	s.shift = max(bits.Len64(uint64(most))-bucketBits, 0)
	s.ends = [1 << bucketBits]int{}
	for _, v := range s.list {
		s.ends[v>>s.shift]++
	}
	sum := 0
	for d, n := range &s.ends {
		s.ends[d], sum = sum, sum+n
	}
	s.by = slices.Grow(s.by[:0], len(s.list))[:len(s.list)]
	for j, v := range s.list {
		at := &s.ends[v>>s.shift]
		s.by[*at] = uint64(v&(1<<s.shift-1))<<placeBits | uint64(j)
		*at++
	}
}

// feed reads the lengths of an epoch ahead, several stretches at once, for a cutter that takes them one after the other.
type feed struct {
	now  *sweep
	next chan chan *sweep
	free chan *sweep
}

func (p *Packs) feed(epoch int) *feed {
	workers, length, size := runtime.GOMAXPROCS(0), p.order.LenOf(epoch), p.sweepSize()
	f := &feed{next: make(chan chan *sweep, workers), free: make(chan *sweep, workers+1)}
	for range workers + 1 {
		f.free <- p.sweep(epoch)
	}
	go func() {
		for at := int64(0); at < length; at += size {
			s, done := <-f.free, make(chan *sweep, 1) // free ones are given in order: so the next one is never without
			f.next <- done
			go func() {
				s.read(at, min(at+size, length))
				done <- s
			}()
		}
	}()
	return f
}

// at is the sweep with a position; positions rise, and none is left out between sweeps.
func (f *feed) at(q int64) *sweep {
	if f.now == nil || !f.now.has(q) {
		if f.now != nil {
			f.free <- f.now
		}
		f.now = <-<-f.next
	}
	return f.now
}
