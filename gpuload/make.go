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
	var err error
	if s.segments, err = m.windows.Segments(s.segments[:0], &s.Step, m.cursor, m.rows); err != nil {
		return err
	}
	if m.pinned != nil {
		m.items(s)
		s.hosted = append(s.hosted[:0], load.Segment{From: m.pinned.Table, Rows: s.ids[:s.Rows], At: 0})
	}
	return m.gather(s)
}

func (m *maker) fromPinned(s *slot) error {
	m.items(s)
	s.segments = append(s.segments[:0], load.Segment{From: m.pinned.Table, Rows: s.ids[:s.Rows], At: 0})
	return m.gather(s)
}

// items computes the samples of a batch, where they are needed to make it.
func (m *maker) items(s *slot) {
	s.cursor, m.cursor = m.cursor, s.cursor
	s.number(m.order, &m.steps)
	s.cursor, m.cursor = m.cursor, s.cursor
}

// gather makes the batch of its segments. Of memory that a device cannot copy from, the
// host does.
func (m *maker) gather(s *slot) error {
	t := load.Nanos()
	var err error
	if g, ok := m.dev.(device.GPU); ok && m.mapped == nil {
		host := s.segments
		if len(s.hosted) > 0 {
			host = s.hosted
		}
		err = g.Gather(m.crew, &s.on, s.Size, s.segments, host)
	} else {
		err = load.Gather(m.crew, s.table, s.Size, s.segments)
	}
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
	var err error
	if m.raw != nil {
		err = m.convert(s)
	} else {
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
