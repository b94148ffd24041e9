package order

import "sort"

// Span is samples First, First+Step, ..., N of them.
type Span struct{ First, N, Step int64 }

// spans are samples to draw from, numbered one after the other.
type spans struct {
	list   []Span
	starts []int64 // the number of each span's first sample, and of all
}

func newSpans(list []Span) *spans {
	s := &spans{list, make([]int64, len(list)+1)}
	for i, p := range list {
		s.starts[i+1] = s.starts[i] + p.N
	}
	return s
}

func (s *spans) len() int64 { return s.starts[len(s.list)] }

// find is the span that has an item.
func (s *spans) find(item int64) int {
	if len(s.list) == 1 {
		return 0
	}
	return sort.Search(len(s.list)-1, func(i int) bool { return s.starts[i+1] > item })
}

// at is the sample of an item.
func (s *spans) at(item int64) int64 {
	i := s.find(item)
	return s.list[i].First + (item-s.starts[i])*s.list[i].Step
}

// runs appends items [item, item+n) as samples that follow each other.
func (s *spans) runs(runs []Run, item, n, row int64) []Run {
	for i := s.find(item); n > 0; i++ {
		p := &s.list[i]
		at := item - s.starts[i]
		m := min(n, p.N-at)
		if p.Step == 1 {
			runs = append(runs, Run{p.First + at, m, row})
		} else {
			for j := range m {
				runs = append(runs, Run{p.First + (at+j)*p.Step, 1, row + j})
			}
		}
		item, n, row = item+m, n-m, row+m
	}
	return runs
}
