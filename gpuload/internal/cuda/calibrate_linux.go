package cuda

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/shardify/shardify/gpuload/order"
)

// calibrationBytes is what a measurement moves: some milliseconds' worth, and no more than a
// 512th of the device's memory.
const calibrationBytes = 32 << 20

// smallestEngineRow is where asking for every row costs more than moving it.
const smallestEngineRow = 16 << 10

// calibrate measures how fast the copy engine and kernels read pinned memory, and
// from which size of a row the copy engine is the better choice.
func (d *Device) calibrate() (err error) {
	m, err := d.newMeter(min(calibrationBytes, int64(d.info.Memory/512)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	s := Speed{Batch: d.batch}
	if s.Engine, err = m.best(int64(len(m.host)), m.engine(int64(len(m.host)))); err != nil {
		return err
	}
	if s.Read, err = m.best(int64(len(m.host)), m.read(addressOf(m.host))); err != nil {
		return err
	}
	s.EngineRow = 1 << 40
	for row := int64(256 << 10); row >= smallestEngineRow; row /= 2 {
		e, err := m.best(m.rows(row, true))
		if s.Batch && code(err) != 0 && !errors.Is(err, errLost) {
			// A form of the call that this driver does not take after all.
			s.Batch = false
			if err := d.do(func() error { d.batch = false; return nil }); err != nil {
				return err
			}
			e, err = m.best(m.rows(row, true))
		}
		if err != nil {
			return err
		}
		k, err := m.best(m.rows(row, false))
		if err != nil {
			return err
		}
		if e < k {
			break
		}
		s.EngineRow = row
	}
	d.speed = s
	return nil
}

// meter is memory and events to measure with.
type meter struct {
	d             *Device
	host          []byte
	slot          *Slot
	from, mid, to event
	left          [2]event // behind the newest gather from each window of block
}

// newMeter makes one of n bytes.
func (d *Device) newMeter(n int64) (m *meter, err error) {
	m = &meter{d: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if m.host, err = d.Alloc(n, 0); err != nil {
		return m, err
	}
	if m.slot, err = d.NewSlot(SlotOptions{Tensors: []int64{n}}); err != nil {
		return m, err
	}
	return m, d.do(func() error {
		for _, e := range m.events() {
			if *e, err = d.newEvent(eventBlockingSync); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *meter) events() []*event { return []*event{&m.from, &m.mid, &m.to, &m.left[0], &m.left[1]} }

func (m *meter) close() error {
	var err error
	if m.slot != nil {
		err = m.slot.Close()
	}
	return errors.Join(err, m.d.visit(func() error { return m.d.destroyEvents(m.events()...) }), m.d.Free(m.host))
}

// work gives something to the device's streams, inside a visit.
type work func() error

// timed is how long the device takes for some work, by its own clock: both streams begin
// behind one event and end before another.
func (m *meter) timed(f work) (took time.Duration, err error) {
	d := m.d
	err = d.do(func() error {
		if err := errors.Join(d.record(&m.from, d.copies), d.wait(d.gathers, &m.from)); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		if err := errors.Join(d.record(&m.mid, d.gathers), d.wait(d.copies, &m.mid), d.record(&m.to, d.copies), d.drv.eventSynchronize(m.to.handle)); err != nil {
			return err
		}
		ms, err := d.drv.eventElapsed(m.from.handle, m.to.handle)
		took = max(time.Duration(float64(ms)*1e6), 1)
		return err
	})
	return took, err
}

// best is the rate of n bytes in the best of three times.
func (m *meter) best(n int64, f work) (float64, error) {
	best := time.Duration(0)
	for range 3 {
		t, err := m.timed(f)
		if err != nil {
			return 0, err
		}
		if best == 0 || t < best {
			best = t
		}
	}
	return rate(n, best), nil
}

func rate(bytes int64, t time.Duration) float64 { return float64(bytes) / t.Seconds() }

// engine copies all in pieces that follow each other.
func (m *meter) engine(piece int64) work {
	return func() error {
		for at, n := int64(0), int64(len(m.host)); at < n; at += piece {
			if err := errors.Join(m.slot.pieces.add(m.d, m.d.copies, m.slot.tensors[0].at+uint64(at), addressOf(m.host)+uint64(at), min(piece, n-at)), m.slot.pieces.flush(m.d, m.d.copies)); err != nil {
				return err
			}
		}
		return nil
	}
}

// read is a kernel that reads as many bytes from an address and keeps nothing.
func (m *meter) read(from uint64) work {
	return func() error {
		at, n, blocks := from, int64(len(m.host))&^15, m.d.wide
		if p := m.d.find(from, n); p != nil {
			at, blocks = p.device+(from-p.base), m.d.grid
		}
		return m.d.drv.launch(m.d.kernels["read16"], blocks, blockThreads, m.d.gathers, []uint64{at, uint64(n), m.slot.tensors[0].at})
	}
}

// rows gathers rows of the host in an order without neighbours, by the copy engine or by a
// kernel that computes their numbers.
func (m *meter) rows(row int64, engine bool) (bytes int64, f work) {
	n := int64(len(m.host)) / row
	c := Column{Row: row, From: [2]Source{{Host: m.host, Rows: n}}}
	if !engine {
		return n * row, m.gather(c, n)
	}
	b := &Batch{Size: n, Rows: n, Split: n, IDs: scatter(n)}
	return n * row, func() error { return errors.Join(m.slot.byEngine(&c, b), m.slot.pieces.flush(m.d, m.d.copies)) }
}

// gather makes n rows of a column in a shuffled order.
func (m *meter) gather(c Column, n int64) work {
	b, err := shuffled(c, n)
	return func() error {
		if err != nil {
			return err
		}
		return m.slot.gather(b)
	}
}

// shuffled is a batch of all n rows of a column, whose order the device computes.
func shuffled(c Column, n int64) (*Batch, error) {
	o, err := order.New(order.Config{Shuffle: order.Global, Parts: []int64{n}, Seed: 1})
	if err != nil {
		return nil, err
	}
	s := order.Steps{Batch: n, World: 1, Together: 1, Length: n}
	step := s.At(0, 0)
	f, _ := s.Formula(&step, o.Cursor(0))
	return &Batch{Size: n, Rows: n, Split: n, Formula: &f, Columns: []Column{c}}, nil
}

// scatter is 0 to n-1 in a random order that is always the same.
func scatter(n int64) []int64 {
	ids := make([]int64, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range ids {
		j := r.IntN(i + 1)
		ids[i] = ids[j]
		ids[j] = int64(i)
	}
	return ids
}
