package gpuload

import (
	"slices"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
)

// make fills a slot with its step's samples and sends it to the device.
func (m *maker) make(s *slot) error {
	if err := m.dev.Reuse(m.ctx, &s.on); err != nil {
		return err
	}
	if m.cursor == nil || m.cursor.Epoch() != s.Epoch {
		m.cursor = m.order.Cursor(s.Epoch)
	}
	if m.cfg.Synthetic && s.filled {
		return m.transfer(s)
	}
	s.known, s.filled = false, true
	gpu, gathers := m.gathers()
	var err error
	switch {
	case m.windows != nil && s.Rows > 0:
		// The windows must stay until the device knows what to read.
		a, b := m.windows.Keys(&s.Step)
		defer m.windows.Unclaim(a, b)
		err = m.fromWindows(s)
	case m.pinned != nil:
		err = m.fromPinned(s)
	case m.windows != nil && gathers: // no rows at all
		err = m.onDevice(gpu, s, device.Rows{From: [2]*load.Table{m.windows.All[0].Table}})
	case m.mapped != nil:
		err = m.fromMapped(s)
	default:
		err = m.direct(s)
	}
	if err != nil {
		return err
	}
	return m.transfer(s)
}

// transfer sends a slot to the device.
func (m *maker) transfer(s *slot) error {
	t := load.Nanos()
	err := m.dev.Send(&s.on, s.Epoch, s.Number)
	m.stats.copied.Add(load.Nanos() - t)
	m.trace.event("copy", "copy", t, s.Number, s.table.Size())
	return err
}

func (m *maker) fromWindows(s *slot) error {
	if g, ok := m.gathers(); ok {
		from, first, err := m.windows.Tables(&s.Step)
		if err != nil {
			return err
		}
		f, split := m.windows.Formula(&s.Step, m.cursor, first)
		return m.onDevice(g, s, device.Rows{Split: split, From: from, Formula: &f})
	}
	var err error
	if s.segments, err = m.windows.Segments(s.segments[:0], &s.Step, m.cursor, m.rows); err != nil {
		return err
	}
	if m.view != nil {
		if m.window.slack > 0 {
			m.items(s)
			for _, g := range s.segments {
				m.move(g.Rows, s.ids[g.At:], s.Epoch)
			}
		}
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			for _, g := range s.segments {
				list = m.sideOf(side, list, g.From, g.Rows, g.At)
			}
			return list
		})
	}
	return m.gather(s)
}

func (m *maker) fromPinned(s *slot) error {
	if g, ok := m.gathers(); ok {
		r := device.Rows{Split: int64(s.Rows), From: [2]*load.Table{m.pinned.Table}}
		if f, ok := m.steps.Formula(&s.Step, m.cursor); ok && !m.listed {
			r.Formula = &f
		}
		return m.onDevice(g, s, r)
	}
	if m.view != nil {
		anchors := m.moved(s)
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			return m.sideOf(side, list, m.pinned.Table, anchors, 0)
		})
	}
	return m.gather(m.allPinned(s))
}

// moved is where the windows of a batch have their anchors, in rows of the set.
func (m *maker) moved(s *slot) []int64 {
	m.items(s)
	if m.window.slack == 0 {
		return s.ids[:s.Rows]
	}
	m.anchors = append(m.anchors[:0], s.ids[:s.Rows]...)
	m.move(m.anchors, s.ids, s.Epoch)
	return m.anchors
}

// move moves rows, which are those of samples.
func (m *maker) move(rows, ids []int64, epoch int) {
	for j := range rows {
		rows[j] += m.order.Offset(epoch, ids[j], m.window.slack)
	}
}

// gatherSides makes a batch of windows; from says where a side's rows are.
func (m *maker) gatherSides(s *slot, from func(side *load.Side, list []load.Segment) []load.Segment) error {
	t := load.Nanos()
	err := s.table.Reset(s.Size)
	for i := range m.view.Sides {
		if err == nil {
			side := &m.view.Sides[i]
			m.starts, m.segments = m.starts[:0], m.segments[:0]
			m.segments = from(side, m.segments)
			err = side.Gather(m.crew, s.sides[i], s.table, s.Size, m.segments)
		}
	}
	m.stats.gathered.Add(load.Nanos() - t)
	m.trace.event("gather", "gather", t, s.Number, s.table.Size())
	return err
}

// sideOf appends the rows of windows whose anchors are rows of a table; the first one is the
// batch's window at.
func (m *maker) sideOf(side *load.Side, list []load.Segment, from *load.Table, anchors []int64, at int64) []load.Segment {
	n := len(m.starts)
	m.starts = windowRows(m.starts, anchors, side.Starts)
	return append(list, load.Segment{From: from, Rows: m.starts[n:], At: at * side.Rows(), Each: side.Each})
}

// allPinned makes all rows of a batch those of the pinned tier.
func (m *maker) allPinned(s *slot) *slot {
	m.items(s)
	s.segments = append(s.segments[:0], load.Segment{From: m.pinned.Table, Rows: s.ids[:s.Rows], At: 0})
	return s
}

// onDevice makes a batch of what a device gathers by itself, and of what the host gathers
// for it.
func (m *maker) onDevice(g device.GPU, s *slot, r device.Rows) error {
	t := load.Nanos()
	m.at, r.By = s, m
	r.Size, r.Rows = s.Size, int64(s.Rows)
	err := g.Gather(m.crew, &s.on, &r)
	m.stats.gathered.Add(load.Nanos() - t)
	m.trace.event("gather", "gather", t, s.Number, s.table.Size())
	return err
}

// Listed is the numbers of a batch's rows, where the device asks for them.
func (m *maker) Listed() ([]int64, error) {
	s := m.at
	if m.windows == nil {
		m.items(s)
		return s.ids[:s.Rows], nil
	}
	var err error
	s.segments, err = m.windows.Segments(s.segments[:0], &s.Step, m.cursor, m.rows)
	return m.rows[:s.Rows], err
}

// Hosted is a batch's rows for what the host gathers.
func (m *maker) Hosted() ([]load.Segment, error) {
	switch s := m.at; {
	case s.Rows == 0:
		return nil, nil
	case m.pinned != nil:
		return m.allPinned(s).segments, nil
	}
	_, err := m.Listed()
	return m.at.segments, err
}

// items computes the samples of a batch, where they are needed to make it.
func (m *maker) items(s *slot) {
	if s.known {
		return
	}
	m.stats.numbered.Add(int64(s.Rows))
	s.cursor, m.cursor = m.cursor, s.cursor
	s.number(m.order, &m.steps)
	s.cursor, m.cursor = m.cursor, s.cursor
}

// gather makes the batch of its segments.
func (m *maker) gather(s *slot) error {
	t := load.Nanos()
	err := load.Gather(m.crew, s.table, s.Size, s.segments)
	m.stats.gathered.Add(load.Nanos() - t)
	m.trace.event("gather", "gather", t, s.Number, s.table.Size())
	return err
}

// direct reads a batch's samples from the shards into the slot.
func (m *maker) direct(s *slot) error {
	t := load.Nanos()
	m.items(s)
	if m.view != nil {
		err := m.directWindows(s)
		m.trace.event("read", "read", t, s.Number, s.table.Size())
		return err
	}
	m.runs = m.runs[:0]
	for j := 0; j < s.Rows; {
		n := 1
		for j+n < s.Rows && s.ids[j+n] == s.ids[j]+int64(n) {
			n++
		}
		m.runs = m.shards.Runs(m.runs, s.ids[j], int64(n), int64(j))
		j += n
	}
	err := m.shards.Prepare(m.ctx, m.runs)
	switch {
	case err != nil:
	case m.raw != nil:
		err = m.convert(s)
	default:
		err = m.load.Load(m.ctx, s.table, s.Size, m.runs)
		if err == nil && int64(s.Rows) < s.Size {
			s.table.Zero(int64(s.Rows))
		}
	}
	m.trace.event("read", "read", t, s.Number, s.table.Size())
	return err
}

// convert reads a batch's samples and casts them on their way into the slot.
func (m *maker) convert(s *slot) error {
	if err := m.load.Load(m.ctx, m.raw, s.Size, m.runs); err != nil {
		return err
	}
	for j := range s.Rows {
		m.rows[j] = int64(j)
	}
	s.segments = append(s.segments[:0], load.Segment{From: m.raw, Rows: m.rows[:s.Rows], At: 0})
	return load.Gather(m.crew, s.table, s.Size, s.segments)
}

func (m *maker) fromMapped(s *slot) error {
	if m.view != nil {
		anchors := m.moved(s)
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			m.starts = windowRows(m.starts, anchors, side.Starts)
			return m.mapped.Windows(list, m.starts, side.Each)
		})
	}
	m.items(s)
	s.segments = m.mapped.Segments(s.segments[:0], s.ids[:s.Rows], m.rows)
	return m.gather(s)
}

// directWindows reads the rows of a batch's windows and gathers them. Windows that follow each
// other have their rows read once.
func (m *maker) directWindows(s *slot) error {
	v, ids := m.view, m.moved(s)
	m.runs, m.rows = m.runs[:0], m.rows[:s.Rows]
	m.dense = m.dense[:0]
	at, span := int64(0), v.Hi-v.Lo+1
	shared := false
	for j := 0; j < s.Rows; {
		n := int64(1)
		for j+int(n) < s.Rows && ids[j+int(n)] == ids[j]+n {
			n++
		}
		dense := n-1+span <= n*int64(len(v.Distances))
		shared = shared || dense && n > 1
		if dense {
			m.runs = m.shards.Runs(m.runs, ids[j]+v.Lo, n-1+span, at)
		}
		for k := range n {
			m.dense = append(m.dense, dense)
			if m.rows[j+int(k)] = at + k - v.Lo; !dense {
				m.rows[j+int(k)] = at
				at = m.apart(ids[j]+k, at)
			}
		}
		if dense {
			at += n - 1 + span
		}
		j += int(n)
	}
	err := m.shards.Prepare(m.ctx, m.runs)
	if err == nil && m.straight && !shared {
		return m.readSides(s, ids)
	}
	if err == nil {
		err = m.load.Load(m.ctx, m.raw, at, m.runs)
	}
	if err != nil {
		return err
	}
	return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
		for j, row := range m.rows {
			for _, o := range side.Starts {
				if !m.dense[j] {
					k, _ := slices.BinarySearch(v.Distances, o)
					o = int64(k)
				}
				m.starts = append(m.starts, row+o)
			}
		}
		return append(list, load.Segment{From: m.raw, Rows: m.starts, Each: side.Each})
	})
}

// readSides reads the rows of a batch's windows where they are to be.
func (m *maker) readSides(s *slot, anchors []int64) error {
	err := s.table.Reset(s.Size)
	for i := range m.view.Sides {
		side, at := &m.view.Sides[i], int64(0)
		m.runs = m.runs[:0]
		for _, a := range anchors {
			for _, o := range side.Starts {
				m.runs = m.shards.Runs(m.runs, a+o, side.Each, at)
				at += side.Each
			}
		}
		if err == nil {
			err = side.Read(m.ctx, &m.load, s.sides[i], s.table, s.Size, m.runs)
		}
	}
	return err
}

// apart reads the rows of one window, and no others, to row at on. It returns the row behind them.
func (m *maker) apart(anchor, at int64) int64 {
	d := m.view.Distances
	for len(d) > 0 {
		n := 1
		for n < len(d) && d[n] == d[0]+int64(n) {
			n++
		}
		m.runs = m.shards.Runs(m.runs, anchor+d[0], int64(n), at)
		at, d = at+int64(n), d[n:]
	}
	return at
}
