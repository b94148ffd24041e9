package dataset_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	_ "github.com/shardify/shardify/tests/race"
)

// countedReader counts the bytes that are read.
type countedReader struct {
	bytes.Reader
	n int64
}

func (c *countedReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.n += int64(n)
	return n, err
}

// TestProverReadsEachByteOnce: spans in order read each byte of a file once, whatever their
// lengths and gaps are; in any order their proofs together have the pieces of the digest once.
func TestProverReadsEachByteOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 50 {
		data := make([]byte, 1+r.IntN(9*index.PieceBytes))
		for i := 0; i < len(data); i += 64 {
			data[i] = byte(r.Uint32())
		}
		size := int64(len(data))
		cuts := []int64{0, size}
		for range r.IntN(9) {
			cuts = append(cuts, r.Int64N(size+1))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var d index.PieceDigest
		d.Write(data)
		f := &countedReader{Reader: *bytes.NewReader(data)}
		var p dataset.Prover
		if err := p.Reset(f, size, 0, d.String()); err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(cuts)-1)
		for i := range order {
			order[i] = i
		}
		shuffled := r.IntN(2) == 0
		if shuffled {
			r.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		}
		var proofs []shardify.Proof
		for _, i := range order {
			lo, hi := cuts[i], cuts[i+1]
			gap := r.Int64N(hi-lo+1) / int64(1+r.IntN(9)) // what no sample has
			p.Begin(lo)
			b := make([]byte, hi-lo-gap)
			if err := p.Fill(b, lo+gap); err != nil || !bytes.Equal(b, data[lo+gap:hi]) {
				t.Fatalf("bytes [%d, %d) of %d: %v", lo+gap, hi, size, err)
			}
			var err error
			if proofs, err = p.End(hi, 0, proofs); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(proofs, func(a, b shardify.Proof) int { return int(a.Lo - b.Lo) })
		var pieces []byte
		at := int64(0)
		for _, x := range proofs {
			if x.Lo != at {
				t.Fatalf("a proof from byte %d, the one before ends at %d", x.Lo, at)
			}
			pieces, at = append(pieces, x.Pieces...), x.Hi
		}
		var want []byte
		for b := range slices.Chunk(data, index.PieceBytes) {
			sum := index.PieceSum(b)
			want = append(want, sum[:]...)
		}
		if at != size || !bytes.Equal(pieces, want) {
			t.Fatalf("the proofs of %v end at byte %d of %d, and have other sums: %v", cuts, at, size, !bytes.Equal(pieces, want))
		}
		if !shuffled && f.n > size {
			t.Errorf("%d bytes read of %d, spans %v", f.n, size, cuts)
		}
	}
}
