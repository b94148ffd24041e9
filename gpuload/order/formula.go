package order

import "math/bits"

// How the samples of a step follow from their positions: kinds of Formula. The zero kind
// is a table.
const (
	Table     = iota
	Sequence  // in order
	Permuted  // Global
	Blocks    // Block
	InWindows // Block: rows of the tables of Windows
)

// Formula is what a device needs to compute the samples of a step by itself: row j of it is
// at position First + j/Batch*Global + j%Batch*Stride. Its layout is that of struct formula
// in gpuload/internal/cuda/kernels.cu.
type Formula struct {
	Kind                         uint64
	Batch, Global, First, Stride uint64
	Perm                         Permutation // of the samples, or of blocks
	Prefix                       uint64      // of the keys of windows
	Streams, Window, Block       Divisor
	Share, More                  uint64 // places of a stream; the first More streams have one more
	At, Last                     uint64 // place and length of the last block
	// Of InWindows: the first stream, the distance of streams, places of a stream in a
	// table, and the first place of the first table.
	Lane, Lanes, Span, Base uint64
}

// Permutation is a Feistel network over Width bits, of which the lower half has Low.
type Permutation struct {
	N                        uint64
	Keys                     [rounds]uint64
	Low, MaskH, MaskL, Width uint32
}

// Divisor divides x by D: the quotient is the upper half of x*M, or at most two more.
type Divisor struct{ D, M uint64 }

func (p *perm) formula() Permutation {
	return Permutation{p.n, p.keys, uint32(p.low), uint32(p.maskH), uint32(p.maskL), uint32(bits.Len64(p.maskH)) + uint32(p.low)}
}

func (d divisor) formula() Divisor { return Divisor{d.d, d.m} }

// Formula returns the formula of a step. Samples drawn from lists (with Mix, Weights or
// Labels) and batches by a budget have no formula. With Indices it computes which of them a sample is.
func (s *Steps) Formula(of *Step, c *Cursor) (f Formula, ok bool) {
	if c.Drawn() || s.Packs != nil || s.Listed != nil {
		return f, false
	}
	f = Formula{Kind: Sequence, Batch: uint64(s.Batch), Global: uint64(s.Global()), First: uint64(of.First), Stride: uint64(of.Stride)}
	p := &c.parts[0]
	switch c.shuffle {
	case Global:
		f.Kind, f.Perm = Permuted, c.passOf(p, c.epoch).all.formula()
	case Block:
		b, sh := &c.passOf(p, c.epoch).blocks, &c.shape
		f.Kind, f.Perm, f.Prefix = Blocks, b.perm.formula(), derive(c.seed, c.epoch, forWindow, p.number)
		f.Streams, f.Window, f.Block = sh.byStreams.formula(), sh.byWindow.formula(), b.by.formula()
		f.Share, f.More = uint64(p.n/sh.streams), uint64(p.n%sh.streams)
		f.At, f.Last = uint64(b.at), uint64(b.last)
	}
	return f, true
}

// Formula is that of a step whose rows are those of the tables of generations, which begin
// with a stream. The rows from split on are in the second generation.
func (w *Windows) Formula(s *Step, c *Cursor, first int64) (f Formula, split int64) {
	f, _ = w.steps.Formula(s, c)
	a, _ := w.Keys(s)
	f.Kind, f.Lane, f.Lanes, f.Span, f.Base = InWindows, uint64(first), uint64(w.Stride), uint64(w.Span), uint64(a.K*w.Span)
	end := (a.K + 1) * w.Span * w.order.shape.streams // the first position behind the generation
	return f, min((end-s.First+s.Stride-1)/s.Stride, int64(s.Rows))
}

// Indices are the samples to draw from; nil is all.
func (o *Order) Indices() []int64 { return o.indices }
