package lines

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/made"
)

// Borders are the pieces; a file may also be cut inside of one.
func (x *Index) Borders() set.Borders { return set.Borders{At: x.Row[1:], Inside: 1} }

// Append encodes the index behind what a format keeps of a file: the length of that, the number
// of pieces times 2 plus 1 if it is serial, the differences of offsets and rows, and those of
// the places of records that are left out.
func (x *Index) Append(own []byte) []byte {
	if x.made {
		own = made.Join(x.state, own)
	}
	b := binary.AppendUvarint(nil, uint64(len(own)))
	b = append(b, own...)
	n := uint64(len(x.Off)) << 1
	if x.Serial {
		n |= 1
	}
	b = binary.AppendUvarint(b, n)
	var off, row int64
	for i := range x.Off {
		b = binary.AppendUvarint(b, uint64(x.Off[i]-off))
		b = binary.AppendUvarint(b, uint64(x.Row[i]-row))
		off, row = x.Off[i], x.Row[i]
	}
	off = 0
	for _, l := range x.Left {
		b = binary.AppendUvarint(b, uint64(l.Off-off))
		off = l.Off
	}
	return b
}

var errBlob = shardify.Corrupt(-1, "survey of the plan: places of the pieces")

// split splits a blob into its parts. It may come from a damaged plan.
func split(b []byte) (own []byte, serial bool, rest []byte, pieces uint64, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, false, nil, 0, errBlob
	}
	own, rest = b[k:k+int(n)], b[k+int(n):]
	m, k := binary.Uvarint(rest)
	if k <= 0 || m>>1 == 0 || m>>1 > uint64(len(rest)) {
		return nil, false, nil, 0, errBlob
	}
	return own, m&1 != 0, rest[k:], m >> 1, nil
}

// decode is the inverse of Append.
func decode(b []byte, size, rows int64, isMade bool) (own []byte, x *Index, err error) {
	own, serial, rest, n, err := split(b)
	if err != nil {
		return nil, nil, err
	}
	x = &Index{Off: make([]int64, n), Row: make([]int64, n), Serial: serial, made: isMade}
	most := int64(mostPiece + mostPiece/2 + step)
	if isMade {
		if x.state, own, err = made.Cut(own); err != nil || serial {
			return nil, nil, errBlob
		}
		size, most = math.MaxInt64, maxMade
	}
	var at [2]int64
	for i := range x.Off {
		for j := range at {
			d, k := binary.Uvarint(rest)
			if k <= 0 || d > 1<<52 || at[j]+int64(d) > 1<<60 {
				return nil, nil, errBlob
			}
			rest, at[j] = rest[k:], at[j]+int64(d)
			if j == 0 && i > 0 && (int64(d) > most || !serial && at[0] > size) {
				return nil, nil, errBlob
			}
		}
		x.Off[i], x.Row[i] = at[0], at[1]
	}
	if x.Row[0] != 0 || x.Rows() != rows || !serial && x.Off[0] > size {
		return nil, nil, errBlob
	}
	left := int64(0)
	for len(rest) > 0 {
		d, k := binary.Uvarint(rest)
		if k <= 0 || d > uint64(x.Off[n-1]-left) || d == 0 && len(x.left) > 0 {
			return nil, nil, errBlob
		}
		rest, left = rest[k:], left+int64(d)
		x.left = append(x.left, left)
	}
	return own, x, nil
}
