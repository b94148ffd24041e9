package set

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
)

// Borders are where a file may be cut without reading anything twice: ends of
// chunks, clusters or row groups. 0 and the number of samples are borders always.
type Borders struct {
	// Every > 0: borders are at First, First+Every, First+2*Every, ... where First 0
	// means Every. 1 is data that may be cut anywhere.
	Every, First int64
	// At lists borders in ascending order, if Every is 0.
	At []int64
	// Inside > 0: a unit between two borders that is longer than Of.Oversize
	// targets may be cut at multiples of Inside samples, counted from its start.
	Inside int64
}

// Encode is how borders are kept:
//
//	uvarint Inside, Every, First    if Every > 0
//	uvarint Inside, 0, deltas       else: of At, all of them positive
//
// Nothing at all means no borders. Those at or behind the last sample are left out.
func (b *Borders) Encode(samples int64) ([]byte, error) {
	if b.Every < 0 || b.First < 0 || b.Inside < 0 {
		return nil, shardify.Corrupt(-1, "negative borders: every %d from %d, inside %d", b.Every, b.First, b.Inside)
	}
	if b.Every == 0 && b.Inside == 0 && len(b.At) == 0 {
		return nil, nil
	}
	out := binary.AppendUvarint(nil, uint64(b.Inside))
	out = binary.AppendUvarint(out, uint64(b.Every))
	if b.Every > 0 {
		return binary.AppendUvarint(out, uint64(b.First)), nil
	}
	last := int64(0)
	for _, at := range b.At {
		if at < last {
			return nil, shardify.Corrupt(-1, "borders fall: %d after %d", at, last)
		}
		if at == last || at >= samples {
			continue
		}
		out = binary.AppendUvarint(out, uint64(at-last))
		last = at
	}
	return out, nil
}

// walk goes through encoded borders.
type walk struct {
	every, first, inside int64
	rest                 []byte
	lo, hi               int64 // the borders around the last result
}

func newWalk(b []byte) walk {
	var x walk
	if len(b) == 0 {
		return x
	}
	var n [3]uint64
	for i := range n[:2] {
		b = nextUvarint(b, &n[i])
	}
	if n[1] > 0 {
		b = nextUvarint(b, &n[2])
	}
	x.inside, x.every, x.first, x.rest = int64(n[0]), int64(n[1]), int64(n[2]), b
	return x
}

func nextUvarint(b []byte, v *uint64) []byte {
	x, n := binary.Uvarint(b)
	*v = x
	return b[max(n, 0):]
}

// around returns the neighbouring borders with lo <= at < hi; at must not fall from
// call to call. The first one is 0, the last one is samples.
func (b *walk) around(at, samples int64) (lo, hi int64) {
	if b.every > 0 {
		if at < b.first {
			return 0, min(b.first, samples)
		}
		lo = b.first + (at-b.first)/b.every*b.every
		return lo, lo + min(b.every, samples-lo)
	}
	for b.hi <= at {
		b.lo = b.hi
		if len(b.rest) == 0 {
			b.hi = samples
			break
		}
		var d uint64
		b.rest = nextUvarint(b.rest, &d)
		b.hi += int64(d)
	}
	return b.lo, min(b.hi, samples)
}

// checkBorders reports whether bytes from a state are borders that around can walk.
func checkBorders(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	r := stateReader{b: b}
	r.int()
	if every := r.int(); every > 0 {
		r.int()
		return !r.bad && len(r.b) == 0
	}
	for last := int64(0); len(r.b) > 0; {
		d := r.int()
		if last += d; r.bad || d <= 0 || last > rows.MaxSamples {
			return false
		}
	}
	return !r.bad
}
