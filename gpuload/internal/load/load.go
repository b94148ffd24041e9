package load

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
)

// Run is samples that are consecutive in a shard and in a table.
type Run struct {
	Sh     *Shard
	Lo, Hi int64 // in the shard
	Row    int64 // in the table
}

// span is a run on its way.
type span struct {
	Run
	h *OpenShard
	// By tensor: what it selects of the shard's lists or elements.
	from, to []int64
	scratch  []byte
	tar      tarSpan
}

// Reader brings runs into a table. It is used by one goroutine, and its memory is
// used again.
type Reader struct {
	*Shards
	Crew  *Crew
	spans []span
	// hold: the bytes of tars are kept from one pass to the next.
	hold  bool
	visit visit
}

// holdBytes is the most of tars that is kept in memory between two passes over it.
const holdBytes = 256 << 20

// Load makes t a table of rows rows and fills those that runs name; the others
// have empty lists and undefined fixed fields.
func (l *Reader) Load(ctx context.Context, t *Table, rows int64, runs []Run) error {
	if done, err := l.visited(ctx, t, rows, runs); done || err != nil {
		return err
	}
	tarBytes, err := l.begin(t, rows, runs)
	if err != nil {
		return err
	}
	return l.passes(ctx, t, tarBytes > 0 || l.has(index.LeadOffsets))
}

// measure is Load without the data: where the lists of rows begin.
func (l *Reader) measure(ctx context.Context, t *Table, rows int64, runs []Run) error {
	if _, err := l.begin(t, rows, runs); err != nil {
		return err
	}
	l.hold = false
	if err := l.each(ctx, t, (*span).measure); err != nil {
		return err
	}
	return layOut(t, index.LeadOffsets)
}

// begin makes spans of runs. It returns how many bytes of tars they are, about.
func (l *Reader) begin(t *Table, rows int64, runs []Run) (tarBytes int64, err error) {
	if err := t.Reset(rows); err != nil {
		return 0, err
	}
	for cap(l.spans) < len(runs) {
		l.spans = append(l.spans[:cap(l.spans)], span{})
	}
	l.spans = l.spans[:len(runs)]
	for i := range runs {
		l.spans[i].Run = runs[i]
		if sh := runs[i].Sh; sh.Tar != nil {
			tarBytes += max(sh.Record.Bytes/max(sh.Record.Samples, 1), 1) * (runs[i].Hi - runs[i].Lo)
		}
	}
	l.hold = tarBytes <= holdBytes
	return tarBytes, nil
}

// passes: lengths where there are any, then lengths of lists in lists, then data.
func (l *Reader) passes(ctx context.Context, t *Table, lengths bool) error {
	if lengths {
		if err := l.each(ctx, t, (*span).measure); err != nil {
			return err
		}
	}
	if err := layOut(t, index.LeadOffsets); err != nil {
		return err
	}
	if l.has(index.LeadLists) {
		if err := l.each(ctx, t, (*span).measureLists); err != nil {
			return err
		}
		if err := layOut(t, index.LeadLists); err != nil {
			return err
		}
	}
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead == index.LeadElements {
			if err := t.setCount(i, t.total(lastOffsets(l.Layout.ColumnOf(i)))); err != nil {
				return err
			}
		}
	}
	return l.each(ctx, t, (*span).fillOnce)
}

func (l *Reader) has(lead index.Lead) bool {
	return slices.ContainsFunc(l.Layout.Tensors, func(t index.TensorSpec) bool { return t.Lead == lead })
}

// layOut turns lengths into offsets and makes room for what they count.
func layOut(t *Table, lead index.Lead) error {
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead != lead {
			continue
		}
		sum(t.Int64s(i))
	}
	if lead != index.LeadOffsets {
		return nil
	}
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead != index.LeadLists {
			continue
		}
		if err := t.setCount(i, t.total(t.Layout.ColumnOf(i).Offsets)+1); err != nil {
			return err
		}
		clear(t.Bytes(i))
	}
	return nil
}

// each runs one pass over all spans.
func (l *Reader) each(ctx context.Context, t *Table, pass func(*span, *Reader, *Table) error) error {
	return l.Crew.Each(len(l.spans), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &l.spans[i]
		h, err := l.Acquire(s.Sh)
		if err != nil {
			return err
		}
		s.h = h
		if err = pass(s, l, t); err != nil && !h.fetched() && dataset.Again(h.File, err) {
			err = pass(s, l, t)
		}
		l.Release(h)
		return shardify.Annotate(err, "read", s.Sh.Path, "")
	})
}

func (s *span) ready(tensors int) {
	if len(s.from) != tensors {
		s.from, s.to = make([]int64, tensors), make([]int64, tensors)
	}
}

// buffer is n bytes of scratch memory, aligned to 8.
func (s *span) buffer(n int64) []byte {
	if int64(cap(s.scratch)) < n {
		s.scratch = shardify.Bytes(make([]int64, (n+n/4)/8+1))
	}
	return s.scratch[:n]
}

// measure writes the lengths of the span's lists.
func (s *span) measure(l *Reader, t *Table) error {
	s.ready(len(l.Layout.Tensors))
	if s.Sh.Tar != nil {
		return s.measureTar(l, t)
	}
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead != index.LeadOffsets {
			continue
		}
		if err := s.lengths(i, s.Lo, s.Hi, t.Int64s(i)[s.Row+1:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *span) measureLists(l *Reader, t *Table) error {
	if s.Sh.Tar != nil {
		return s.measureTexts(l, t)
	}
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead != index.LeadLists {
			continue
		}
		o := l.Layout.ColumnOf(i).Offsets
		if err := s.lengths(i, s.from[o], s.to[o], t.Int64s(i)[t.Int64s(o)[s.Row]+1:]); err != nil {
			return err
		}
	}
	return nil
}

// lengths reads entries [lo, hi] of offsets tensor i, and writes their differences.
func (s *span) lengths(i int, lo, hi int64, into []int64) error {
	b := s.buffer((hi - lo + 1) * 8)
	if err := s.h.Mmap.Read(b, s.h.Tensors[i], lo); err != nil {
		return err
	}
	o := shardify.View[int64](b)
	into = into[:len(o)-1]
	for k := range into {
		into[k] = o[k+1] - o[k]
	}
	s.from[i], s.to[i] = o[0], o[hi-lo]
	return nil
}

// fillOnce is fill, after which the samples may be forgotten.
func (s *span) fillOnce(l *Reader, t *Table) error {
	err := s.fill(l, t)
	if err == nil && l.Once {
		l.read(s.h, s.Hi-s.Lo)
	}
	return err
}

// fill reads the data.
func (s *span) fill(l *Reader, t *Table) error {
	if s.Sh.Tar != nil {
		return s.fillTar(l, t)
	}
	for i := range l.Layout.Tensors {
		if t.Absent != nil && t.Absent[i] {
			continue
		}
		lo, hi, to := s.Lo, s.Hi, s.Row
		switch l.Layout.Tensors[i].Lead {
		case index.LeadOffsets, index.LeadLists:
			continue
		case index.LeadElements:
			c := l.Layout.ColumnOf(i)
			o := lastOffsets(c)
			lo, hi = s.from[o], s.to[o]
			to = t.Int64s(c.Offsets)[s.Row]
			if c.Offsets1 >= 0 {
				to = t.Int64s(c.Offsets1)[to]
			}
		}
		if err := s.h.Mmap.Read(t.Part(i, to, to+hi-lo), s.h.Tensors[i], lo); err != nil {
			return err
		}
	}
	return nil
}

// RunsOf is the runs of a batch's samples in their order. Those that follow each other are one, of at most so many.
func (s *Shards) RunsOf(runs []Run, samples []int64, most int) []Run {
	runs = runs[:0]
	for j := 0; j < len(samples); {
		n := 1
		for j+n < len(samples) && n < most && samples[j+n] == samples[j]+int64(n) {
			n++
		}
		if n > 1 {
			runs = s.Runs(runs, samples[j], int64(n), int64(j))
		} else {
			sh := s.find(samples[j])
			runs = append(runs, Run{sh, samples[j] - sh.Lo, samples[j] - sh.Lo + 1, int64(j)})
		}
		j += n
	}
	return runs
}

// Runs appends n samples that follow each other, cut at shards.
func (s *Shards) Runs(runs []Run, sample, n, row int64) []Run {
	var sh *Shard
	if k := len(runs) - 1; k >= 0 {
		sh = runs[k].Sh // mostly
	}
	for n > 0 {
		if sh == nil || sample < sh.Lo || sample-sh.Lo >= sh.Record.Samples {
			sh = s.find(sample)
		}
		lo := sample - sh.Lo
		m := min(n, sh.Record.Samples-lo)
		runs = append(runs, Run{sh, lo, lo + m, row})
		sample, row, n = sample+m, row+m, n-m
	}
	return runs
}
