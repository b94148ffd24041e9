package gpuload

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/zeebo/xxh3"
)

// Order says which sample stands at each position of each epoch: a pure function
// of its parameters, the epoch and the position. docs/loader.md defines it. It is
// immutable and may be used concurrently.
type Order struct {
	seed    uint64
	shuffle Shuffle
	shape   shape // streams is 1 unless the shuffle is Block
	items   int64 // to draw from
	length  int64 // positions of an epoch
	parts   []part
	indices []int64
	mix     *mixer
	draw    *weighted
	balance *balanced
	text    string // of all parameters but the seed
}

// OrderConfig is the parameters of an Order.
type OrderConfig struct {
	Shuffle Shuffle
	Seed    uint64
	// Parts are the numbers of samples of the inputs.
	Parts []int64
	// Window, Block and Streams of a Block shuffle: samples from which a global
	// batch is drawn, samples of a block, and streams.
	Window, Block, Streams int64
	Indices                []int64
	Mix                    []float64
	Weights                []float64
	// Labels, if set, are of all items to draw from.
	Labels []int64
	// Samples is the length of an epoch with Mix, Weights or Labels; 0 is that of
	// the set.
	Samples int64
}

// NewOrder makes an order.
func NewOrder(c OrderConfig) (*Order, error) {
	o := &Order{seed: c.Seed, shuffle: c.Shuffle, indices: c.Indices, shape: newShape(1, 1, 1)}
	if err := o.setItems(&c); err != nil {
		return nil, err
	}
	if err := o.setDraws(&c); err != nil {
		return nil, err
	}
	if c.Shuffle == Block && o.draw == nil && o.balance == nil {
		if c.Window < 1 || c.Window > maxWindow || c.Block < 1 || c.Streams < 1 || c.Streams > maxStreams {
			return nil, fmt.Errorf("window of %d samples, blocks of %d, %d streams: want 1 or more, windows of at most %d and at most %d streams", c.Window, c.Block, c.Streams, int64(maxWindow), maxStreams)
		}
		o.shape = newShape(c.Streams, (c.Window+c.Streams-1)/c.Streams, c.Block)
	}
	if o.shape.streams > 1 && o.mix != nil {
		for _, p := range o.parts { // every stream has something of every part
			if p.n < o.shape.streams {
				return nil, fmt.Errorf("%d streams over an input of %d samples", o.shape.streams, p.n)
			}
		}
	}
	o.length = o.items
	if c.Samples > 0 {
		if o.mix == nil && o.draw == nil && o.balance == nil {
			return nil, fmt.Errorf("samples %d: the length of an epoch is free only with mix, weights or balance", c.Samples)
		}
		o.length = c.Samples
	}
	if limit := int64(maxSamples); o.length > limit || o.mix != nil && o.length > math.MaxInt64/maxEpoch {
		return nil, fmt.Errorf("epochs of %d samples", o.length)
	}
	o.text = o.describe(&c)
	return o, nil
}

func (o *Order) setItems(c *OrderConfig) error {
	total := int64(0)
	for i, n := range c.Parts {
		if n < 0 || n > maxSamples-total {
			return fmt.Errorf("input %d has %d samples", i, n)
		}
		o.parts = append(o.parts, part{total, n, uint64(i)})
		total += n
	}
	o.items = total
	for i, v := range c.Indices {
		if v < 0 || v >= total {
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

func (o *Order) setDraws(c *OrderConfig) (err error) {
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
		o.draw, err = newWeighted(c.Weights, o.items)
	} else if c.Labels != nil {
		if int64(len(c.Labels)) != o.items {
			return fmt.Errorf("%d labels for %d samples", len(c.Labels), o.items)
		}
		o.balance = newBalanced(c.Labels)
	}
	return err
}

// describe is the parameters as text; lists by their digests.
func (o *Order) describe(c *OrderConfig) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s samples=%d", o.shuffle, o.length)
	if o.shuffle == Block && o.draw == nil && o.balance == nil {
		fmt.Fprintf(&b, " window=%d block=%d streams=%d", o.shape.window*o.shape.streams, o.shape.block, o.shape.streams)
	}
	digest := func(name string, n int, at func(int) uint64) {
		if n > 0 {
			var h xxh3.Hasher
			var w [8]byte
			for i := range n {
				binary.LittleEndian.PutUint64(w[:], at(i))
				h.Write(w[:])
			}
			fmt.Fprintf(&b, " %s=%016x", name, h.Sum64())
		}
	}
	digest("indices", len(c.Indices), func(i int) uint64 { return uint64(c.Indices[i]) })
	digest("mix", len(c.Mix), func(i int) uint64 { return math.Float64bits(c.Mix[i]) })
	digest("weights", len(c.Weights), func(i int) uint64 { return math.Float64bits(c.Weights[i]) })
	digest("balance", len(c.Labels), func(i int) uint64 { return uint64(c.Labels[i]) })
	return b.String()
}

// Len is the positions of an epoch.
func (o *Order) Len() int64 { return o.length }

// String is the parameters but the seed, as they stand in a State.
func (o *Order) String() string { return o.text }

// At is the number of the sample at position q of an epoch.
func (o *Order) At(epoch int, q int64) int64 {
	c := o.cursor(epoch)
	return c.at(q)
}

// replaces reports an order in which a sample may come twice in an epoch.
func (o *Order) replaces() bool { return o.mix != nil || o.draw != nil || o.balance != nil }
