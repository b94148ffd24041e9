package gpuload

import (
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
	var err error
	switch {
	case m.windows != nil && s.Rows > 0:
		// Until the device was told what to read, the windows must stay.
		a, b := m.windows.Keys(&s.Step)
		defer m.windows.Unclaim(a, b)
		err = m.fromWindows(s)
	case m.pinned != nil:
		err = m.fromPinned(s)
	case m.windows != nil && !m.onHost: // no rows at all
		err = m.onDevice(m.dev.(device.GPU), s, device.Rows{From: [2]*load.Table{m.windows.All[0].Table}})
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
	if g, ok := m.dev.(device.GPU); ok {
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
	return m.gather(s)
}

func (m *maker) fromPinned(s *slot) error {
	if g, ok := m.dev.(device.GPU); ok {
		r := device.Rows{Split: int64(s.Rows), From: [2]*load.Table{m.pinned.Table}}
		if f, ok := m.steps.Formula(&s.Step, m.cursor); ok && !m.listed {
			r.Formula = &f
		}
		return m.onDevice(g, s, r)
	}
	return m.gather(m.allPinned(s))
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
	m.items(s)
	s.segments = m.mapped.Segments(s.segments[:0], s.ids[:s.Rows], m.rows)
	return m.gather(s)
}
