package gpuload

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
)

// plan decides all that the configuration and the manifests decide.
func (l *Loader) plan() error {
	fields, wanted, err := l.fields()
	if err != nil {
		return err
	}
	keys := l.cfg.Keys && l.window == nil
	if l.cfg.Keys && !keys {
		l.note("no keys: a window has rows of several names")
	}
	for _, in := range l.set.inputs {
		if keys && !in.Keyed && in.Format != index.FormatWDS {
			keys = false
			l.note("no keys: the samples of %s have no names of their own", in.Path)
		}
	}
	if l.layout, err = index.NewLayout(fields, keys); err != nil {
		return err
	}
	for i := range fields {
		l.columns = append(l.columns, fields[i].Name)
	}
	if keys {
		l.columns = append(l.columns, index.KeyName)
	}
	if l.shards, err = load.NewShards(l.set.sets(), l.layout, l.cfg.Verify); err != nil {
		return err
	}
	l.shards.Used = &l.stats.usage
	if l.order, err = l.set.order(&l.cfg, l.window, l.stream); err != nil {
		return err
	}
	l.steps = order.Steps{
		Length: l.order.Len(), Batch: int64(l.cfg.Batch), Rank: int64(l.cfg.Rank), World: int64(l.cfg.World),
		Last: l.cfg.Last, Strided: l.order.Windowed() || l.order.Streams() > 1,
	}
	l.planWork()
	if l.out, l.casts, err = load.CastLayout(l.layout, l.cfg.Cast); err != nil {
		return err
	}
	if l.window != nil {
		if err := l.windowed(wanted); err != nil {
			return err
		}
		l.noteNumbers()
	}
	l.trace = newTracer(l.cfg.Trace, l.cfg.Rank)
	return nil
}

// fields are those of a row that are read; wanted reports which of a window's are.
func (l *Loader) fields() (fields []shardify.Field, wanted func(name string) bool, err error) {
	if l.cfg.Tokens != "" {
		if err := l.streamed(); err != nil {
			return nil, nil, err
		}
		return l.projectView()
	}
	if l.cfg.Window == "" {
		fields, err = l.set.project(l.cfg.Columns)
		return fields, nil, err
	}
	if l.window, err = l.set.window(l.cfg.Window); err != nil {
		return nil, nil, err
	}
	return l.projectView()
}

func (l *Loader) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// order makes the order that a configuration describes.
func (d *Dataset) order(c *Config, w *window, s *stream) (*order.Order, error) {
	if d.samples == 0 {
		var empty []string
		for _, in := range d.inputs {
			empty = append(empty, in.Path)
		}
		return nil, shardify.Mismatch("%s has no samples: there is nothing to draw from", strings.Join(empty, ", "))
	}
	o := order.Config{
		Shuffle: c.Shuffle, Seed: c.Seed, Parts: d.Inputs(),
		Indices: c.Indices, Mix: c.Mix, Weights: c.Weights, Samples: c.Samples,
	}
	indices := c.Indices
	if w != nil {
		o.Spans, o.About = w.spans, w.about()
		if err := w.indices(indices); err != nil {
			return nil, err
		}
		if o.Parts = w.parts; c.Balance != "" && indices == nil {
			indices = w.rows()
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

// maxWorkers bounds the goroutines that are used without being asked for.
const maxWorkers = 16

func (l *Loader) planWork() {
	l.workers = l.cfg.Workers
	if l.workers == 0 {
		l.workers = min(runtime.GOMAXPROCS(0), maxWorkers)
		if n := load.CoresAllowed(); n > 0 {
			l.workers = min(l.workers, n)
		}
	}
	l.crew = load.NewCrew(l.workers - 1)
}

// planMakers decides how many goroutines make batches, whatever Depth is: as many as may read and
// gather, for a batch at a time is made by one. Where a GPU makes all of a batch, one is enough:
// it has nothing to do but to call the driver, which takes one call at a time.
func (l *Loader) planMakers() {
	if l.makers = l.workers; l.absent != nil && !l.listed && !slices.Contains(l.absent, false) {
		l.makers = 1
	}
}

// near has host memory copied by the cores of the GPU's NUMA node, whose memory it is.
func (l *Loader) near() {
	node := l.Device().NUMA
	if n := l.crew.Near(device.Machine.NodeCores(node)); n > 0 {
		l.note("batches are made on %d of %d cores, those of NUMA node %d, which %s hangs on", n, load.CoresAllowed(), node, l.dev)
	}
}

// notePinned says where more host memory is to be pinned than this process may.
func (l *Loader) notePinned(n int64) {
	limit, from := device.Machine.Pinnable()
	if !l.onHost && limit > 0 && n > limit {
		l.note("tier %s pins about %s of host memory, and %s allows %s: raise it, or choose tier stream", l.tier, shardify.FormatSize(n), from, shardify.FormatSize(limit))
	}
}

// noteOrder says what about the order may surprise.
func (l *Loader) noteOrder() {
	s, st := l.order.Streams(), &l.steps
	if s > 1 && s%st.World != 0 {
		l.note("world size %d does not divide %d streams: the samples of every global step are those of other world sizes, but a rank reads about %d times what it delivers; streams=%d would divide",
			st.World, s, st.World/order.GCD(st.World, s), s/order.GCD(s, st.World)*st.World)
	}
	if l.order.Mixed() && (l.tier == TierStream || l.tier == TierStaged) {
		l.note("inputs that are mixed and do not fit into memory are read sample by sample")
	}
	if st.Count(0) == 0 {
		l.note("an epoch of %s samples has no batch: %d on each of %d ranks want %s samples; use last=pad or a smaller batch", printable.Count(st.Length), st.Batch, st.World, printable.Count(st.Global()))
	}
	l.noteLast()
	if l.cfg.Shuffle == Block {
		l.noteLabels()
	}
}

// noteLast says what a default policy does to the end of an epoch.
func (l *Loader) noteLast() {
	st := &l.steps
	left := st.Length % st.Global()
	switch {
	case left == 0 || !l.cfg.lastByDefault || st.Count(0) == 0:
	case st.Last == Drop:
		l.note("an epoch leaves out %s of %s samples, which fill no batch on every rank: the default with a shuffle; last=short delivers them", printable.Count(left), printable.Count(st.Length))
	default:
		_, _, rows := st.Rows(st.Length - left)
		l.note("the last batch of an epoch has %d of %d samples on this rank: the default without a shuffle; last=drop leaves it out on every rank", rows, st.Batch)
	}
}
