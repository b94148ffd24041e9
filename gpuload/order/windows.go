package order

// Windows is how a Block shuffle is read ahead: a generation is the next stretch of every
// stream that a rank has, in a table of rows. Place t of its i-th stream is row i*Span+t.
// The rows of a batch are in one generation or in two consecutive ones.
type Windows struct {
	order  *Order
	steps  *Steps
	Span   int64 // places of a stream in a generation, whole windows
	Stride int64 // between the rank's streams
}

// Key names a generation.
type Key struct {
	Epoch int
	K     int64
}

// Before: generations are read in this order.
func (a Key) Before(b Key) bool { return a.Epoch < b.Epoch || a.Epoch == b.Epoch && a.K < b.K }

// Next is the generation behind it in the epoch.
func (a Key) Next() Key { return Key{a.Epoch, a.K + 1} }

// Windows is the generations of an order that is Windowed.
func (o *Order) Windows(s *Steps) Windows {
	c := o.shape.streams
	batch := (s.Most()-1)*s.World/c + 2 // places of a stream that a batch may touch
	span := (batch + o.shape.window - 1) / o.shape.window * o.shape.window
	return Windows{o, s, min(span, (o.parts[0].n+c-1)/c), GCD(s.World, c)}
}

// GCD is the greatest common divisor.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Rows is the rows of a generation.
func (w *Windows) Rows() int64 { return w.order.shape.streams / w.Stride * w.Span }

// Key is the generation of a position.
func (w *Windows) Key(epoch int, q int64) Key { return Key{epoch, q / w.order.shape.streams / w.Span} }

// Keys is the range of the generations that a step's rows are in.
func (w *Windows) Keys(s *Step) (a, b Key) {
	return w.Key(s.Epoch, s.First), w.Key(s.Epoch, s.First+int64(s.Rows-1)*s.Stride)
}

// FirstStream is the first of the streams that has a position.
func (w *Windows) FirstStream(q int64) int64 { return q % w.Stride }

// Epoch is the generations that a rank needs from a position to the end of an epoch, and
// their first stream. ok: there are any.
func (w *Windows) Epoch(epoch int, from int64) (a, b Key, first int64, ok bool) {
	n := w.steps.Count(epoch, from)
	lo, stride, rows := w.steps.Rows(epoch, from)
	if n == 0 || rows == 0 { // then later steps have none either
		return a, b, 0, false
	}
	end, _, last := w.steps.Rows(epoch, from+(n-1)*w.steps.Global())
	end += max(last-1, 0) * stride
	return w.Key(epoch, lo), w.Key(epoch, end), w.FirstStream(lo), true
}

// Run is N samples that follow each other in the set, and in the rows from Row on.
type Run struct{ Sample, N, Row int64 }

// Runs appends the runs of a generation.
func (w *Windows) Runs(runs []Run, key Key, first int64) []Run {
	o := w.order
	p := &o.parts[0]
	cur := o.Cursor(key.Epoch)
	pass := cur.passOf(&cur.parts[0], uint64(key.Epoch))
	for i, stream := int64(0), first; stream < o.shape.streams; i, stream = i+1, stream+w.Stride {
		lo, length := share(p.n, o.shape.streams, stream)
		from, to := key.K*w.Span, min((key.K+1)*w.Span, length)
		row := i * w.Span
		for at := from; at < to; {
			item, n := pass.blocks.item(lo + at)
			n = min(n, to-at)
			runs = o.run(runs, item, n, row)
			at, row = at+n, row+n
		}
	}
	return runs
}

// run appends items [item, item+n), cut wherever indices jump.
func (o *Order) run(runs []Run, item, n, row int64) []Run {
	if o.spans != nil {
		return o.spans.runs(runs, item, n, row)
	}
	if o.indices == nil {
		return append(runs, Run{item, n, row})
	}
	for n > 0 {
		first, length := o.indices[item], int64(1)
		for length < n && o.indices[item+length] == first+length {
			length++
		}
		runs = append(runs, Run{first, length, row})
		item, n, row = item+length, n-length, row+length
	}
	return runs
}

// Place is how far the rows of a step were found.
type Place struct {
	Row        int
	at, stream int64
}

// Begin is the place of a step's first row.
func (w *Windows) Begin(s *Step) (p Place) {
	p.at, p.stream = w.order.shape.byStreams.div(s.First)
	return p
}

// KeyOf is the generation of a place.
func (w *Windows) KeyOf(s *Step, p Place) Key { return Key{s.Epoch, p.at / w.Span} }

// Fill finds the rows of a step, from a place on, that are in one generation, which begins
// with a stream. It returns the place behind them.
func (w *Windows) Fill(rows []int64, s *Step, c *Cursor, at Place, key Key, first int64) Place {
	p, shape := &c.parts[0], &c.shape
	j, o, stream := at.Row, at.at, at.stream
	base := key.K * w.Span
	k, within := shape.byWindow.div(o)
	row := k*shape.window - base + (stream-first)/w.Stride*w.Span
	step := s.Stride / w.Stride * w.Span // from one stream's rows to the next one's
	all := shape.streams / w.Stride * w.Span
	for j < s.Rows && o < base+w.Span {
		u := c.windowOf(p, uint64(s.Epoch), stream, k).perm.at(uint64(within))
		rows[j] = row + int64(u)
		j++
		stream, row = stream+s.Stride, row+step
		for stream >= shape.streams {
			stream, row = stream-shape.streams, row-all
			if o, within = o+1, within+1; within == shape.window {
				k, within, row = k+1, 0, row+shape.window
			}
		}
	}
	return Place{j, o, stream}
}
