package order

// Steps is how an epoch's positions fall to steps and ranks. Step s takes positions
// [from+s*Global, from+(s+1)*Global). Which of them are a rank's depends on the shuffle, so
// that ranks read apart from each other.
type Steps struct {
	Length      int64 // positions of an epoch
	Batch       int64
	Rank, World int64
	Last        Last
	// Strided: row j of rank r is position r+World*j of the step, so that a rank has
	// streams of its own; else it is r*Batch+j.
	Strided bool
	// Together is the most steps that are taken as one.
	Together int64
	// Packs, if set, is the batches: a position is the number of one then, and Batch is 1.
	Packs *Packs
	// Listed, if set, has epochs of other lengths.
	Listed *Order
}

// Step is one rank's rows of one step, or of several that are taken together.
type Step struct {
	Epoch  int
	Number int64 // the first step
	Steps  int64
	From   int64 // first position of the step, over all ranks
	First  int64 // this rank's first position
	Stride int64
	Rows   int
	Size   int64 // rows with padding
}

// Global is the positions of a step, over all ranks.
func (s *Steps) Global() int64 { return s.Batch * s.World }

// Most is the most rows of a Step.
func (s *Steps) Most() int64 {
	if s.Packs != nil {
		return s.Packs.most * s.Together
	}
	return s.Batch * s.Together
}

// positions is the positions of an epoch.
func (s *Steps) positions(epoch int) int64 {
	if s.Packs != nil {
		return s.Packs.Batches(epoch)
	}
	if s.Listed != nil {
		return s.Listed.LenOf(epoch)
	}
	return s.Length
}

// Count is the steps from a position to the end of an epoch.
func (s *Steps) Count(epoch int, from int64) int64 {
	left := max(s.positions(epoch)-from, 0)
	if s.Last != Drop {
		return (left + s.Global() - 1) / s.Global()
	}
	return left / s.Global()
}

// Rows is the first position of this rank's rows in the step that begins at a position,
// their distance, and how many there are: less than Batch only in the last step of an
// epoch.
func (s *Steps) Rows(epoch int, at int64) (first, stride, n int64) {
	if s.Strided {
		first, stride = at+s.Rank, s.World
	} else {
		first, stride = at+s.Rank*s.Batch, 1
	}
	return first, stride, min(max((s.positions(epoch)-first+stride-1)/stride, 0), s.Batch)
}

// At is the steps from a position on. All but the last of an epoch are full.
func (s *Steps) At(epoch int, at int64) Step {
	n := min(s.Together, s.Count(epoch, at))
	if s.Packs != nil {
		rows := 0
		for k := range n {
			rows += s.RowsOf(epoch, at, k)
		}
		return Step{epoch, at / s.World, n, at, at + s.Rank, 1, rows, int64(rows)}
	}
	first, stride, _ := s.Rows(epoch, at)
	_, _, last := s.Rows(epoch, at+(n-1)*s.Global())
	return Step{epoch, at / s.Global(), n, at, first, stride, int((n-1)*s.Batch + last), n * s.Batch}
}

// RowsOf is this rank's rows of step k from a position on, of batches by a budget.
func (s *Steps) RowsOf(epoch int, at, k int64) int {
	q := at + k*s.World + s.Rank
	if q >= s.positions(epoch) {
		return 0
	}
	return len(s.Packs.Samples(epoch, q))
}

// Fill writes the samples of a step's rows.
func (s *Steps) Fill(ids []int64, of *Step, c *Cursor) {
	if s.Packs != nil {
		for q := of.First; len(ids) > 0; q += s.World {
			ids = ids[copy(ids, s.Packs.Samples(of.Epoch, q)):]
		}
		return
	}
	if s.Strided || s.World == 1 { // then a step's rows follow those of the one before
		c.Fill(ids, of.First, of.Stride)
		return
	}
	for q := of.First; len(ids) > 0; q += s.Global() {
		n := min(int64(len(ids)), s.Batch)
		c.Fill(ids[:n], q, of.Stride)
		ids = ids[n:]
	}
}

// End is the position behind a step.
func (s *Steps) End(of *Step) int64 { return min(of.From+of.Steps*s.Global(), s.positions(of.Epoch)) }
