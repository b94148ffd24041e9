// Package shelf has decoded rows that all readers of an input share. Spans of cells take little of one
// chunk, with a name for each cell: what takes too much memory to be kept by every reader.
//
//	ok := s.Take(key, lo, hi, use)                 // use copies out, if the rows are there
//	err := s.Put(ctx, room, key, lo, hi, decode) // decodes them, if there is room; then Take
package shelf

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/shardify/shardify"
)

// Shelf has decoded rows, each for a key: what they are rows of. The zero value is empty. One without
// readers that Join it belongs to one that reads without an arena.
type Shelf struct {
	mu      sync.Mutex
	readers int
	busy    bool // rows are being decoded
	takes   int64
	rows    []Row
	scratch shardify.Scratch
}

// Row is some rows that were decoded together: numbers follow each other in Data, and so do texts after
// Pack. One that has no Data after it was decoded is not kept.
type Row struct {
	Data []byte
	ends []uint32 // of texts, in Data

	key    any
	lo, hi int64
	last   int64 // the number of the take that used it last
}

// Room is what rows may take. Without an arena, Share is for all readers together.
type Room struct {
	Arena    *shardify.Arena
	Share    int64 // of one reader
	Bytes    int64 // of the rows
	Decoding int64 // on the way to them
}

// Join counts a reader.
func (s *Shelf) Join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
}

// Leave ends what Join began: what is on a shelf is gone with its last reader.
func (s *Shelf) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers--; s.readers == 0 {
		s.rows = nil
		s.scratch.Close()
	}
}

// Take passes rows [lo, hi) to use, which copies from row number from of r on; false if they are not
// there. Others wait meanwhile. The key is best a pointer, which makes no garbage.
func (s *Shelf) Take(key any, lo, hi int64, use func(r *Row, from int64)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes++
	for i := range s.rows {
		if r := &s.rows[i]; r.key == key && lo >= r.lo && hi <= r.hi {
			r.last = s.takes
			use(r, lo-r.lo)
			return true
		}
	}
	return false
}

// Put decodes rows [lo, hi) and keeps them, if there is room and no other reader does so: it waits for
// memory, but not for others. It does not say whether it did.
func (s *Shelf) Put(ctx context.Context, room Room, key any, lo, hi int64, decode func(r *Row) error) error {
	held, ok := s.reserve(key, &room)
	if !ok {
		return nil
	}
	defer func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}()
	if room.Arena != nil {
		if err := s.scratch.Hold(ctx, room.Arena, held+room.Bytes+room.Decoding); err != nil {
			return err
		}
	}
	r := Row{key: key, lo: lo, hi: hi}
	err := decode(&r)
	held = s.add(&r, err == nil && r.Data != nil)
	if room.Arena != nil { // less than before, but for long texts: others may Take while this waits
		if e := s.scratch.Hold(ctx, room.Arena, held); err == nil {
			err = e
		}
	}
	return err
}

// add keeps rows that are good, and returns what is held then.
func (s *Shelf) add(r *Row, good bool) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if good {
		r.last = s.takes
		s.rows = append(s.rows, *r)
	}
	return s.bytes()
}

// reserve says whether rows may be decoded now, and what is held without them. What was used of late
// stays.
func (s *Shelf) reserve(key any, room *Room) (held int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := room.Share
	if room.Arena != nil { // as much as the readers together hold between spans
		most *= int64(s.readers)
	}
	if s.busy || room.Bytes > most {
		return 0, false
	}
	late, full := s.takes-8*int64(max(s.readers, 1)), s.bytes()+room.Bytes > most
	s.rows = slices.DeleteFunc(s.rows, func(r Row) bool { return r.last < late && (full || r.key == key) })
	held = s.bytes()
	s.busy = held+room.Bytes <= most
	return held, s.busy
}

func (s *Shelf) bytes() (n int64) {
	for i := range s.rows {
		n += int64(cap(s.rows[i].Data) + 4*cap(s.rows[i].ends))
	}
	return n
}

// Pack makes n texts follow each other in Data. Texts of 4 GiB are not kept.
func (r *Row) Pack(n int, text func(i int) []byte) {
	bytes := int64(0)
	for i := range n {
		bytes += int64(len(text(i)))
	}
	if bytes > math.MaxUint32 {
		return
	}
	r.Data, r.ends = make([]byte, 0, max(bytes, 1)), make([]uint32, 0, n)
	for i := range n {
		r.Data = append(r.Data, text(i)...)
		r.ends = append(r.ends, uint32(len(r.Data)))
	}
}

// Texts calls put for n texts from number from on, which are not valid after it; i counts them from 0.
func (r *Row) Texts(from, n int64, put func(i int64, text []byte)) {
	lo := uint32(0)
	if from > 0 {
		lo = r.ends[from-1]
	}
	for i, hi := range r.ends[from : from+n] {
		put(int64(i), r.Data[lo:hi])
		lo = hi
	}
}
