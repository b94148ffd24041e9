package dataset

import (
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Prover sums the pieces of a file's digest while the file is read, span by span, and hands them
// on as Proofs. A piece is of the span that has its first byte: the spans of a file together have
// each of them once, by any reader. What a span leaves unread of its pieces is read at its
// end. A Prover is used by one goroutine.
type Prover struct {
	r      io.ReaderAt
	size   int64
	digest string // "": the file has none, and nothing is summed
	object uint32

	lo, at int64 // of what is summed: the first piece, and the byte that is next
	part   xxh3.Hasher
	sums   []byte // of the pieces that are complete
	rest   []byte // what was read behind a span, which the next one has first
	restAt int64
}

// Reset goes to another file, whose digest the manifest has. A digest that is not one of pieces
// is compared at once.
func (p *Prover) Reset(r io.ReaderAt, size int64, object uint32, digest string) error {
	*p = Prover{r: r, size: size, object: object, sums: p.sums[:0], rest: p.rest[:0]}
	if digest == "" || strings.HasPrefix(digest, index.PiecePrefix) {
		p.digest = digest
		return nil
	}
	c, err := NewChecker(digest)
	if err == nil {
		err = pass(r, size, c, make([]byte, index.PieceBytes))
	}
	return err
}

// Begin begins a span whose first byte is lo, 0 for the first one of the file. What was read
// ahead for the span before counts.
func (p *Prover) Begin(lo int64) {
	lo = pieceFrom(lo)
	if lo < p.lo || lo > p.at {
		p.lo, p.at, p.sums = lo, lo, p.sums[:0]
		p.part.Reset()
		return
	}
	p.sums = append(p.sums[:0], p.sums[(lo-p.lo)/index.PieceBytes*16:]...)
	p.lo = lo
}

// pieceFrom is where the first piece from a place on begins.
func pieceFrom(at int64) int64 {
	return (at + index.PieceBytes - 1) / index.PieceBytes * index.PieceBytes
}

// Fill reads bytes of the file from a place on, and what is between what was summed and them.
func (p *Prover) Fill(b []byte, at int64) error {
	if err := p.read(at); err != nil {
		return err
	}
	return ReadFull(p, b, at)
}

// ReadAt reads the file, and sums what continues what was read.
func (p *Prover) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at >= p.restAt && at < p.restAt+int64(len(p.rest)) {
		n = copy(b, p.rest[at-p.restAt:])
	}
	var err error
	if n < len(b) {
		var k int
		k, err = p.r.ReadAt(b[n:], at+int64(n))
		n += k
	}
	p.add(b[:n], at)
	return n, err
}

// add sums bytes, as far as they continue what was summed.
func (p *Prover) add(b []byte, at int64) {
	if p.digest == "" || at > p.at || at+int64(len(b)) <= p.at {
		return
	}
	for b = b[p.at-at:]; len(b) > 0; {
		inside := p.at % index.PieceBytes
		n := min(index.PieceBytes-inside, p.size-p.at)
		switch {
		case n <= 0:
			return
		case int64(len(b)) < n:
			_, _ = p.part.Write(b)
			p.at += int64(len(b))
			return
		case inside == 0:
			sum := index.PieceSum(b[:n])
			p.sums = append(p.sums, sum[:]...)
		default:
			_, _ = p.part.Write(b[:n])
			sum := p.part.Sum128().Bytes()
			p.sums = append(p.sums, sum[:]...)
			p.part.Reset()
		}
		b, p.at = b[n:], p.at+n
	}
}

// read sums the bytes up to a place, which no span has read.
func (p *Prover) read(to int64) error {
	for p.digest != "" && p.at < to {
		if p.rest == nil {
			p.rest = make([]byte, index.PieceBytes)
		}
		p.rest, p.restAt = p.rest[:min(index.PieceBytes-p.at%index.PieceBytes, to-p.at)], p.at
		if err := ReadFull(p.r, p.rest, p.at); err != nil {
			p.rest = p.rest[:0]
			return err
		}
		p.add(p.rest, p.at)
	}
	return nil
}

// End ends a span at a byte, which is the size of the file for the last one, and adds its proof.
func (p *Prover) End(hi int64, input uint32, list []shardify.Proof) ([]shardify.Proof, error) {
	hi = min(pieceFrom(hi), p.size)
	if p.digest == "" || hi <= p.lo {
		return list, nil
	}
	if err := p.read(hi); err != nil {
		return list, err
	}
	n := (hi - p.lo + index.PieceBytes - 1) / index.PieceBytes * 16
	return append(list, shardify.Proof{
		Input: input, Object: p.object, Lo: p.lo, Hi: hi, Total: p.size,
		Digest: p.digest, Pieces: append([]byte(nil), p.sums[:n]...),
	}), nil
}
