package order

import (
	"fmt"
	"math"
	"strings"
)

// Shuffle is how the samples of an epoch are mixed.
type Shuffle string

// The kinds of shuffle.
const (
	// None keeps the order of the data set.
	None Shuffle = "none"
	// Block permutes runs of neighbouring samples over the whole set, and samples
	// within windows of such runs: reads are large whatever a sample's size.
	Block Shuffle = "block"
	// Global permutes all samples.
	Global Shuffle = "global"
)

// Last is what happens to samples at the end of an epoch that fill no batch on
// every rank. Steps are as many on every rank with each of them.
type Last string

// The policies.
const (
	// Drop leaves them out: all of an epoch that has fewer samples than a global batch.
	Drop Last = "drop"
	// Pad delivers them in a batch with fewer rows, or none; the rest is zeros, empty lists
	// and ID -1.
	Pad Last = "pad"
	// Short delivers them in a last batch that is smaller, on some ranks perhaps empty.
	Short Last = "short"
)

// Limits of what an order is made for.
const (
	MaxEpoch   = 1 << 31
	MaxStreams = 1 << 16
	maxWindow  = 1 << 40
	maxSamples = 1 << 48
)

// Order says which sample is at each position of each epoch. It is a pure function of its
// parameters, the epoch and the position. docs/design/loader.md defines it. It is immutable and
// may be used concurrently.
type Order struct {
	seed    uint64
	shuffle Shuffle
	shape   shape // streams is 1 unless the shuffle is Block
	items   int64 // to draw from
	length  int64 // positions of an epoch
	parts   []part
	indices []int64
	spans   *spans
	mix     *mixer
	draw    *weighted
	balance *balanced
	packs   *Packs
	lists   *lists // of epochs, in place of indices; else nil
	rows    int64  // of the set, with a list
	text    string // of all parameters but the seed
}

// Config is the parameters of an Order.
type Config struct {
	Shuffle Shuffle
	Seed    uint64
	// Parts are the numbers of samples of the inputs.
	Parts []int64
	// Window, Block and Streams of a Block shuffle: samples from which a global
	// batch is drawn, samples of a block, and streams.
	Window, Block, Streams int64
	Indices                []int64
	// Once: Indices are the order of an epoch, without a shuffle, and no sample is in them twice. PerEpoch:
	// each epoch has such a list, Indices being that of Epoch; Give sets others.
	Once, PerEpoch bool
	Epoch          int
	Rows           int64 // of the set, if its samples are numbered by rows, as Spans are
	// Spans, if set, are the samples to draw from where Indices do not say it. Those of one of
	// the Parts follow each other; Parts are then numbers of samples to draw from.
	Spans []Span
	// About joins the text of the order: what it is an order of.
	About   string
	Mix     []float64
	Weights []float64
	// Labels, if set, are of all items to draw from.
	Labels []int64
	// Samples is the length of an epoch with Mix, Weights or Labels; 0 is that of
	// the set.
	Samples int64
	// Pack, if set, makes batches by budgets.
	Pack *Packing
}

// New makes an order.
func New(c Config) (o *Order, err error) {
	o = &Order{seed: c.Seed, shuffle: c.Shuffle, indices: c.Indices, shape: newShape(1, 1, 1)}
	if c.Once || c.PerEpoch {
		return newListed(o, c)
	}
	return o, o.set(&c)
}

// set checks and takes the parameters.
func (o *Order) set(c *Config) (err error) {
	if err := o.setItems(c); err != nil {
		return err
	}
	if err := o.setDraws(c); err != nil {
		return err
	}
	if c.Shuffle == Block && o.draw == nil && o.balance == nil {
		if c.Window < 1 || c.Window > maxWindow || c.Block < 1 || c.Streams < 1 || c.Streams > MaxStreams {
			return fmt.Errorf("window of %d samples, blocks of %d, %d streams: want 1 or more, windows of at most %d and at most %d streams", c.Window, c.Block, c.Streams, int64(maxWindow), MaxStreams)
		}
		o.shape = newShape(c.Streams, (c.Window+c.Streams-1)/c.Streams, c.Block)
	}
	if o.shape.streams > 1 && o.mix != nil {
		for _, p := range o.parts { // every stream has something of every part
			if p.n < o.shape.streams {
				return fmt.Errorf("%d streams over an input of %d samples", o.shape.streams, p.n)
			}
		}
	}
	o.length = o.items
	if c.Samples > 0 {
		if o.mix == nil && o.draw == nil && o.balance == nil {
			return fmt.Errorf("samples %d: the length of an epoch is free only with mix, weights or balance", c.Samples)
		}
		o.length = c.Samples
	}
	if limit := int64(maxSamples); o.length > limit || o.mix != nil && o.length > math.MaxInt64/MaxEpoch {
		return fmt.Errorf("epochs of %d samples", o.length)
	}
	o.text = o.describe(c)
	if c.Pack != nil {
		o.packs, err = o.pack(c.Pack)
	}
	return err
}

func (o *Order) setItems(c *Config) error {
	total := int64(0)
	for i, n := range c.Parts {
		if n < 0 || n > maxSamples-total {
			return fmt.Errorf("input %d has %d samples", i, n)
		}
		o.parts = append(o.parts, part{total, n, uint64(i)})
		total += n
	}
	o.items = total
	if c.Indices == nil && c.Spans != nil {
		if o.spans = newSpans(c.Spans); o.spans.len() != total {
			return fmt.Errorf("%d samples to draw from, of %d", o.spans.len(), total)
		}
	}
	for i, v := range c.Indices {
		if v < 0 || c.Spans == nil && v >= total {
			return fmt.Errorf("index %d is %d, there are %d samples", i, v, total)
		}
	}
	if c.Indices != nil {
		o.items = int64(len(c.Indices))
	}
	if o.items == 0 {
		return fmt.Errorf("no samples to draw from")
	}
	return nil
}

func (o *Order) setDraws(c *Config) (err error) {
	ways := 0
	for _, on := range []bool{c.Mix != nil, c.Weights != nil, c.Labels != nil} {
		if on {
			ways++
		}
	}
	switch {
	case ways > 1:
		return fmt.Errorf("mix, weights and balance: at most one of them")
	case c.Mix != nil && c.Indices != nil:
		return fmt.Errorf("mix and indices exclude each other")
	case c.Mix != nil:
		for i, p := range o.parts {
			if p.n == 0 {
				return fmt.Errorf("mix: input %d has no samples", i)
			}
		}
		o.mix, err = newMixer(c.Mix, len(o.parts), c.Shuffle != None)
		return err
	}
	o.parts = []part{{0, o.items, 0}}
	if c.Weights != nil {
		o.draw, err = newWeighted(c.Weights, o.items, o.Item)
	} else if c.Labels != nil {
		if int64(len(c.Labels)) != o.items {
			return fmt.Errorf("%d labels for %d samples", len(c.Labels), o.items)
		}
		o.balance = newBalanced(c.Labels)
	}
	return err
}

// describe is the parameters as text; lists by their digests.
func (o *Order) describe(c *Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s samples=%d", o.shuffle, o.length)
	if c.About != "" {
		fmt.Fprintf(&b, " %s", c.About)
	}
	if c.PerEpoch {
		b.WriteString(" per-epoch")
	}
	if o.shuffle == Block && o.draw == nil && o.balance == nil {
		fmt.Fprintf(&b, " window=%d block=%d streams=%d", o.shape.window*o.shape.streams, o.shape.block, o.shape.streams)
	}
	digest := func(name string, n int, at func(int) uint64) {
		if n > 0 {
			fmt.Fprintf(&b, " %s=%016x", name, digestOf(n, at))
		}
	}
	digest("indices", len(c.Indices), func(i int) uint64 { return uint64(c.Indices[i]) })
	digest("mix", len(c.Mix), func(i int) uint64 { return math.Float64bits(c.Mix[i]) })
	digest("weights", len(c.Weights), func(i int) uint64 { return math.Float64bits(c.Weights[i]) })
	digest("balance", len(c.Labels), func(i int) uint64 { return uint64(c.Labels[i]) })
	if c.Pack != nil {
		c.Pack.describe(&b)
	}
	return b.String()
}

// Packs is the batches by budgets; nil without.
func (o *Order) Packs() *Packs { return o.packs }

// Len is the positions of an epoch, at most.
func (o *Order) Len() int64 { return o.length }

// String is the parameters but the seed, as a State has them.
func (o *Order) String() string { return o.text }

// At is the number of the sample at position q of an epoch.
func (o *Order) At(epoch int, q int64) int64 {
	c := o.Cursor(epoch)
	return c.At(q)
}

// Drawn reports an order in which a sample may come twice in an epoch: with Mix, Weights or
// Labels. It has no Formula.
func (o *Order) Drawn() bool { return o.mix != nil || o.draw != nil || o.balance != nil }

// Seed is that of the order.
func (o *Order) Seed() uint64 { return o.seed }

// Items is how many samples there are to draw from, and Item the number of one of them.
func (o *Order) Items() int64 { return o.items }

// Item is the number of the i-th sample to draw from.
func (o *Order) Item(i int64) int64 { return o.item(o.indices, i) }

func (o *Order) item(list []int64, i int64) int64 {
	switch {
	case list != nil:
		return list[i]
	case o.spans != nil:
		return o.spans.at(i)
	}
	return i
}

// Windowed reports an order whose windows can be read ahead.
func (o *Order) Windowed() bool { return o.shuffle == Block && !o.Drawn() && o.packs == nil }

// Mixed reports a Block shuffle of several inputs, which has no windows to read ahead.
func (o *Order) Mixed() bool { return o.shuffle == Block && o.mix != nil }

// Window is the samples from which a global batch of a Block shuffle is drawn; else 1, as
// are Block and Streams.
func (o *Order) Window() int64 { return o.shape.window * o.shape.streams }

// Block is the samples of a block.
func (o *Order) Block() int64 { return o.shape.block }

// Streams is how many parts of the set are gone through side by side.
func (o *Order) Streams() int64 { return o.shape.streams }
