package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// calibrationBytes is what a measurement moves: some milliseconds' worth.
const calibrationBytes = 32 << 20

// calibrate measures how fast the copy engine and kernels read pinned memory, and
// from which size of a row the copy engine is the better choice.
func (d *Device) calibrate() (err error) {
	m, err := d.newMeter(calibrationBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	s := Speed{Batch: d.batch}
	if s.Engine, err = m.engine(calibrationBytes); err != nil {
		return err
	}
	if s.Read, err = m.read(); err != nil {
		return err
	}
	s.EngineRow = 1 << 40
	for row := int64(256 << 10); row >= 16<<10; row /= 2 {
		e, err := m.rows(row, true)
		if s.Batch && code(err) != 0 && !errors.Is(err, ErrLost) {
			// A form of the call that this driver does not take after all.
			s.Batch = false
			if err := d.do(func() error { d.batch = false; return nil }); err != nil {
				return err
			}
			e, err = m.rows(row, true)
		}
		if err != nil {
			return err
		}
		k, err := m.rows(row, false)
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

// meter is memory to measure with.
type meter struct {
	d    *Device
	host []byte
	slot *Slot
	ids  []int64
}

func (d *Device) newMeter(n int64) (m *meter, err error) {
	m = &meter{d: d}
	if m.host, err = d.Alloc(n, 0); err != nil {
		return nil, err
	}
	m.slot, err = d.NewSlot(SlotOptions{Tensors: []int64{n}, Rows: n / 4096})
	if err != nil {
		return nil, errors.Join(err, d.Free(m.host))
	}
	m.ids = make([]int64, 0, n/4096)
	return m, nil
}

func (m *meter) close() error { return errors.Join(m.slot.Close(), m.d.Free(m.host)) }

// timed is the best of three times that f's work and the host's part of it take.
func (m *meter) timed(f func() error) (time.Duration, error) {
	best := time.Duration(0)
	for range 3 {
		from := time.Now()
		err := m.d.do(func() error {
			if err := f(); err != nil {
				return err
			}
			for _, s := range []uintptr{m.d.copies, m.d.gathers} {
				if err := m.d.drv.streamSynchronize(s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if t := time.Since(from); best == 0 || t < best {
			best = t
		}
	}
	return max(best, 1), nil
}

func rate(bytes int64, t time.Duration) float64 { return float64(bytes) / t.Seconds() }

// engine is the rate of copies of piece bytes that follow each other.
func (m *meter) engine(piece int64) (float64, error) {
	n := int64(len(m.host))
	t, err := m.timed(func() error {
		for at := int64(0); at < n; at += piece {
			if err := m.d.copyIn(m.slot.tensors[0].at+uint64(at), addressOf(m.host)+uint64(at), min(piece, n-at), m.d.copies); err != nil {
				return err
			}
		}
		return nil
	})
	return rate(n, t), err
}

// read is the rate of a kernel that reads pinned memory and keeps nothing.
func (m *meter) read() (float64, error) {
	n := int64(len(m.host)) &^ 15
	src, err := m.d.deviceAddress(m.host, n)
	if err != nil {
		return 0, err
	}
	t, err := m.timed(func() error {
		return m.d.drv.launch(m.d.kernels["read16"], m.d.grid, blockThreads, m.d.gathers, []uint64{src, uint64(n), m.slot.tensors[0].at})
	})
	return rate(n, t), err
}

// rows is the rate of rows in an order without neighbours, by the copy engine or by
// the kernel.
func (m *meter) rows(row int64, engine bool) (float64, error) {
	ids := scatter(m.ids[:0], int64(len(m.host))/row)
	from := Source{Host: m.host, Rows: int64(len(ids)), Row: row}
	t, err := m.timed(func() error {
		if engine {
			return m.slot.byEngine(m.slot.tensors[0].at, addressOf(m.host), ids, row)
		}
		return m.slot.byKernel(0, 0, ids, &from)
	})
	return rate(int64(len(ids))*row, t), err
}

// scatter appends 0 to n-1 in an order in which few are neighbours.
func scatter(ids []int64, n int64) []int64 {
	step := n*5/8 | 1
	for gcd(step, n) != 1 {
		step += 2
	}
	for i := range n {
		ids = append(ids, i*step%n)
	}
	return ids
}

// Figures measures what Speed leaves out. It is for benches; nothing else may use
// the device meanwhile.
func (d *Device) Figures(ctx context.Context, bytes int64, rows []int64) (f []Figure, err error) {
	m, err := d.newMeter(bytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	add := func(what string, row int64, r float64, err error) error {
		f = append(f, Figure{What: what, Row: row, Rate: r})
		return err
	}
	r, err := m.engine(bytes)
	if err := add("engine peak", bytes, r, err); err != nil {
		return nil, err
	}
	r, err = m.read()
	if err := add("read peak", bytes, r, err); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.figures(row, add); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Figure is a measured rate in bytes per second, of rows of so many bytes.
type Figure struct {
	What string  `json:"what"`
	Row  int64   `json:"row_bytes"`
	Rate float64 `json:"bytes_per_second"`
}

func (m *meter) figures(row int64, add func(string, int64, float64, error) error) error {
	n := int64(len(m.host)) / row
	if n == 0 {
		return fmt.Errorf("rows of %d bytes in %d", row, len(m.host))
	}
	kernelIDs := scatter(nil, min(n, int64(len(m.slot.rows)/8)))
	r, err := m.engine(max(row, min(row*256, int64(len(m.host)))))
	if err := add("sequential, batches of 256", row, r, err); err != nil {
		return err
	}
	if row >= 16<<10 {
		r, err := m.rows(row, true)
		if err := add("global, copy engine", row, r, err); err != nil {
			return err
		}
	}
	r, err = m.gather(Source{Host: m.host, Rows: n, Row: row}, kernelIDs)
	if err := add("global, kernel from pinned memory", row, r, err); err != nil {
		return err
	}
	var w [2]*Window
	for i := range w {
		var err error
		if w[i], err = m.d.NewWindow(n * row); err != nil {
			return errors.Join(err, closeWindows(w))
		}
	}
	return errors.Join(m.windows(w, n, row, kernelIDs, add), closeWindows(w))
}

func closeWindows(w [2]*Window) error {
	var all []error
	for _, w := range w {
		if w != nil {
			all = append(all, w.Close())
		}
	}
	return errors.Join(all...)
}

// windows measures the device tier, and the block shuffle: one window is loaded while
// the other is gathered from.
func (m *meter) windows(w [2]*Window, n, row int64, ids []int64, add func(string, int64, float64, error) error) error {
	if err := w[0].Load(0, m.host[:n*row]); err != nil {
		return err
	}
	if err := m.d.Drain(context.Background()); err != nil {
		return err
	}
	r, err := m.gather(Source{Window: w[0], Rows: n, Row: row}, ids)
	if err := add("device tier", row, r, err); err != nil {
		return err
	}
	best := 0.0
	for range 3 {
		r, err := m.block(w, n, row, ids)
		if err != nil {
			return err
		}
		best = max(best, r)
	}
	return add("block", row, best, nil)
}

// gather is the rate of the kernel, launched often enough to move the whole.
func (m *meter) gather(from Source, ids []int64) (float64, error) {
	times := m.times(from.Row, ids)
	t, err := m.timed(func() error { return m.kernels(times, from, ids) })
	return rate(times*int64(len(ids))*from.Row, t), err
}

// times is how many launches for these rows move as much as there is.
func (m *meter) times(row int64, ids []int64) int64 {
	return max(int64(len(m.host))/(int64(len(ids))*row), 1)
}

func (m *meter) kernels(times int64, from Source, ids []int64) error {
	for range times {
		if err := m.slot.byKernel(0, 0, ids, &from); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) block(w [2]*Window, n, row int64, ids []int64) (float64, error) {
	const loads = 8
	from := time.Now()
	for k := range loads {
		w := w[k%2]
		if err := w.Load(0, m.host[:n*row]); err != nil {
			return 0, err
		}
		err := m.d.do(func() error {
			return m.kernels(m.times(row, ids), Source{Window: w, Rows: n, Row: row}, ids)
		})
		if err != nil {
			return 0, err
		}
	}
	err := m.d.Drain(context.Background())
	return rate(loads*n*row, max(time.Since(from), 1)), err
}
