package gpuload

import (
	"context"

	"github.com/shardify/shardify/gpuload/order"
)

// generation is the memory of one.
type generation struct {
	table   *table
	first   int64 // its first stream
	samples []order.Run
	runs    []run // of samples
	load    loader
	// copies is runs in the pinned tier, where the generation comes from there.
	copies []copyRun
}

// read reads a generation into its table.
func (g *generation) read(ctx context.Context, w *windows, key order.Key) error {
	if w.from != nil {
		return g.store(w, key)
	}
	if d, ok := w.dev.(gpu); ok {
		if err := d.refill(ctx, g.table); err != nil {
			return err
		}
	}
	g.plan(w, key)
	return tell(w.dev, g.load.load(ctx, g.table, w.Rows(), g.runs), g.table)
}

// store copies a generation from the pinned tier into the device's memory: runs of
// blocks at the link's best rate, however small the samples are.
func (g *generation) store(w *windows, key order.Key) error {
	g.plan(w, key)
	g.copies = g.copies[:0]
	for _, r := range g.runs {
		lo, hi := r.sh.lo+r.lo, r.sh.lo+r.hi
		if k := len(g.copies) - 1; k >= 0 && g.copies[k].hi == lo && g.copies[k].row+g.copies[k].hi-g.copies[k].lo == r.row {
			g.copies[k].hi = hi
			continue
		}
		g.copies = append(g.copies, copyRun{lo, hi, r.row})
	}
	return w.dev.(gpu).store(g.table, w.from.table, g.copies)
}

// plan finds the runs of a generation.
func (g *generation) plan(w *windows, key order.Key) {
	g.samples = w.Runs(g.samples[:0], key, g.first)
	g.runs = g.runs[:0]
	for _, r := range g.samples {
		g.runs = w.shards.runs(g.runs, r.Sample, r.N, r.Row)
	}
}

// segments finds the rows of a batch in its generations.
func (w *windows) segments(list []segment, s *order.Step, cur *order.Cursor, rows []int64) ([]segment, error) {
	for at := w.Begin(s); at.Row < s.Rows; {
		key, start := w.KeyOf(s, at), at.Row
		g, err := w.wait(key)
		if err != nil {
			return nil, err
		}
		at = w.Fill(rows, s, cur, at, key, g.first)
		list = append(list, segment{g.table, rows[start:at.Row], int64(start)})
	}
	return list, nil
}

// tell lets the device know of a table that was filled without error.
func tell(dev device, err error, t *table) error {
	if d, ok := dev.(gpu); ok && err == nil {
		return d.filled(t)
	}
	return err
}
