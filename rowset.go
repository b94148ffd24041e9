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

// rowWord is those of the rows 64*at to 64*at+63 that are in the set. They stand in order.
type rowWord struct {
	at   uint32
	bits uint64
}

// Len is how many rows there are.
func (s *RowSet) Len() (n int64) {
	for _, w := range s.words {
		n += int64(bits.OnesCount64(w.bits))
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
				o.words = append(o.words, rowWord{uint32(i), w})
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
	out := make([]rowWord, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].at < b[0].at:
			out, a = append(out, a[0]), a[1:]
		case a[0].at > b[0].at:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, rowWord{a[0].at, a[0].bits | b[0].bits})
			a, b = a[1:], b[1:]
		}
	}
	s.words = append(append(out, a...), b...)
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
		next = row + 64
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
			k := row % 64
			m := min(64-k, end-row)
			s.last(uint32(row)).bits |= (1<<m - 1) << k
			row += m
		}
		if !in {
			row += n
		}
	}
	return nil
}
