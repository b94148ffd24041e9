package tier

import (
	"context"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
)

// generation is the memory of one.
type generation struct {
	Table   *load.Table
	first   int64 // its first stream
	samples []order.Run
	runs    []load.Run // of samples
	load    load.Reader
	// at is, by row of the generation, the table's row of its anchor, and rows those of the table.
	at   []int64
	rows int64
	// copies is runs in the pinned tier, where the generation comes from there.
	copies []device.CopyRun
}

// read reads a generation into its table.
func (g *generation) read(ctx context.Context, w *Windows, key order.Key) error {
	if w.From != nil {
		return g.store(w, key)
	}
	if d, ok := w.dev.(device.GPU); ok {
		if err := d.Refill(ctx, g.Table); err != nil {
			return err
		}
	}
	g.plan(w, key)
	if err := w.shards.Prepare(ctx, g.runs); err != nil {
		return err
	}
	return announce(w.dev, g.load.Load(ctx, g.Table, g.rows, g.runs), g.Table)
}

// store copies a generation from the pinned tier into the device's memory: runs of
// blocks at the link's best rate, however small the samples are.
func (g *generation) store(w *Windows, key order.Key) error {
	g.plan(w, key)
	g.copies = g.copies[:0]
	for _, r := range g.runs {
		lo, hi := r.Sh.Lo+r.Lo, r.Sh.Lo+r.Hi
		if k := len(g.copies) - 1; k >= 0 && g.copies[k].Hi == lo && g.copies[k].Row+g.copies[k].Hi-g.copies[k].Lo == r.Row {
			g.copies[k].Hi = hi
			continue
		}
		g.copies = append(g.copies, device.CopyRun{Lo: lo, Hi: hi, Row: r.Row})
	}
	return w.dev.(device.GPU).Store(g.Table, w.From.Table, g.copies)
}

// plan finds the runs of a generation.
func (g *generation) plan(w *Windows, key order.Key) {
	g.samples = w.Runs(g.samples[:0], key, g.first)
	g.runs = g.runs[:0]
	if g.rows = w.Windows.Rows(); w.View != nil {
		g.windows(w)
		return
	}
	for _, r := range g.samples {
		g.runs = w.shards.Runs(g.runs, r.Sample, r.N, r.Row)
	}
}

// windows finds the rows of a generation of anchors: those of anchors near each other once.
func (g *generation) windows(w *Windows) {
	if g.at == nil {
		g.at = make([]int64, g.rows)
	}
	lo, hi := w.View.Lo, w.View.Hi+w.View.Slack
	from, to, base := int64(0), int64(0), int64(0) // rows of the set that follow each other, and the table's row of the first
	for _, r := range g.samples {
		first, end := r.Sample+lo, r.Sample+r.N+hi
		if first < from || first > to || to == from {
			g.runs = w.shards.Runs(g.runs, from, to-from, base)
			from, to, base = first, first, base+to-from
		}
		to = max(to, end)
		for i := range r.N {
			g.at[r.Row+i] = base + r.Sample + i - from
		}
	}
	g.runs = w.shards.Runs(g.runs, from, to-from, base)
	g.rows = base + to - from
}

// Segments finds the rows of a batch in its generations.
func (w *Windows) Segments(list []load.Segment, s *order.Step, cur *order.Cursor, rows []int64) ([]load.Segment, error) {
	for at := w.Begin(s); at.Row < s.Rows; {
		key, start := w.KeyOf(s, at), at.Row
		g, err := w.wait(key)
		if err != nil {
			return nil, err
		}
		at = w.Fill(rows, s, cur, at, key, g.first)
		if w.View != nil {
			for j, row := range rows[start:at.Row] {
				rows[start+j] = g.at[row]
			}
		}
		list = append(list, load.Segment{From: g.Table, Rows: rows[start:at.Row], At: int64(start)})
	}
	return list, nil
}

// Tables finds the generations of a step: one, or two that follow each other. first is the
// first stream of both.
func (w *Windows) Tables(s *order.Step) (list [2]*load.Table, first int64, err error) {
	a, b := w.Keys(s)
	for k, key := range []order.Key{a, b} {
		g, err := w.wait(key)
		if err != nil {
			return list, 0, err
		}
		if first = g.first; k == 0 || a != b {
			list[k] = g.Table
		}
	}
	return list, first, nil
}

// announce lets the device know of a table that was filled without error.
func announce(dev device.Device, err error, t *load.Table) error {
	if d, ok := dev.(device.GPU); ok && err == nil {
		return d.Filled(t)
	}
	return err
}
