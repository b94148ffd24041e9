package gpuload

// steps is how an epoch's positions fall to steps and ranks. Step s takes
// positions [from+s*global, from+(s+1)*global). Which of them are a rank's depends
// on the shuffle, so that ranks read apart from each other.
type steps struct {
	length int64 // positions of an epoch
	batch  int64
	rank   int64
	world  int64
	last   Last
	// strided: row j of rank r is position r+world*j of the step, so that a rank
	// has streams of its own; else it is r*batch+j.
	strided bool
}

func (s *steps) global() int64 { return s.batch * s.world }

// count is the steps from a position to the end of the epoch.
func (s *steps) count(from int64) int64 {
	left := max(s.length-from, 0)
	if s.last == Pad {
		return (left + s.global() - 1) / s.global()
	}
	return left / s.global()
}

// rows is the first position of this rank's rows in the step that begins at a
// position, their distance, and how many there are: less than batch only in a
// padded step.
func (s *steps) rows(at int64) (first, stride, n int64) {
	if s.strided {
		first, stride = at+s.rank, s.world
	} else {
		first, stride = at+s.rank*s.batch, 1
	}
	return first, stride, min(max((s.length-first+stride-1)/stride, 0), s.batch)
}
