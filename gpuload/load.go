package gpuload

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// run is samples that stand together in a shard and are to stand together in a
// table.
type run struct {
	sh     *shard
	lo, hi int64 // in the shard
	row    int64 // in the table
}

// span is a run on its way.
type span struct {
	run
	h *openShard
	// By tensor: what it selects of the shard's lists or elements.
	from, to []int64
	scratch  []byte
	tar      tarSpan
}

// loader brings runs into a table. It is used by one goroutine, and its memory is
// used again.
type loader struct {
	*shardSet
	crew  *crew
	spans []span
	// hold: the bytes of tars are kept from one pass to the next.
	hold bool
}

// holdBytes is the most of tars that is kept in memory between two passes over it.
const holdBytes = 256 << 20

// load makes t a table of rows rows and fills those that runs name; the others
// have empty lists and undefined fixed fields.
func (l *loader) load(ctx context.Context, t *table, rows int64, runs []run) error {
	if err := t.reset(rows); err != nil {
		return err
	}
	for cap(l.spans) < len(runs) {
		l.spans = append(l.spans[:cap(l.spans)], span{})
	}
	l.spans = l.spans[:len(runs)]
	tarBytes := int64(0)
	for i := range runs {
		l.spans[i].run = runs[i]
		if sh := runs[i].sh; sh.tar != nil {
			tarBytes += sh.record.Bytes / max(sh.record.Samples, 1) * (runs[i].hi - runs[i].lo)
		}
	}
	l.hold = tarBytes <= holdBytes
	return l.passes(ctx, t)
}

// passes: lengths, then lengths of lists in lists, then data.
func (l *loader) passes(ctx context.Context, t *table) error {
	if err := l.each(ctx, t, (*span).measure); err != nil {
		return err
	}
	if err := layOut(t, index.LeadOffsets); err != nil {
		return err
	}
	if l.twoLevels() {
		if err := l.each(ctx, t, (*span).measureLists); err != nil {
			return err
		}
		if err := layOut(t, index.LeadLists); err != nil {
			return err
		}
	}
	for i := range l.layout.Tensors {
		if l.layout.Tensors[i].Lead == index.LeadElements {
			if err := t.setCount(i, t.total(lastOffsets(l.layout.ColumnOf(i)))); err != nil {
				return err
			}
		}
	}
	return l.each(ctx, t, (*span).fill)
}

func (l *loader) twoLevels() bool {
	for i := range l.layout.Tensors {
		if l.layout.Tensors[i].Lead == index.LeadLists {
			return true
		}
	}
	return false
}

// layOut turns lengths into offsets and makes room for what they count.
func layOut(t *table, lead index.Lead) error {
	for i := range t.layout.Tensors {
		if t.layout.Tensors[i].Lead != lead {
			continue
		}
		sum(t.int64s(i))
	}
	if lead != index.LeadOffsets {
		return nil
	}
	for i := range t.layout.Tensors {
		if t.layout.Tensors[i].Lead != index.LeadLists {
			continue
		}
		if err := t.setCount(i, t.total(t.layout.ColumnOf(i).Offsets)+1); err != nil {
			return err
		}
		clear(t.bytes(i))
	}
	return nil
}

// each runs one pass over all spans.
func (l *loader) each(ctx context.Context, t *table, pass func(*span, *loader, *table) error) error {
	return l.crew.each(len(l.spans), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &l.spans[i]
		h, err := l.acquire(s.sh)
		if err != nil {
			return err
		}
		s.h = h
		err = pass(s, l, t)
		l.release(h)
		return shardify.Annotate(err, "read", s.sh.path, "")
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
func (s *span) measure(l *loader, t *table) error {
	s.ready(len(l.layout.Tensors))
	if s.sh.tar != nil {
		return s.measureTar(l, t)
	}
	for i := range l.layout.Tensors {
		if l.layout.Tensors[i].Lead != index.LeadOffsets {
			continue
		}
		if err := s.lengths(i, s.lo, s.hi, t.int64s(i)[s.row+1:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *span) measureLists(l *loader, t *table) error {
	if s.sh.tar != nil {
		return s.measureTexts(l, t)
	}
	for i := range l.layout.Tensors {
		if l.layout.Tensors[i].Lead != index.LeadLists {
			continue
		}
		o := l.layout.ColumnOf(i).Offsets
		if err := s.lengths(i, s.from[o], s.to[o], t.int64s(i)[t.int64s(o)[s.row]+1:]); err != nil {
			return err
		}
	}
	return nil
}

// lengths reads entries [lo, hi] of offsets tensor i, and writes their differences.
func (s *span) lengths(i int, lo, hi int64, into []int64) error {
	b := s.buffer((hi - lo + 1) * 8)
	if err := s.h.mmap.Read(b, s.h.tensors[i], lo); err != nil {
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

// fill reads the data.
func (s *span) fill(l *loader, t *table) error {
	if s.sh.tar != nil {
		return s.fillTar(l, t)
	}
	for i := range l.layout.Tensors {
		lo, hi, to := s.lo, s.hi, s.row
		switch l.layout.Tensors[i].Lead {
		case index.LeadOffsets, index.LeadLists:
			continue
		case index.LeadElements:
			c := l.layout.ColumnOf(i)
			o := lastOffsets(c)
			lo, hi = s.from[o], s.to[o]
			to = t.int64s(c.Offsets)[s.row]
			if c.Offsets1 >= 0 {
				to = t.int64s(c.Offsets1)[to]
			}
		}
		if err := s.h.mmap.Read(t.part(i, to, to+hi-lo), s.h.tensors[i], lo); err != nil {
			return err
		}
	}
	return nil
}

// runs appends n samples that follow each other, cut at shards.
func (s *shardSet) runs(runs []run, sample, n, row int64) []run {
	for n > 0 {
		sh := s.find(sample)
		lo := sample - sh.lo
		m := min(n, sh.record.Samples-lo)
		runs = append(runs, run{sh, lo, lo + m, row})
		sample, row, n = sample+m, row+m, n-m
	}
	return runs
}
