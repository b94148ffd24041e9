package trainer

// series sums amounts over time in a bounded number of buckets: when a run outgrows
// them, neighbours become one.
type series struct {
	width   int64 // nanoseconds of a bucket
	end     int64 // of the last interval
	kinds   int
	buckets []float64 // kinds for each bucket
}

const (
	maxBuckets = 1024
	firstWidth = 1e6
)

func newSeries(kinds int) *series { return &series{width: firstWidth, kinds: kinds} }

// add spreads amounts evenly over the interval [from, to) of nanoseconds since the
// begin.
func (s *series) add(from, to int64, amounts ...float64) {
	if to < 0 {
		return
	}
	if from < 0 { // the part before the begin does not show
		share := float64(to) / float64(to-from)
		for i := range amounts {
			amounts[i] *= share
		}
		from = 0
	}
	to = max(to, from+1)
	s.end = max(s.end, to)
	for to > s.width*maxBuckets {
		s.halve()
	}
	for need := int((to-1)/s.width+1) * s.kinds; len(s.buckets) < need; {
		s.buckets = append(s.buckets, 0)
	}
	for b := from / s.width; b*s.width < to; b++ {
		part := float64(min(to, (b+1)*s.width)-max(from, b*s.width)) / float64(to-from)
		for k, a := range amounts {
			s.buckets[int(b)*s.kinds+k] += a * part
		}
	}
}

// halve makes one bucket of every two.
func (s *series) halve() {
	s.width *= 2
	n := len(s.buckets) / s.kinds
	for b := range n {
		for k := range s.kinds {
			v := s.buckets[b*s.kinds+k]
			s.buckets[b*s.kinds+k] = 0
			s.buckets[b/2*s.kinds+k] += v
		}
	}
	s.buckets = s.buckets[:(n+1)/2*s.kinds]
}

// merge adds another series of the same kinds.
func (s *series) merge(o *series) {
	amounts := make([]float64, s.kinds)
	for b := range len(o.buckets) / o.kinds {
		copy(amounts, o.buckets[b*o.kinds:])
		from := int64(b) * o.width
		s.add(from, min(from+o.width, max(o.end, from+1)), amounts...)
	}
}

// stretches are amounts per second over equal stretches of time.
type stretches struct {
	// Seconds is the length of a stretch. The first begins at 0.
	Seconds float64
	// Rates are amounts per second, by kind and stretch.
	Rates [][]float64
}

// points cuts the first seconds into n stretches.
func (s *series) points(n int, seconds float64) stretches {
	p := stretches{Rates: make([][]float64, s.kinds)}
	total := seconds * 1e9
	p.Seconds = total / float64(n) * 1e-9
	for k := range p.Rates {
		p.Rates[k] = make([]float64, n)
	}
	for b := range len(s.buckets) / s.kinds {
		lo := float64(b) * float64(s.width)
		hi := min(lo+float64(s.width), float64(s.end))
		for i := int(lo * float64(n) / total); i < n; i++ {
			a, z := max(lo, float64(i)*total/float64(n)), min(hi, float64(i+1)*total/float64(n))
			if a >= z {
				if a >= hi {
					break
				}
				continue
			}
			for k := range p.Rates {
				p.Rates[k][i] += s.buckets[b*s.kinds+k] * (z - a) / (hi - lo) / p.Seconds
			}
		}
	}
	return p
}
