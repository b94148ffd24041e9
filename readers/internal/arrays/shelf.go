package arrays

import (
	"math"
	"slices"
	"sync"

	"github.com/shardify/shardify"
)

// shelf has decoded rows of parts that all readers of an input share: spans of cells take little of one
// chunk with a name for each, which takes too much to be kept by every reader. A shelf without readers
// that Join it belongs to one that reads without an arena.
type shelf struct {
	mu      sync.Mutex
	readers int
	busy    bool // a row is being decoded
	takes   int64
	rows    []shelved
	scratch shardify.Scratch
}

// shelved is a decoded row of parts of one target.
type shelved struct {
	g    *grid
	leaf *leaf
	row  int64 // the first
	last int64 // the number of the take that used it last
	data []byte
	ends []uint32 // where texts end in data
}

// little is which part of a row of parts a span has at most that takes it from a shelf.
const little = 4

// join counts a reader, leave ends that: what is on a shelf is gone with the last one.
func (s *shelf) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
}

func (s *shelf) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers--; s.readers == 0 {
		s.rows = nil
		s.scratch.Close()
	}
}

func (r *shelved) bytes() int64 { return int64(cap(r.data) + 4*cap(r.ends)) }

func (s *shelf) bytes() (n int64) {
	for i := range s.rows {
		n += s.rows[i].bytes()
	}
	return n
}

// take copies rows [lo, hi) to a target whose first row is first; false if they are not there.
func (s *shelf) take(g *grid, t *target, first, lo, hi int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes++
	for i := range s.rows {
		if r := &s.rows[i]; r.g == g && r.leaf == t.leaf && lo >= r.row && hi <= r.row+r.samples() {
			r.last = s.takes
			r.copy(t, lo-first, lo-r.row, hi-lo)
			return true
		}
	}
	return false
}

func (r *shelved) samples() int64 {
	if r.ends != nil {
		return int64(len(r.ends)) / (r.g.elems * r.leaf.values())
	}
	return int64(len(r.data)) / (r.g.elems * r.leaf.values() * int64(r.leaf.typ.Size))
}

func (r *shelved) copy(t *target, to, from, n int64) {
	if r.ends == nil {
		per := r.g.elems * t.size
		copy(t.data[to*per:(to+n)*per], r.data[from*per:])
		return
	}
	per, lo := r.g.elems*t.leaf.values(), uint32(0)
	if from > 0 {
		lo = r.ends[from*per-1]
	}
	for i, hi := range r.ends[from*per : (from+n)*per] {
		t.put(to*per+int64(i), r.data[lo:hi])
		lo = hi
	}
}

// shelved copies rows [lo, hi) of the row of parts [start, end) from the shelf; false if there is no room
// on it. first is the target's first row.
func (w *work) shelved(in *input, g *grid, t *target, first, lo, hi, start, end int64) (bool, error) {
	if w.shelf.take(g, t, first, lo, hi) {
		return true, nil
	}
	err := w.shelf.put(w, in, g, t, start, end)
	return err == nil && w.shelf.take(g, t, first, lo, hi), err
}

// put decodes rows [start, end) and puts them on the shelf, if there is room and no other reader does so:
// it waits for memory, but not for others.
func (s *shelf) put(w *work, in *input, g *grid, t *target, start, end int64) error {
	bytes := (end - start) * g.elems * t.size
	decoding := bytes
	if t.leaf.text() {
		n := (end - start) * g.elems * t.leaf.values()
		bytes, decoding = max(bytes, 12*n)+4*n, max(bytes, 12*n)+20*n
	}
	held, ok := s.reserve(w, g, bytes)
	if !ok {
		return nil
	}
	defer func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}()
	if w.mem != nil {
		if err := s.scratch.Hold(w.ctx, w.mem, held+bytes+decoding); err != nil {
			return err
		}
	}
	one := []target{{leaf: t.leaf, size: t.size}}
	tmp := work{ctx: w.ctx}
	err := one[0].room(g, end-start, func(n int64) ([]byte, error) { return make([]byte, n), nil })
	if err == nil {
		err = tmp.some(in, g, start, start, end, one)
	}
	w.decoded += tmp.decoded
	r := shelved{g: g, leaf: t.leaf, row: start}
	if err == nil {
		r.pack(&one[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.data != nil {
		r.last = s.takes
		s.rows = append(s.rows, r)
	}
	if w.mem != nil { // less than before: this does not wait
		if e := s.scratch.Hold(w.ctx, w.mem, s.bytes()); err == nil {
			err = e
		}
	}
	return err
}

// reserve says whether a row of so many bytes may be decoded now, and what is held without it. What was
// used of late stays.
func (s *shelf) reserve(w *work, g *grid, bytes int64) (held int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := int64(slabBytes)
	if w.mem != nil { // as much as the readers together hold between spans
		most = w.scratch.Share() * int64(s.readers)
	}
	if s.busy || bytes > most {
		return 0, false
	}
	late, full := s.takes-8*int64(max(s.readers, 1)), s.bytes()+bytes > most
	s.rows = slices.DeleteFunc(s.rows, func(r shelved) bool { return r.last < late && (full || r.g == g) })
	held = s.bytes()
	s.busy = held+bytes <= most
	return held, s.busy
}

// pack makes texts follow each other. Texts of 4 GiB are not kept.
func (r *shelved) pack(t *target) {
	if !t.leaf.text() {
		r.data = t.data
		return
	}
	n := int64(0)
	for _, v := range t.vals {
		n += v.hi - v.lo
	}
	if n > math.MaxUint32 {
		return
	}
	r.data, r.ends = make([]byte, 0, max(n, 1)), make([]uint32, 0, len(t.vals))
	for _, v := range t.vals {
		r.data = append(r.data, t.text[v.lo:v.hi]...)
		r.ends = append(r.ends, uint32(len(r.data)))
	}
}
