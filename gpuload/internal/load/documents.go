package load

import (
	"bytes"
	"math"

	"github.com/shardify/shardify"
)

// Documents are the stretches of tokens in a batch of sequences that belong together, as attention
// over all of its tokens needs them, one row after the other: the documents that a list of lengths
// describes, and the padding behind them in each row.
type Documents struct {
	// CuSeqlens is where each stretch begins, and the number of tokens.
	CuSeqlens []int32
	MaxSeqlen int32
}

// FindDocuments reads the lengths of the documents of rows: those of row i are lens[offsets[i]:offsets[i+1]].
// Sequences are stored with so many tokens, of which the first length are those of the batch. cu is
// memory for the result.
func FindDocuments(cu []int32, lens []int32, offsets []int64, stored, length int) (Documents, error) {
	d := Documents{CuSeqlens: cu[:0]}
	rows := max(len(offsets)-1, 0)
	if length < 1 || length > stored || int64(rows)*int64(length) > math.MaxInt32 {
		return d, shardify.Unsupported("cu_seqlens of %d rows of %d tokens of %d", rows, length, stored)
	}
	for r := range rows {
		at := 0
		lo, hi := offsets[r], offsets[r+1]
		if lo < 0 || hi < lo || hi > int64(len(lens)) {
			return d, shardify.Corrupt(-1, "row %d has documents %d to %d of %d", r, lo, hi, len(lens))
		}
		for _, n := range lens[lo:hi] {
			if n < 0 || int(n) > stored-at {
				return d, shardify.Amend(shardify.Corrupt(-1, "documents of %d tokens in a sequence of %d", at+int(n), stored), func(e *shardify.Error) { e.Sample = int64(r) })
			}
			if n > 0 && at < length {
				d.CuSeqlens = append(d.CuSeqlens, int32(r*length+at))
			}
			at += int(n)
		}
		if at < length {
			d.CuSeqlens = append(d.CuSeqlens, int32(r*length+at))
		}
	}
	d.CuSeqlens = append(d.CuSeqlens, int32(rows*length))
	for i := range len(d.CuSeqlens) - 1 {
		d.MaxSeqlen = max(d.MaxSeqlen, d.CuSeqlens[i+1]-d.CuSeqlens[i])
	}
	return d, nil
}

// Positions writes the place of each token in its stretch.
func (d *Documents) Positions(to []int32) {
	for i := range len(d.CuSeqlens) - 1 {
		part := to[d.CuSeqlens[i]:d.CuSeqlens[i+1]]
		for k := range part {
			part[k] = int32(k)
		}
	}
}

// Mask writes, for rows of length tokens, which tokens each of a row sees: 1 for those of its stretch up to
// itself, else 0, length of them for each.
func (d *Documents) Mask(to []byte, length int) {
	clear(to)
	ones := bytes.Repeat([]byte{1}, min(int(d.MaxSeqlen), length))
	for i := range len(d.CuSeqlens) - 1 {
		lo, hi := int(d.CuSeqlens[i]), int(d.CuSeqlens[i+1])
		for at := lo; at < hi; at++ {
			copy(to[at*length+lo%length:], ones[:at-lo+1])
		}
	}
}
