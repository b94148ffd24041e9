package gpuload

import "context"

// generation is the memory of one. Place t of its i-th stream is row i*span+t.
type generation struct {
	table *table
	first int64 // its first stream
	runs  []run
	load  loader
	// copies is runs in the pinned tier, where the generation comes from there.
	copies []copyRun
}

// read reads a generation into its table.
func (g *generation) read(ctx context.Context, w *windows, key generationKey) error {
	if w.from != nil {
		return g.store(w, key)
	}
	if d, ok := g.table.dev.(tableDevice); ok {
		if err := d.refill(ctx, g.table); err != nil {
			return err
		}
	}
	g.plan(w, key)
	return g.load.tell(g.load.load(ctx, g.table, w.rows(), g.runs), g.table)
}

// store copies a generation from the pinned tier into the device's memory: runs of
// blocks at the link's best rate, however small the samples are.
func (g *generation) store(w *windows, key generationKey) error {
	g.plan(w, key)
	g.copies = g.copies[:0]
	for _, r := range g.runs {
		lo, hi := r.sh.lo+r.lo, r.sh.lo+r.hi
		if k := len(g.copies) - 1; k >= 0 && g.copies[k].hi == lo && g.copies[k].row+g.copies[k].hi-g.copies[k].lo == r.row {
			g.copies[k].hi = hi
			continue
		}
		g.copies = append(g.copies, copyRun{lo, hi, r.row})
	}
	return g.table.dev.(residentDevice).store(g.table, w.from.table, g.copies)
}

// plan finds the runs of a generation.
func (g *generation) plan(w *windows, key generationKey) {
	o := w.order
	p := &o.parts[0]
	cur := o.cursor(key.epoch)
	pass := cur.passOf(&cur.parts[0], uint64(key.epoch))
	g.runs = g.runs[:0]
	for i, stream := int64(0), g.first; stream < o.shape.streams; i, stream = i+1, stream+w.stride {
		lo, length := share(p.n, o.shape.streams, stream)
		from, to := key.k*w.span, min((key.k+1)*w.span, length)
		row := i * w.span
		for at := from; at < to; {
			item, n := pass.blocks.item(lo + at)
			n = min(n, to-at)
			g.runs = appendRuns(g.runs, w.shards, o.indices, item, n, row)
			at, row = at+n, row+n
		}
	}
}

// appendRuns adds items [item, item+n) as runs, cut at shards and wherever indices
// jump.
func appendRuns(runs []run, s *shardSet, indices []int64, item, n, row int64) []run {
	for n > 0 {
		first, length := item, n
		if indices != nil {
			first, length = indices[item], 1
			for length < n && indices[item+length] == first+length {
				length++
			}
		}
		for done := int64(0); done < length; {
			sh := s.find(first + done)
			lo := first + done - sh.lo
			m := min(length-done, sh.record.Samples-lo)
			runs = append(runs, run{sh, lo, lo + m, row})
			done, row = done+m, row+m
		}
		item, n = item+length, n-length
	}
	return runs
}

// segments finds the rows of a batch in its generations.
func (w *windows) segments(s *slot, cur *cursor, rows []int64) error {
	s.segments = s.segments[:0]
	o, stream := cur.shape.byStreams.div(s.first)
	for j := 0; j < s.rows; {
		key := generationKey{s.epoch, o / w.span}
		g, err := w.wait(key)
		if err != nil {
			return err
		}
		start := j
		j, o, stream = w.within(g, key, s, cur, rows, j, o, stream)
		s.segments = append(s.segments, segment{g.table, rows[start:j], int64(start)})
	}
	return nil
}

// within finds the rows from j on that lie in one generation: places from o on, of
// a stream and those that follow it.
func (w *windows) within(g *generation, key generationKey, s *slot, cur *cursor, rows []int64, j int, o, stream int64) (int, int64, int64) {
	p, shape := &cur.parts[0], &cur.shape
	base := key.k * w.span
	k, at := shape.byWindow.div(o)
	row := k*shape.window - base + (stream-g.first)/w.stride*w.span
	step := s.stride / w.stride * w.span // from one stream's rows to the next one's
	all := shape.streams / w.stride * w.span
	for j < s.rows && o < base+w.span {
		u := cur.windowOf(p, uint64(s.epoch), stream, k).perm.at(uint64(at))
		rows[j] = row + int64(u)
		j++
		stream, row = stream+s.stride, row+step
		for stream >= shape.streams {
			stream, row = stream-shape.streams, row-all
			if o, at = o+1, at+1; at == shape.window {
				k, at, row = k+1, 0, row+shape.window
			}
		}
	}
	return j, o, stream
}
