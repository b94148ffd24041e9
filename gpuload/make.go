package gpuload

import (
	"context"
	"math"
	"slices"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/gpuload/order"
)

// pieceBytes is about how much of samples that follow each other is read by one call. One
// goroutine copies from the page cache slower than a GPU's link takes it; a batch's pieces are read
// by several.
const pieceBytes = 4 << 20

// maker makes batches, one at a time: it is one goroutine's memory.
type maker struct {
	ctx    context.Context
	want   *samples
	dev    *target
	from   *sources
	meter  *meter
	queue  *queue
	cursor *order.Cursor
	load   load.Reader
	rows   []int64
	runs   []load.Run
	parts  []load.Segment // of the batch
	raw    *load.Table    // of direct, where there are casts or windows
	// Of windows: the rows of a side, where they are, and, of direct, whether a window's rows are
	// read with those between them.
	starts   []int64
	segments []load.Segment
	dense    []bool
	anchors  []int64
	slack    int64
	piece    int   // samples that are read at a time
	straight bool  // they are long, and read where they are to be
	at       *slot // that is being made on a device
}

func newMaker(ctx context.Context, q *queue, w *samples, dev *target, from *sources, m *meter) *maker {
	k := &maker{ctx: ctx, queue: q, want: w, dev: dev, from: from, meter: m, load: load.Reader{Shards: from.Shards, Crew: from.Crew}, rows: make([]int64, w.Steps.Most()), slack: w.slack()}
	k.piece = math.MaxInt
	if !w.Set.remote() {
		k.piece = int(max(pieceBytes/max(w.Set.columnBytes(w.Layout)/max(w.Set.Len(), 1), 1), 1))
	}
	if w.Casts != nil || w.View != nil {
		k.raw = load.NewTable(w.Layout, load.HostMemory{}, &m.Usage)
	}
	if w.View != nil {
		k.straight = from.Shards.Shards[0].Tar == nil
		for i := range w.View.Sides {
			k.straight = k.straight && w.View.Sides[i].Straight(w.Casts)
		}
	}
	return k
}

func (m *maker) close() {
	if m.raw != nil {
		m.raw.Close()
	}
}

// run makes one batch after the other.
func (m *maker) run() {
	defer m.from.Crew.Bind()()
	defer m.dev.bind()()
	defer m.close()
	for s := m.queue.next(); s != nil && m.fill(s); s = m.queue.next() {
	}
}

// fill makes a slot's batch and says that it is there. It returns false after an
// error.
func (m *maker) fill(s *slot) bool {
	err := m.make(s)
	m.queue.made(s, err)
	return err == nil
}

// make fills a slot with its step's samples and sends it to the device.
func (m *maker) make(s *slot) error {
	if err := m.dev.Dev.Reuse(m.ctx, &s.On); err != nil {
		return err
	}
	if m.cursor == nil || m.cursor.Epoch() != s.Epoch {
		m.cursor = m.want.Order.Cursor(s.Epoch)
	}
	if !s.refill() {
		return m.transfer(s)
	}
	var err error
	switch {
	case m.from.Windows != nil && s.Rows > 0:
		// The windows must stay until the device knows what to read.
		a, b := m.from.Windows.Keys(&s.Step)
		defer m.from.Windows.Unclaim(a, b)
		err = m.fromWindows(s)
	case m.from.Pinned != nil && (!m.from.Early || m.from.Pinned.Filled()):
		err = m.fromPinned(s)
	case m.from.Windows != nil && m.dev.Gathers != nil: // no rows at all
		err = m.onDevice(s, device.Rows{From: [2]*load.Table{m.from.Windows.All[0].Table}})
	case m.from.Mapped != nil:
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
	t := trace.Nanos()
	err := m.dev.Dev.Send(&s.On, s.Epoch, s.Number)
	m.meter.copied(t, s)
	return err
}

func (m *maker) fromWindows(s *slot) error {
	if m.dev.Gathers != nil {
		from, first, err := m.from.Windows.Tables(&s.Step)
		if err != nil {
			return err
		}
		f, split := m.from.Windows.Formula(&s.Step, m.cursor, first)
		return m.onDevice(s, device.Rows{Split: split, From: from, Formula: &f})
	}
	var err error
	if m.parts, err = m.from.Windows.Segments(m.parts[:0], &s.Step, m.cursor, m.rows); err != nil {
		return err
	}
	if m.want.View != nil {
		if m.slack > 0 {
			ids := m.items(s)
			for _, g := range m.parts {
				m.move(g.Rows, ids[g.At:], s.Epoch)
			}
		}
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			for _, g := range m.parts {
				list = m.sideOf(side, list, g.From, g.Rows, g.At)
			}
			return list
		})
	}
	return m.gather(s)
}

func (m *maker) fromPinned(s *slot) error {
	if m.dev.Gathers != nil {
		r := device.Rows{Split: int64(s.Rows), From: [2]*load.Table{m.from.Pinned.Table}}
		if f, ok := m.want.Steps.Formula(&s.Step, m.cursor); ok && !m.from.Listed {
			r.Formula = &f
		}
		return m.onDevice(s, r)
	}
	if m.want.View != nil {
		anchors := m.moved(s)
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			return m.sideOf(side, list, m.from.Pinned.Table, anchors, 0)
		})
	}
	m.allPinned(s)
	return m.gather(s)
}

// moved is where the windows of a batch have their anchors, in rows of the set.
func (m *maker) moved(s *slot) []int64 {
	ids := m.items(s)
	if m.slack == 0 {
		return ids
	}
	m.anchors = append(m.anchors[:0], ids...)
	m.move(m.anchors, ids, s.Epoch)
	return m.anchors
}

// move moves rows, which are those of samples.
func (m *maker) move(rows, ids []int64, epoch int) {
	for j := range rows {
		rows[j] += m.want.Order.Offset(epoch, ids[j], m.slack)
	}
}

// gatherSides makes a batch of windows; from says where a side's rows are.
func (m *maker) gatherSides(s *slot, from func(side *load.Side, list []load.Segment) []load.Segment) error {
	t := trace.Nanos()
	err := s.Table.Reset(s.Size)
	for i := range m.want.View.Sides {
		if err == nil {
			side := &m.want.View.Sides[i]
			m.starts, m.segments = m.starts[:0], m.segments[:0]
			m.segments = from(side, m.segments)
			err = side.Gather(m.from.Crew, s.Sides[i], s.Table, s.Size, m.segments)
		}
	}
	m.meter.gathered(t, s)
	return err
}

// sideOf appends the rows of windows whose anchors are rows of a table; the first one is the
// batch's window at.
func (m *maker) sideOf(side *load.Side, list []load.Segment, from *load.Table, anchors []int64, at int64) []load.Segment {
	n := len(m.starts)
	m.starts = side.Find(m.starts, anchors)
	return append(list, load.Segment{From: from, Rows: m.starts[n:], At: at * side.Rows(), Each: side.Each})
}

// allPinned makes all rows of a batch those of the pinned tier.
func (m *maker) allPinned(s *slot) {
	m.parts = append(m.parts[:0], load.Segment{From: m.from.Pinned.Table, Rows: m.items(s), At: 0})
}

// onDevice makes a batch of what a device gathers by itself, and of what the host gathers
// for it.
func (m *maker) onDevice(s *slot, r device.Rows) error {
	t := trace.Nanos()
	m.at, r.By = s, m
	r.Size, r.Rows = s.Size, int64(s.Rows)
	err := m.dev.Gathers.Gather(m.from.Crew, &s.On, &r)
	m.meter.gathered(t, s)
	return err
}

// Listed is the numbers of a batch's rows, where the device asks for them.
func (m *maker) Listed() ([]int64, error) {
	s := m.at
	if m.from.Windows == nil {
		return m.items(s), nil
	}
	var err error
	m.parts, err = m.from.Windows.Segments(m.parts[:0], &s.Step, m.cursor, m.rows)
	return m.rows[:s.Rows], err
}

// Hosted is a batch's rows for what the host gathers.
func (m *maker) Hosted() ([]load.Segment, error) {
	switch s := m.at; {
	case s.Rows == 0:
		return nil, nil
	case m.from.Pinned != nil:
		m.allPinned(s)
		return m.parts, nil
	}
	_, err := m.Listed()
	return m.parts, err
}

// items are the samples of a batch, where they are needed to make it.
func (m *maker) items(s *slot) []int64 {
	ids, computed := s.items(m.want, m.cursor)
	if computed {
		m.meter.Computed.Add(int64(s.Rows))
	}
	return ids
}

// gather makes the batch of its segments.
func (m *maker) gather(s *slot) error {
	t := trace.Nanos()
	err := load.Gather(m.from.Crew, s.Table, s.Size, m.parts)
	m.meter.gathered(t, s)
	return err
}

// direct reads a batch's samples from the shards into the slot.
func (m *maker) direct(s *slot) error {
	t := trace.Nanos()
	if m.want.View != nil {
		err := m.directWindows(s)
		m.meter.read(t, s)
		return err
	}
	m.runs = m.from.Shards.RunsOf(m.runs, m.items(s), m.piece)
	err := m.from.Shards.Prepare(m.ctx, m.runs)
	switch {
	case err != nil:
	case m.raw != nil:
		err = m.convert(s)
	default:
		err = m.load.Load(m.ctx, s.Table, s.Size, m.runs)
		if err == nil && int64(s.Rows) < s.Size {
			s.Table.Zero(int64(s.Rows))
		}
	}
	m.meter.read(t, s)
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
	m.parts = append(m.parts[:0], load.Segment{From: m.raw, Rows: m.rows[:s.Rows], At: 0})
	return load.Gather(m.from.Crew, s.Table, s.Size, m.parts)
}

func (m *maker) fromMapped(s *slot) error {
	if m.want.View != nil {
		anchors := m.moved(s)
		return m.gatherSides(s, func(side *load.Side, list []load.Segment) []load.Segment {
			m.starts = side.Find(m.starts, anchors)
			return m.from.Mapped.Windows(list, m.starts, side.Each)
		})
	}
	m.parts = m.from.Mapped.Segments(m.parts[:0], m.items(s), m.rows)
	return m.gather(s)
}

// directWindows reads the rows of a batch's windows and gathers them. Windows that follow each
// other have their rows read once.
func (m *maker) directWindows(s *slot) error {
	v, ids := m.want.View, m.moved(s)
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
			m.runs = m.from.Shards.Runs(m.runs, ids[j]+v.Lo, n-1+span, at)
		}
		for k := range n {
			m.dense = append(m.dense, dense)
			if m.rows[j+int(k)] = at + k - v.Lo; !dense {
				m.rows[j+int(k)] = at
				at = m.sparse(ids[j]+k, at)
			}
		}
		if dense {
			at += n - 1 + span
		}
		j += int(n)
	}
	err := m.from.Shards.Prepare(m.ctx, m.runs)
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
	err := s.Table.Reset(s.Size)
	for i := range m.want.View.Sides {
		side, at := &m.want.View.Sides[i], int64(0)
		m.runs = m.runs[:0]
		for _, a := range anchors {
			for _, o := range side.Starts {
				m.runs = m.from.Shards.Runs(m.runs, a+o, side.Each, at)
				at += side.Each
			}
		}
		if err == nil {
			err = side.Read(m.ctx, &m.load, s.Sides[i], s.Table, s.Size, m.runs)
		}
	}
	return err
}

// sparse reads the rows of one window, and no others, to row at on. It returns the row behind them.
func (m *maker) sparse(anchor, at int64) int64 {
	d := m.want.View.Distances
	for len(d) > 0 {
		n := 1
		for n < len(d) && d[n] == d[0]+int64(n) {
			n++
		}
		m.runs = m.from.Shards.Runs(m.runs, anchor+d[0], int64(n), at)
		at, d = at+int64(n), d[n:]
	}
	return at
}
