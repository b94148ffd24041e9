package order

import "slices"

// Cursor computes positions of one epoch one after the other and keeps what
// neighbours share. It is used by one goroutine.
type Cursor struct {
	*Order
	epoch   uint64
	listed  []int64 // the samples that are drawn from; nil: not by a list
	drawKey uint64
	parts   []partCursor
	cycles  []cycle // by stream
	sweeps  bool    // all positions are wanted, one after the other
	places  []int64 // of a window, in the order of the set
}

// partCursor keeps the permutations of a part.
type partCursor struct {
	*part
	pass    [2]passOrder // the current pass and the one before or after
	windows []windowOrder
}

// passOrder is one pass over a part: an epoch, unless parts are mixed.
type passOrder struct {
	pass   uint64
	ready  bool
	all    perm
	blocks blocks
}

// windowOrder is a window of a stream: samples lo to lo+perm.n of the part's
// blocks.
type windowOrder struct {
	pass  uint64
	k     int64
	ready bool
	lo    int64
	perm  perm
	items []int64 // of all places, for a cursor that sweeps
}

type cycle struct {
	n     int64
	ready bool
	perm  perm
}

// Cursor begins at an epoch.
func (o *Order) Cursor(epoch int) *Cursor {
	c := &Cursor{Order: o, epoch: uint64(epoch), listed: o.indices, parts: make([]partCursor, len(o.parts))}
	if o.lists != nil {
		l, _ := o.list(epoch)
		c.listed = l.samples
	}
	for i := range c.parts {
		c.parts[i] = partCursor{part: &o.parts[i]}
		if o.shuffle == Block {
			c.parts[i].windows = make([]windowOrder, o.shape.streams)
		}
	}
	c.drawKey = derive(o.seed, c.epoch, forDraw)
	if o.mix != nil {
		c.cycles = make([]cycle, o.shape.streams)
	}
	return c
}

// Epoch is that of the cursor.
func (c *Cursor) Epoch() int { return int(c.epoch) }

// At is the sample at position q.
func (c *Cursor) At(q int64) int64 {
	var item int64
	switch {
	case c.draw != nil:
		item = c.draw.at(c.drawKey, q)
	case c.balance != nil:
		item = c.balance.at(c.seed, c.epoch, q)
	case c.mix != nil:
		item = c.mixed(q)
	default:
		o, stream := c.shape.byStreams.div(q)
		item = c.sample(&c.parts[0], c.epoch, stream, o)
	}
	return c.item(c.listed, item)
}

// Fill is the samples at positions q, q+stride, ... It is At, many times faster: the
// processor computes several permutations at once where none waits for another.
func (c *Cursor) Fill(ids []int64, q, stride int64) {
	switch {
	case c.draw != nil || c.balance != nil || c.mix != nil:
		for j := range ids {
			ids[j] = c.At(q + int64(j)*stride)
		}
		return
	case c.shuffle == Block:
		c.fillBlock(ids, q, stride)
	default:
		for j := range ids {
			ids[j] = q + int64(j)*stride
		}
		if c.shuffle == Global {
			c.passOf(&c.parts[0], c.epoch).all.list(ids)
		}
	}
	switch {
	case c.listed != nil:
		for j, v := range ids {
			ids[j] = c.listed[v]
		}
	case c.spans != nil:
		for j, v := range ids {
			ids[j] = c.spans.at(v)
		}
	}
}

// fillBlock is Fill for a Block shuffle of one part.
func (c *Cursor) fillBlock(ids []int64, q, stride int64) {
	p, s := &c.parts[0], &c.shape
	b := &c.passOf(p, c.epoch).blocks
	b.writeDown()
	if c.sweeps && stride == 1 && s.streams*s.window <= maxSweptWindow {
		c.sweepBlock(ids, q)
		return
	}
	step, over := s.byStreams.div(stride)
	o, stream := s.byStreams.div(q)
	for j := range ids {
		k, at := s.byWindow.div(o)
		w := c.windowOf(p, c.epoch, stream, k)
		ids[j] = w.lo + int64(w.perm.at(uint64(at)))
		o, stream = o+step, stream+over
		if stream >= s.streams {
			o, stream = o+1, stream-s.streams
		}
	}
	for j, x := range ids {
		ids[j], _ = b.item(x)
	}
}

// maxSweptWindow is the most samples of a window that are written down: 32 MiB.
const maxSweptWindow = 1 << 22

// sweepBlock is fillBlock where all positions are wanted: each window of a stream is permuted once, as a list.
func (c *Cursor) sweepBlock(ids []int64, q int64) {
	p, s := &c.parts[0], &c.shape
	o, stream := s.byStreams.div(q)
	k, at := s.byWindow.div(o)
	for j := range ids {
		w := c.windowOf(p, c.epoch, stream, k)
		if len(w.items) == 0 {
			c.writeDown(w, &c.passOf(p, c.epoch).blocks)
		}
		ids[j] = w.items[at]
		if stream++; stream == s.streams {
			stream, o = 0, o+1
			k, at = s.byWindow.div(o)
		}
	}
}

// writeDown lists the items of a window.
func (c *Cursor) writeDown(w *windowOrder, b *blocks) {
	n := int(w.perm.n)
	w.items = slices.Grow(w.items, n)[:n]
	for at := range w.items {
		w.items[at] = int64(at)
	}
	w.perm.list(w.items)
	c.places = slices.Grow(c.places[:0], n)
	for at := int64(0); at < int64(n); {
		item, run := b.item(w.lo + at)
		for end := min(at+run, int64(n)); at < end; at, item = at+1, item+1 {
			c.places = append(c.places, item)
		}
	}
	for at, x := range w.items {
		w.items[at] = c.places[x]
	}
}

// mixed: each stream is a mixture of its own that continues from epoch to epoch.
func (c *Cursor) mixed(q int64) int64 {
	s := c.shape.streams
	at, stream := c.shape.byStreams.div(q)
	_, length := share(c.length, s, stream)
	x := int64(c.epoch)*length + at
	cy := &c.cycles[stream]
	if n := x / mixCycle; c.mix.scatter && (!cy.ready || cy.n != n) {
		*cy = cycle{n, true, newPerm(mixCycle, derive(c.seed, uint64(n), forMix, uint64(stream)))}
	}
	i, rank := c.mix.split(x, &cy.perm)
	p := &c.parts[i]
	_, own := share(p.n, s, stream)
	return p.base + c.sample(p, uint64(rank/own), stream, rank%own)
}

// sample is the one at place o of a stream in a pass over a part.
func (c *Cursor) sample(p *partCursor, pass uint64, stream, o int64) int64 {
	switch c.shuffle {
	case Global:
		return int64(c.passOf(p, pass).all.at(uint64(o)))
	case Block:
		k, at := c.shape.byWindow.div(o)
		w := c.windowOf(p, pass, stream, k)
		item, _ := c.passOf(p, pass).blocks.item(w.lo + int64(w.perm.at(uint64(at))))
		return item
	}
	return o
}

func (c *Cursor) passOf(p *partCursor, pass uint64) *passOrder {
	s := &p.pass[pass&1]
	if !s.ready || s.pass != pass {
		*s = passOrder{pass: pass, ready: true}
		if c.shuffle == Block {
			s.blocks = newBlocks(p.n, c.shape.block, derive(c.seed, pass, forBlocks, p.number))
		} else {
			s.all = newPerm(p.n, derive(c.seed, pass, forSamples, p.number))
		}
	}
	return s
}

func (c *Cursor) windowOf(p *partCursor, pass uint64, stream, k int64) *windowOrder {
	if w := &p.windows[stream]; w.ready && w.pass == pass && w.k == k {
		return w
	}
	return c.newWindow(p, pass, stream, k)
}

func (c *Cursor) newWindow(p *partCursor, pass uint64, stream, k int64) *windowOrder {
	w := &p.windows[stream]
	lo, size := c.shape.windowAt(p.n, stream, k)
	*w = windowOrder{pass, k, true, lo, newPerm(size, derive(c.seed, pass, forWindow, p.number, uint64(stream), uint64(k))), w.items[:0]}
	return w
}
