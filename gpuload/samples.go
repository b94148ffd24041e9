package gpuload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
)

// samples is what a Loader delivers and in which order: all that configuration and manifests
// decide. It does not change.
type samples struct {
	Set     *Dataset // of tokens, with Config.Tokens
	Order   *order.Order
	Steps   order.Steps
	Layout  *index.Layout  // of what is read
	Out     *index.Layout  // of what is delivered
	View    *load.View     // of a window; nil: each row is a sample
	Casts   []*load.Caster // by tensor; may be nil
	Columns []string       // the names of what is delivered

	cfg    *Config
	window *window
	stream *stream // of Config.Tokens; else nil
	notes  *noteList
}

func (d *Dataset) want(cfg *Config, notes *noteList) (*samples, error) {
	w := &samples{Set: d, cfg: cfg, notes: notes}
	fields, wanted, err := w.fields()
	if err != nil {
		return nil, err
	}
	if w.Layout, err = index.NewLayout(fields, w.keys()); err != nil {
		return nil, err
	}
	for i := range fields {
		w.Columns = append(w.Columns, fields[i].Name)
	}
	if w.Layout.Keyed {
		w.Columns = append(w.Columns, index.KeyName)
	}
	if w.Order, err = w.Set.order(cfg, w.window, w.stream); err != nil {
		return nil, err
	}
	w.Steps = order.Steps{
		Length: w.Order.Len(), Batch: int64(cfg.Batch), Rank: int64(cfg.Rank), World: int64(cfg.World),
		Last: cfg.Last, Strided: w.Order.Windowed() || w.Order.Streams() > 1,
	}
	if cfg.PerEpoch {
		w.Steps.Listed, cfg.Indices = w.Order, []int64{} // they are of this epoch alone, and end with it
	}
	if w.Steps.Packs = w.Order.Packs(); w.Steps.Packs != nil {
		w.Steps.Batch, w.Steps.Strided = 1, false
	}
	if w.Out, w.Casts, err = load.CastLayout(w.Layout, cfg.Cast); err != nil {
		return nil, err
	}
	if w.window != nil {
		if err := w.windowed(wanted); err != nil {
			return nil, err
		}
		w.noteNumbers()
	}
	w.Steps.Together = w.together()
	return w, nil
}

// keys reports whether the samples' own names are delivered.
func (w *samples) keys() bool {
	if w.cfg.Keys && w.window != nil {
		w.notes.add("no keys: a window has rows of several names")
	}
	keys := w.cfg.Keys && w.window == nil
	for _, in := range w.Set.sets() {
		if keys && !in.Keyed && in.Format != index.FormatWDS {
			keys = false
			w.notes.add("no keys: the samples of %s have no names of their own", in.Path)
		}
	}
	return keys
}

// maxTogether bounds the steps of a batch, however small their rows are.
const maxTogether = 64

// together is how many steps fit into Config.Group.
func (w *samples) together() int64 {
	n, row := w.Steps.Count(w.cfg.Epoch, 0), max(w.Out.RowBytes(), 1)
	batch := w.Steps.Batch * row
	if w.Steps.Packs != nil { // about, and what is laid out for the one with the most samples
		w.Steps.Together = 1
		batch = max(w.Set.columnBytes(w.Layout)/max(n*w.Steps.World, 1), w.Steps.Most()*row/8, 1)
	}
	if !load.Parts(w.Out, w.Steps.Packs != nil) {
		return 1
	}
	return max(min(w.cfg.Group/batch, maxTogether, n), 1)
}

// fits refuses batches that take more memory than the machine has, as many as there are at a time.
func (w *samples) fits() error {
	m := host.Probe(func(string) string { return "" })
	batch := w.Steps.Most()
	row := w.Out.RowBytes() + 8 // and its number
	n := int64(w.cfg.Depth) + 1
	if m.Memory <= 0 || batch <= m.Memory/n/row {
		return nil
	}
	return fmt.Errorf("a batch of %s samples takes %s, and %s are in memory at a time: more than the %s of this machine; a smaller batch or depth fits, and an epoch has %s samples",
		printable.Count(batch), shardify.FormatSize(batch*row), printable.Count(n), shardify.FormatSize(m.Memory), printable.Count(w.Steps.Length))
}

// fields are those of a row that are read; wanted reports which of a window's are.
func (w *samples) fields() (fields []shardify.Field, wanted func(name string) bool, err error) {
	if w.cfg.Tokens != "" {
		if err := w.streamed(); err != nil {
			return nil, nil, err
		}
		return w.projectView()
	}
	if w.cfg.Window == "" {
		fields, err = w.Set.project(w.cfg.Columns)
		return fields, nil, err
	}
	if w.window, err = w.Set.window(w.cfg.Window); err != nil {
		return nil, nil, err
	}
	return w.projectView()
}

// order makes the order that a configuration describes.
func (d *Dataset) order(c *Config, w *window, s *stream) (_ *order.Order, err error) {
	if d.Len() == 0 {
		var empty []string
		for _, in := range d.sets() {
			empty = append(empty, in.Path)
		}
		return nil, shardify.Mismatch("%s has no samples: there is nothing to draw from", strings.Join(empty, ", "))
	}
	o := order.Config{
		Shuffle: c.Shuffle, Seed: c.Seed, Parts: d.Inputs(),
		Indices: c.Indices, Mix: c.Mix, Weights: c.Weights, Samples: c.Samples,
		Once: c.Once, PerEpoch: c.PerEpoch, Epoch: c.Epoch, Rows: d.Len(),
	}
	indices := c.Indices
	if w != nil {
		if err := w.shape(&o); err != nil {
			return nil, err
		}
		if c.Balance != "" && indices == nil {
			indices = w.Rows()
		}
	}
	d.shape(c, &o, d.each(s))
	if w != nil && s == nil { // windows of a block share rows
		lo, hi := w.Span()
		o.Block = max(o.Block, sharedSpans*(hi-lo+1))
	}
	if c.Balance != "" {
		labels, err := d.labels(c.Balance, indices)
		if err != nil {
			return nil, err
		}
		o.Labels = labels
	}
	if len(c.Budget) > 0 {
		if o.Pack, err = d.packing(c); err != nil {
			return nil, err
		}
	}
	return order.New(o)
}

// sharedSpans is how many times as long as a window a block of anchors is at least: it is read
// with a window's rows more.
const sharedSpans = 8

// shape chooses window, block and streams of a Block shuffle from the manifests
// alone.
func (d *Dataset) shape(c *Config, o *order.Config, each int64) {
	least := int64(0)
	for _, n := range o.Parts {
		least += n
	}
	if c.Indices != nil {
		least = int64(len(c.Indices))
	}
	if c.Mix != nil {
		least = slices.Min(o.Parts)
	}
	o.Streams = int64(c.Streams)
	if c.Streams == 0 {
		o.Streams = defaultStreams
		if least < defaultStreams {
			o.Streams = 1
		}
	}
	if o.Window = c.ShuffleWindow; c.ShuffleWindow == 0 {
		o.Window = max(windowBytes/each, o.Streams)
	}
	o.Block = max(blockBytes/each, 1)
}
