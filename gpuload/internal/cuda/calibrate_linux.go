package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// calibrationBytes is what a measurement moves: some milliseconds' worth.
const calibrationBytes = 32 << 20

// smallestEngineRow is where asking for every row costs more than moving it.
const smallestEngineRow = 16 << 10

// calibrate measures how fast the copy engine and kernels read pinned memory, and
// from which size of a row the copy engine is the better choice.
func (d *Device) calibrate() (err error) {
	m, err := d.newMeter(calibrationBytes, calibrationBytes/smallestEngineRow)
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
	for row := int64(256 << 10); row >= smallestEngineRow; row /= 2 {
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
}

// newMeter makes one of n bytes for batches of so many rows.
func (d *Device) newMeter(n, rows int64) (m *meter, err error) {
	m = &meter{d: d}
	if m.host, err = d.Alloc(n, 0); err != nil {
		return nil, err
	}
	m.slot, err = d.NewSlot(SlotOptions{Tensors: []int64{n}, Rows: max(rows, 1)})
	if err != nil {
		return nil, errors.Join(err, d.Free(m.host))
	}
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
			if err := errors.Join(m.slot.addPiece(m.slot.tensors[0].at+uint64(at), addressOf(m.host)+uint64(at), min(piece, n-at)), m.slot.flush()); err != nil {
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

// device is the rate of copies inside device memory.
func (m *meter) device() (float64, error) {
	half := int64(len(m.host)) / 2
	at := m.slot.tensors[0].at
	t, err := m.timed(func() error { return m.d.drv.copyOnDevice(at+uint64(half), at, half, m.d.copies) })
	return rate(half, t), err
}

// rows is the rate of rows in an order without neighbours, by the copy engine or by
// the kernel.
func (m *meter) rows(row int64, engine bool) (float64, error) {
	n := int64(len(m.host)) / row
	return m.gather(Column{Row: row, From: [2]Source{{Host: m.host, Rows: n}}}, scatter(n), engine)
}

// gather is the rate of all rows of a column once.
func (m *meter) gather(c Column, ids []int64, engine bool) (float64, error) {
	n := int64(len(ids))
	b := &Batch{Size: n, Rows: n, Split: n, IDs: ids}
	t, err := m.timed(func() error {
		if engine {
			return errors.Join(m.slot.byEngine(&c, b), m.slot.flush())
		}
		b.Columns = []Column{c}
		return m.slot.gather(b)
	})
	return rate(n*c.Row, t), err
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

// Figures measures what Speed leaves out. It is for benches; nothing else may use
// the device meanwhile.
func (d *Device) Figures(ctx context.Context, bytes int64, rows []int64) (f []Figure, err error) {
	m, err := d.newMeter(bytes, bytes/slices.Min(rows))
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
	r, err = m.device()
	if err := add("device copy", bytes, r, err); err != nil {
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
	kernelIDs := scatter(n)
	r, err := m.engine(max(row, min(row*256, int64(len(m.host)))))
	if err := add("sequential, batches of 256", row, r, err); err != nil {
		return err
	}
	if row >= smallestEngineRow {
		r, err := m.rows(row, true)
		if err := add("global, copy engine", row, r, err); err != nil {
			return err
		}
	}
	r, err = m.rows(row, false)
	if err := add("global, kernel from pinned memory", row, r, err); err != nil {
		return err
	}
	var w [2]*Window
	for i := range w {
		var err error
		if w[i], err = m.d.NewWindow(n*row, false); err != nil {
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
	r, err := m.gather(Column{Row: row, From: [2]Source{{Window: w[0], Rows: n}}}, ids, false)
	if err := add("device tier", row, r, err); err != nil {
		return err
	}
	best := 0.0
	for range 3 {
		r, err := m.block(w, ids, row)
		if err != nil {
			return err
		}
		best = max(best, r)
	}
	return add("block", row, best, nil)
}

// block is the rate of windows loaded while the one before is gathered from, in the
// order of the last gather.
func (m *meter) block(w [2]*Window, ids []int64, row int64) (float64, error) {
	const loads = 8
	n := int64(len(ids))
	from := time.Now()
	for k := range loads {
		w := w[k%2]
		if err := w.Load(0, m.host[:n*row]); err != nil {
			return 0, err
		}
		err := m.d.do(func() error {
			return m.slot.gather(&Batch{Size: n, Rows: n, Split: n, IDs: ids, Columns: []Column{{Row: row, From: [2]Source{{Window: w, Rows: n}}}}})
		})
		if err != nil {
			return 0, err
		}
	}
	err := m.d.Drain(context.Background())
	return rate(loads*n*row, max(time.Since(from), 1)), err
}
