package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Figure is a rate in bytes per second, of rows of so many bytes: the median and the worst of
// some rounds, by the device's clock unless Clock says otherwise.
type Figure struct {
	What   string  `json:"what"`
	Row    int64   `json:"row_bytes"`
	Rate   float64 `json:"bytes_per_second,omitempty"`
	Worst  float64 `json:"worst,omitempty"`
	Time   float64 `json:"seconds,omitempty"` // of one, where no bytes are counted
	Rounds int     `json:"rounds"`
	Clock  string  `json:"clock"`
}

// rounds is how often a figure is measured, after once to warm up.
const rounds = 5

// figures measures what Speed leaves out, over memory of so many bytes, and passes each
// figure to add as soon as it is known. It ends with ctx. It is for benches; nothing else may
// use the device meanwhile.
func (d *Device) figures(ctx context.Context, bytes int64, rows []int64, add func(Figure)) (err error) {
	m, err := d.newMeter(bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	var w [2]*Window
	for i := range w {
		if w[i], err = d.NewWindow(bytes); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w[i].Close()) }()
	}
	tell := func(what string, row, n int64, f work) {
		if err == nil {
			err = m.tell(ctx, Figure{What: what, Row: row, Clock: "device"}, n, f, add)
		}
	}
	four := func(f work) work { return func() error { return errors.Join(f(), f(), f(), f()) } }
	tell("engine peak", bytes, 4*bytes, four(m.engine(bytes)))
	tell("read peak", bytes, 4*bytes, four(m.read(addressOf(m.host))))
	tell("device copy", bytes, 4*bytes, four(func() error { return d.drv.copyOnDevice(m.slot.tensors[0].at, w[0].mem.at, bytes, d.copies) }))
	tell("device read", bytes, 4*bytes, four(m.read(w[0].mem.at)))
	for _, row := range rows {
		n := bytes / row
		if n == 0 {
			return errors.Join(err, fmt.Errorf("rows of %d bytes in %d", row, bytes))
		}
		tell("sequential", row, bytes, m.engine(min(max(row, 16<<20), bytes)))
		tell("sequential, batches of 256", row, bytes, m.engine(min(256*row, bytes)))
		inWindow := func(w *Window) Column { return Column{Row: row, From: [2]Source{{Window: w, Rows: n}}} }
		tell("block", row, 8*n*row, m.block(w, [2]work{m.gather(inWindow(w[0]), n), m.gather(inWindow(w[1]), n)}, n*row))
		if row >= smallestEngineRow {
			all, f := m.rows(row, true)
			tell("global, copy engine", row, all, f)
		}
		all, f := m.rows(row, false)
		tell("global, kernel", row, all, f)
		tell("device tier", row, 4*n*row, four(m.gather(inWindow(w[0]), n)))
	}
	if err != nil {
		return err
	}
	return m.hostTime(ctx, w[0], add)
}

// tell measures a figure of n bytes.
func (m *meter) tell(ctx context.Context, f Figure, n int64, g work, add func(Figure)) error {
	var list []time.Duration
	for range 1 + rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := m.timed(g)
		if err != nil {
			return fmt.Errorf("%s, rows of %d: %w", f.What, f.Row, err)
		}
		list = append(list, t)
	}
	list = list[1:]
	slices.Sort(list)
	f.Rate, f.Worst, f.Rounds = rate(n, list[rounds/2]), rate(n, list[rounds-1]), rounds
	add(f)
	return nil
}

// block loads n bytes into windows in turn, each while the other is gathered from.
func (m *meter) block(w [2]*Window, gathers [2]work, n int64) work {
	return func() error {
		for k := range 8 {
			if err := w[k%2].load([]Piece{{0, m.host[:n]}}); err != nil {
				return err
			}
			if err := errors.Join(gathers[k%2](), m.d.record(&m.left[k%2], m.d.gathers)); err != nil {
				return err
			}
			w[k%2].left = &m.left[k%2]
		}
		return nil
	}
}

// hostTime is what a batch costs the host, whose bytes are too few to count.
func (m *meter) hostTime(ctx context.Context, w *Window, add func(Figure)) error {
	const batches = 500
	b, err := shuffled(Column{Row: 16, From: [2]Source{{Window: w, Rows: 1}}}, 1)
	if err != nil {
		return err
	}
	s, err := m.d.NewSlot(SlotOptions{Tensors: []int64{16}})
	if err != nil {
		return err
	}
	from := time.Now()
	for range batches {
		if err = errors.Join(s.Fill("batch", nil, b), s.Reuse(ctx)); err != nil {
			break
		}
	}
	if err == nil {
		add(Figure{What: "host, per batch", Row: 16, Time: time.Since(from).Seconds() / batches, Rounds: 1, Clock: "wall"})
	}
	return errors.Join(err, s.Close())
}

// Trainer simulates a training loop: steps of a known length on a stream of its own, of
// which at most two wait.
type Trainer struct {
	Stream uintptr
	d      *Device
	ended  [2]event
	steps  int
}

// NewTrainer makes one; close it before the device.
func (d *Device) NewTrainer() (*Trainer, error) {
	t := &Trainer{d: d}
	err := d.do(func() (err error) {
		for i := range t.ended {
			if t.ended[i], err = d.newEvent(eventDisableTiming | eventBlockingSync); err != nil {
				return err
			}
		}
		t.Stream, err = d.drv.streamCreate(streamNonBlocking, 0)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Step starts a step behind what Stream waits for, once the step before the last has ended.
func (t *Trainer) Step(ctx context.Context, length time.Duration) error {
	e := &t.ended[t.steps%2]
	t.steps++
	if err := t.d.await(ctx, e); err != nil {
		return err
	}
	return t.d.do(func() error {
		return errors.Join(t.d.drv.launch(t.d.kernels["spin"], 1, 1, t.Stream, []uint64{uint64(length)}), t.d.record(e, t.Stream))
	})
}

// Wait waits until all steps have ended.
func (t *Trainer) Wait(ctx context.Context) error { return t.d.await(ctx, &t.ended[0], &t.ended[1]) }

// Close waits for the steps and gives the stream back.
func (t *Trainer) Close() error {
	return t.d.visit(func() error {
		var all []error
		if t.Stream != 0 {
			all = append(all, t.d.drv.streamSynchronize(t.Stream), t.d.drv.streamDestroy(t.Stream))
		}
		return errors.Join(append(all, t.d.destroyEvents(&t.ended[0], &t.ended[1]))...)
	})
}
