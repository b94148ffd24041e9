package gpuload

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/shardify/shardify/index"
)

// plan decides all that the configuration and the manifests decide.
func (l *Loader) plan() error {
	fields, err := l.set.project(l.cfg.Columns)
	if err != nil {
		return err
	}
	keys := l.cfg.Keys
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
	if l.shards, err = newShardSet(l.set, l.layout, l.cfg.Verify); err != nil {
		return err
	}
	if l.order, err = l.set.order(&l.cfg); err != nil {
		return err
	}
	l.steps = steps{
		length: l.order.length, batch: int64(l.cfg.Batch), rank: int64(l.cfg.Rank), world: int64(l.cfg.World),
		last: l.cfg.Last, strided: l.order.windowed() || l.order.shape.streams > 1,
	}
	l.planWork()
	if l.out, l.casts, err = castLayout(l.layout, l.cfg.Cast); err != nil {
		return err
	}
	l.trace = newTracer(l.cfg.Trace, l.cfg.Rank)
	return nil
}

func (l *Loader) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// order makes the order that a configuration describes.
func (d *Dataset) order(c *Config) (*Order, error) {
	o := OrderConfig{
		Shuffle: c.Shuffle, Seed: c.Seed, Parts: d.Inputs(),
		Indices: c.Indices, Mix: c.Mix, Weights: c.Weights, Samples: c.Samples,
	}
	d.shape(c, &o)
	if c.Balance != "" {
		labels, err := d.labels(c.Balance, c.Indices)
		if err != nil {
			return nil, err
		}
		o.Labels = labels
	}
	return NewOrder(o)
}

// shape chooses window, block and streams of a Block shuffle from the manifests
// alone.
func (d *Dataset) shape(c *Config, o *OrderConfig) {
	each := d.sampleBytes()
	least := d.samples
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
	if o.Window = c.Window; c.Window == 0 {
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
		if n := coresAllowed(); n > 0 {
			l.workers = min(l.workers, n)
		}
	}
	l.makers = min(l.workers, l.cfg.Depth)
	l.crew = newCrew(l.workers - 1)
}

// noteOrder says what about the order may surprise.
func (l *Loader) noteOrder() {
	s, st := l.order.shape.streams, &l.steps
	if s > 1 && s%st.world != 0 {
		l.note("world size %d does not divide %d streams: the samples of every global step are those of other world sizes, but a rank reads about %d times what it delivers; streams=%d would divide",
			st.world, s, st.world/gcd(st.world, s), s/gcd(s, st.world)*st.world)
	}
	if l.order.shuffle == Block && l.order.mix != nil && (l.tier == TierStream || l.tier == TierStaged) {
		l.note("inputs that are mixed and do not fit into memory are read sample by sample")
	}
	if st.count(0) == 0 {
		l.note("an epoch of %d samples has no batch: %d on each of %d ranks want %d samples; use last=pad or a smaller batch", st.length, st.batch, st.world, st.global())
	}
	l.noteLast()
	if l.cfg.Shuffle == Block {
		l.noteLabels()
	}
}

// noteLast says what a policy that nobody chose does to the end of an epoch.
func (l *Loader) noteLast() {
	st := &l.steps
	left := st.length % st.global()
	switch {
	case left == 0 || !l.cfg.lastByDefault || st.count(0) == 0:
	case st.last == Drop:
		l.note("an epoch leaves out %d of %d samples, which fill no batch on every rank: the default with a shuffle; last=short delivers them", left, st.length)
	default:
		_, _, rows := st.rows(st.length - left)
		l.note("the last batch of an epoch has %d of %d samples on this rank: the default without a shuffle; last=drop leaves it out on every rank", rows, st.batch)
	}
}
