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
	// together is the most steps that one batch has: Config.Group.
	together int64
}

func (s *steps) global() int64 { return s.batch * s.world }

// most is the rows of the largest batch.
func (s *steps) most() int64 { return s.batch * s.together }

// count is the steps from a position to the end of the epoch.
func (s *steps) count(from int64) int64 {
	left := max(s.length-from, 0)
	if s.last != Drop {
		return (left + s.global() - 1) / s.global()
	}
	return left / s.global()
}

// rows is the first position of this rank's rows in the step that begins at a
// position, their distance, and how many there are: less than batch only in the
// last step of an epoch.
func (s *steps) rows(at int64) (first, stride, n int64) {
	if s.strided {
		first, stride = at+s.rank, s.world
	} else {
		first, stride = at+s.rank*s.batch, 1
	}
	return first, stride, min(max((s.length-first+stride-1)/stride, 0), s.batch)
}

// give makes a slot that of the steps from a position on. All but the last of an epoch
// are full.
func (s *steps) give(to *slot, epoch int, at int64) {
	n := min(s.together, s.count(at))
	to.epoch, to.from, to.step, to.steps, to.size = epoch, at, at/s.global(), n, n*s.batch
	to.first, to.stride, _ = s.rows(at)
	_, _, last := s.rows(at + (n-1)*s.global())
	to.rows = int((n-1)*s.batch + last)
}

// fill writes the samples of a slot's rows.
func (s *steps) fill(ids []int64, of *slot, c *cursor) {
	if s.strided || s.world == 1 { // then a step's rows follow those of the one before
		c.fill(ids, of.first, of.stride)
		return
	}
	for q := of.first; len(ids) > 0; q += s.global() {
		n := min(int64(len(ids)), s.batch)
		c.fill(ids[:n], q, of.stride)
		ids = ids[n:]
	}
}

// end is the position behind a slot's steps.
func (s *steps) end(of *slot) int64 { return min(of.from+of.steps*s.global(), s.length) }
