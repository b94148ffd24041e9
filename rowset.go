package shardify

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// RowSet is a set of numbers of rows. The zero value is empty.
type RowSet struct{ words []rowWord }

// rowWord is those of the rows 64*at to 64*at+63 that are in the set. Words are in order. With
// more, all of the rows are in the set, and those of so many words behind it.
type rowWord struct {
	at, more uint32
	bits     uint64
}

// last is the number of the last word.
func (w *rowWord) last() uint32 { return w.at + w.more }

// full is the bits of a word whose rows are all in the set.
const full = math.MaxUint64

// put appends a word to those before it.
func put(words []rowWord, w rowWord) []rowWord {
	if n := len(words); n > 0 && w.bits == full && words[n-1].bits == full && words[n-1].last()+1 == w.at {
		words[n-1].more += 1 + w.more
		return words
	}
	return append(words, w)
}

// Len is how many rows there are.
func (s *RowSet) Len() (n int64) {
	for _, w := range s.words {
		n += int64(bits.OnesCount64(w.bits)) + 64*int64(w.more)
	}
	return n
}

// Add adds rows, but none. names are the numbers of rows in the set; nil if they are their own.
func (s *RowSet) Add(rows []int32, none int32, names []int32) {
	top := int32(-1)
	if names != nil {
		rows, none = slices.Sorted(slices.Values(names)), -1
	} else {
		for _, r := range rows {
			if r != none {
				top = max(top, r)
			}
		}
	}
	if int(top)/64 > len(rows) {
		rows = slices.Sorted(slices.Values(rows)) // few of many
		top = -1
	}
	var o RowSet
	if top < 0 {
		for _, r := range rows {
			if r != none {
				o.last(uint32(r)).bits |= 1 << (r % 64)
			}
		}
	} else {
		all := make([]uint64, top/64+1)
		for _, r := range rows {
			if r != none {
				all[r/64] |= 1 << (r % 64)
			}
		}
		for i, w := range all {
			if w != 0 {
				o.words = put(o.words, rowWord{at: uint32(i), bits: w})
			}
		}
	}
	s.Merge(&o)
}

// last is the word of a row that is not in front of others.
func (s *RowSet) last(row uint32) *rowWord {
	if n := len(s.words); n == 0 || s.words[n-1].at != row/64 {
		s.words = append(s.words, rowWord{at: row / 64})
	}
	return &s.words[len(s.words)-1]
}

// Merge adds the rows of another set.
func (s *RowSet) Merge(o *RowSet) {
	if o == nil {
		return
	}
	a, b := s.words, o.words
	if len(a) == 0 || len(b) == 0 {
		s.words = append(slices.Clip(a), b...)
		return
	}
	if b = s.absorb(b); len(b) == 0 {
		return
	}
	out := make([]rowWord, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		if b[0].at < a[0].at {
			a, b = b, a
		}
		x := a[0]
		a = a[1:]
		switch {
		case x.last() < b[0].at:
			out = put(out, x)
		case x.more == 0 && b[0].more > 0: // which has it
		case x.more == 0:
			out, b = put(out, rowWord{at: x.at, bits: x.bits | b[0].bits}), b[1:]
		default:
			for len(a) > 0 && a[0].at <= x.last() || len(b) > 0 && b[0].at <= x.last() {
				if len(a) == 0 || a[0].at > x.last() {
					a, b = b, a
				}
				x.more = max(x.last(), a[0].last()) - x.at
				a = a[1:]
			}
			out = put(out, x)
		}
	}
	s.words = append(append(out, a...), b...)
}

// absorb adds words to those that are there, and returns those that take another place. They
// are new ones.
func (s *RowSet) absorb(words []rowWord) (rest []rowWord) {
	a := s.words
	for _, w := range words {
		for len(a) > 0 && a[0].last() < w.at {
			a = a[1:]
		}
		switch {
		case len(a) == 0 || a[0].at > w.at:
			rest = append(rest, w)
		case a[0].last() >= w.last() && a[0].bits == full: // which has them
		case a[0].more > 0 || w.more > 0 || a[0].bits|w.bits == full:
			rest = append(rest, w)
		default:
			a[0].bits |= w.bits
		}
	}
	return rest
}

// MarshalText writes the lengths of stretches, of rows that are not in the set and of rows that
// are, in turn.
func (s *RowSet) MarshalText() ([]byte, error) {
	var b []byte
	end, in := uint64(0), false
	put := func(row uint64) {
		b = binary.AppendUvarint(b, row-end)
		end, in = row, !in
	}
	next := uint64(0)
	for _, w := range s.words {
		row := 64 * uint64(w.at)
		if in && row != next {
			put(next)
		}
		for k := 0; k < 64; {
			rest := w.bits >> k
			if in {
				rest = ^rest
			}
			n := bits.TrailingZeros64(rest)
			if k += n; k < 64 {
				put(row + uint64(k))
			}
		}
		next = row + 64 + 64*uint64(w.more)
	}
	if in {
		put(next)
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *RowSet) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return Corrupt(-1, "a set of rows: %v", err)
	}
	s.words = nil
	row := uint64(0)
	for in := false; len(b) > 0; in = !in {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > math.MaxInt32 || row+n > math.MaxInt32 {
			return Corrupt(-1, "a set of rows is damaged")
		}
		b = b[size:]
		for end := row + n; in && row < end; {
			if k := row % 64; k > 0 || end-row < 64 {
				m := min(64-k, end-row)
				s.last(uint32(row)).bits |= (1<<m - 1) << k
				row += m
				continue
			}
			m := (end - row) / 64
			s.words = put(s.words, rowWord{uint32(row / 64), uint32(m - 1), full})
			row += 64 * m
		}
		if !in {
			row += n
		}
	}
	return nil
}
