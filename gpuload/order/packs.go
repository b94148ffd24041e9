package order

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Oversize is what happens to a sample that alone is more than a budget allows.
type Oversize string

// The policies.
const (
	Refuse Oversize = "error" // it is an error before the first batch
	Alone  Oversize = "alone" // it is a batch of its own
	Skip   Oversize = "drop"  // it is in no batch, and counted
)

// Budget bounds what the samples of a batch have in all.
type Budget struct {
	Name    string
	Most    int64
	Lengths *Lengths // of all samples
}

// Packing says how the samples of an epoch become batches.
type Packing struct {
	Budgets []Budget // a batch exceeds none of them; the first one is what samples are sorted by
	// Padded: what counts is the samples of a batch times the longest of them.
	Padded   bool
	Batch    int64 // the most samples of a batch
	Window   int64 // samples that are sorted by length, so that those of a batch are alike; 1: none are
	Oversize Oversize
}

// Packs cuts the epochs of an Order into batches by budgets. It is a pure function of the order, the
// lengths and the epoch: each rank computes the same. docs/design/loader.md defines it.
type Packs struct {
	Packing
	order *Order
	most  int64

	mu     sync.Mutex
	epochs []*packedEpoch // the last ones that were asked for
	chunks []*chunk       // likewise
}

// Lengths are whole numbers from 0 on, one for each sample.
type Lengths struct {
	small []uint32
	big   []int64 // in place of small, once one of them has more than 32 bits
}

// Append adds lengths.
func (l *Lengths) Append(list ...int64) {
	for _, n := range list {
		if l.big == nil && n <= math.MaxUint32 {
			l.small = append(l.small, uint32(n))
			continue
		}
		if l.big == nil {
			l.big = make([]int64, len(l.small), max(cap(l.small), len(l.small)+1))
			for i, v := range l.small {
				l.big[i] = int64(v)
			}
			l.small = nil
		}
		l.big = append(l.big, n)
	}
}

// Of is the length of a sample.
func (l *Lengths) Of(sample int64) int64 {
	if l.big != nil {
		return l.big[sample]
	}
	return int64(l.small[sample])
}

const (
	// MaxPacked is the most samples of a batch by a budget, of which empty ones cost nothing.
	MaxPacked = 1 << 16
	// chunkBatches is how many batches are cut at a time without windows.
	chunkBatches = 256
	// maxPackWindow bounds what is in memory at a time.
	maxPackWindow = 1 << 26
	// keptChunks is how many chunks are kept: for the goroutines that make batches near each other.
	keptChunks = 8
	// keptSamples is up to how many samples all batches of an epoch are kept once they are counted:
	// cutting them again takes as long as to copy short samples.
	keptSamples = 1 << 20
)

// pack cuts epochs into batches.
func (o *Order) pack(p *Packing) (*Packs, error) {
	k := &Packs{Packing: *p, order: o}
	if len(p.Budgets) == 0 || len(p.Budgets) > maxBudgets || p.Batch < 1 || p.Window < 1 || p.Window > maxPackWindow {
		return nil, fmt.Errorf("%d budgets, %d samples of a batch, windows of %d samples: want 1 to %d budgets, 1 sample or more, and windows of 1 to %d", len(p.Budgets), p.Batch, p.Window, maxBudgets, int64(maxPackWindow))
	}
	for i := range p.Budgets {
		b := &p.Budgets[i]
		if b.Most < 0 {
			return nil, fmt.Errorf("budget of %s: %d: want 0 or more", b.Name, b.Most)
		}
	}
	if !o.Listed() { // else Give does it
		if err := k.checkSizes(o.Items(), o.Item); err != nil {
			return nil, err
		}
	}
	k.most = k.bound()
	return k, nil
}

// checkSizes refuses a sample that alone is over a budget, unless Oversize says what to do.
func (p *Packs) checkSizes(n int64, item func(int64) int64) error {
	if p.Oversize != Refuse {
		return nil
	}
	for q := range n {
		s := item(q)
		for i := range p.Budgets {
			if b := &p.Budgets[i]; b.Lengths.Of(s) > b.Most {
				return fmt.Errorf("sample %d has %s %d, and the budget is %d: oversize=\"alone\" makes it a batch of its own, \"drop\" leaves it out", s, b.Name, b.Lengths.Of(s), b.Most)
			}
		}
	}
	return nil
}

// forget drops what was computed of epochs.
func (p *Packs) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epochs, p.chunks = nil, nil
}

// describe is the parameters as text.
func (p *Packing) describe(b *strings.Builder) {
	b.WriteString(" budget=")
	for i := range p.Budgets {
		fmt.Fprintf(b, "%s:%d,", p.Budgets[i].Name, p.Budgets[i].Most)
	}
	fmt.Fprintf(b, "padded=%t,batch=%d,window=%d,oversize=%s", p.Padded, p.Batch, p.Window, p.Oversize)
}

// bound is the most samples that a batch of any epoch can have: those with the smallest lengths, or the
// one with the smallest again and again, where samples are drawn.
func (p *Packs) bound() int64 {
	most := min(p.Batch, p.order.Len())
	for i := range p.Budgets {
		b := &p.Budgets[i]
		least := p.smallest(b.Lengths, most)
		if p.order.Drawn() {
			if least[0] > 0 {
				most = min(most, max(b.Most/least[0], 1))
			}
			continue
		}
		n, total := int64(0), int64(0)
		for n < min(most, int64(len(least))) {
			c := least[n]
			if p.Padded {
				total = times(n+1, c)
			} else {
				total += c
			}
			if total > b.Most {
				break
			}
			n++
		}
		most = min(most, max(n, 1))
	}
	return most
}

// smallest is the n smallest lengths of the samples to draw from, rising. It has 2n of them at a time.
func (p *Packs) smallest(l *Lengths, n int64) []int64 {
	list, least := make([]int64, 0, min(2*n, p.order.Items())), int64(math.MaxInt64)
	for q := range p.order.Items() {
		v := l.Of(p.order.Item(q))
		if v >= least {
			continue
		}
		if list = append(list, v); int64(len(list)) == 2*n {
			slices.Sort(list)
			list, least = list[:n], list[n-1]
		}
	}
	slices.Sort(list)
	return list[:min(n, int64(len(list)))]
}

// times is a*b, or the largest number there is.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// packedEpoch is where the chunks of an epoch begin.
type packedEpoch struct {
	number int
	once   sync.Once
	from   []int64  // position of each chunk, without windows; with them each is Window behind the last
	first  []int64  // number of its first batch; one more: all batches
	chunks []*chunk // of an epoch of at most keptSamples
}

// chunk is some batches that follow each other.
type chunk struct {
	epoch  int
	number int
	once   sync.Once
	ids    []int64
	ends   []int
}

// Batches is how many batches an epoch has, over all ranks.
func (p *Packs) Batches(epoch int) int64 {
	e := p.epoch(epoch)
	return e.first[len(e.first)-1]
}

// epoch cuts an epoch once: the numbers of batches are kept, not the batches.
func (p *Packs) epoch(number int) *packedEpoch {
	p.mu.Lock()
	i := slices.IndexFunc(p.epochs, func(e *packedEpoch) bool { return e.number == number })
	if i < 0 {
		p.epochs = append(p.epochs, &packedEpoch{number: number})
		p.epochs = p.epochs[max(len(p.epochs)-3, 0):]
		i = len(p.epochs) - 1
	}
	e := p.epochs[i]
	p.mu.Unlock()
	e.once.Do(func() {
		if p.Window > 1 {
			p.countWindows(e)
		} else {
			p.cutAll(e)
		}
	})
	return e
}

// cutAll finds the chunks of an epoch without windows, one after the other.
func (p *Packs) cutAll(e *packedEpoch) {
	c := p.cutter(e.number)
	e.first = []int64{0}
	for at := int64(0); at < c.length; {
		e.from = append(e.from, at)
		at = c.run(at)
		if c.length <= keptSamples {
			e.chunks = append(e.chunks, c.chunk())
		}
		e.first = append(e.first, e.first[len(e.first)-1]+int64(len(c.ends)))
	}
}

// countWindows counts the batches of all windows, several windows at once.
func (p *Packs) countWindows(e *packedEpoch) {
	windows := (p.order.LenOf(e.number) + p.Window - 1) / p.Window
	e.first = make([]int64, windows+1)
	keep := p.order.LenOf(e.number) <= keptSamples
	if keep {
		e.chunks = make([]*chunk, windows)
	}
	var next sync.Mutex
	at := int64(0)
	var wg sync.WaitGroup
	for range min(int64(runtime.GOMAXPROCS(0)), windows) {
		wg.Go(func() {
			c := p.cutter(e.number)
			for {
				next.Lock()
				k := at
				at++
				next.Unlock()
				if k >= windows {
					return
				}
				c.window(k)
				e.first[k+1] = int64(len(c.ends))
				if keep {
					c.shuffle(k)
					e.chunks[k] = c.chunk()
				}
			}
		})
	}
	wg.Wait()
	for k := range windows {
		e.first[k+1] += e.first[k]
	}
}

// Samples are those of a batch of an epoch. They are not to be changed.
func (p *Packs) Samples(epoch int, number int64) []int64 {
	e := p.epoch(epoch)
	k := sort.Search(len(e.first)-1, func(i int) bool { return e.first[i+1] > number })
	var ch *chunk
	if e.chunks != nil {
		ch = e.chunks[k]
	} else {
		ch = p.chunk(e, k)
	}
	j := int(number - e.first[k])
	lo := 0
	if j > 0 {
		lo = ch.ends[j-1]
	}
	return ch.ids[lo:ch.ends[j]]
}

// chunk cuts a chunk of an epoch that does not keep them, unless it is one of the last ones.
func (p *Packs) chunk(e *packedEpoch, k int) *chunk {
	p.mu.Lock()
	i := slices.IndexFunc(p.chunks, func(c *chunk) bool { return c.epoch == e.number && c.number == k })
	if i < 0 {
		p.chunks = append(p.chunks, &chunk{epoch: e.number, number: k})
		p.chunks = p.chunks[max(len(p.chunks)-keptChunks, 0):]
		i = len(p.chunks) - 1
	}
	ch := p.chunks[i]
	p.mu.Unlock()
	ch.once.Do(func() {
		c := p.cutter(e.number)
		if p.Window > 1 {
			c.window(int64(k))
			c.shuffle(int64(k))
		} else {
			c.run(e.from[k])
		}
		ch.ids, ch.ends = c.ids, c.ends
	})
	return ch
}

// cutter cuts samples into batches: those of ids up to each of ends.
type cutter struct {
	p      *Packs
	cur    *Cursor
	length int64 // positions of the epoch
	list   []int64
	ids    []int64
	ends   []int
	keys   []sorted
	other  []sorted

	// Of the batch that is open.
	n    int64
	cost [maxBudgets]open
}

// maxBudgets bounds the budgets of a Packing.
const maxBudgets = 8

// sorted is a sample with its length.
type sorted struct{ length, sample int64 }

// open is what the samples of a batch have of one length.
type open struct{ total, longest int64 }

func (p *Packs) cutter(epoch int) *cutter {
	return &cutter{p: p, cur: p.order.Cursor(epoch), length: p.order.LenOf(epoch)}
}

func (c *cutter) reset() {
	c.ids, c.ends = c.ids[:0], c.ends[:0]
	c.n, c.cost = 0, [maxBudgets]open{}
}

// chunk is a copy of the batches.
func (c *cutter) chunk() *chunk {
	return &chunk{ids: slices.Clone(c.ids), ends: slices.Clone(c.ends)}
}

// window cuts window k: its samples by length.
func (c *cutter) window(k int64) {
	c.reset()
	from := k * c.p.Window
	c.fill(from, min(c.p.Window, c.length-from))
	for _, s := range c.sorted() {
		c.add(s)
	}
	c.closeBatch()
}

// sorted is the list by length, those of one length as they are in the order: digits of the lengths
// are counted, the lowest first.
func (c *cutter) sorted() []int64 {
	const bits = 11
	l, most := c.p.Budgets[0].Lengths, int64(0)
	c.keys = slices.Grow(c.keys[:0], len(c.list))[:len(c.list)]
	for i, s := range c.list {
		c.keys[i] = sorted{l.Of(s), s}
		most = max(most, c.keys[i].length)
	}
	c.other = slices.Grow(c.other[:0], len(c.list))[:len(c.list)]
	for shift := 0; most>>shift > 0; shift += bits {
		var at [1 << bits]int
		for i := range c.keys {
			at[c.keys[i].length>>shift&(1<<bits-1)]++
		}
		sum := 0
		for d := range at {
			at[d], sum = sum, sum+at[d]
		}
		for _, k := range c.keys {
			d := k.length >> shift & (1<<bits - 1)
			c.other[at[d]] = k
			at[d]++
		}
		c.keys, c.other = c.other, c.keys
	}
	for i := range c.keys {
		c.list[i] = c.keys[i].sample
	}
	return c.list
}

// shuffle puts the batches of window k into an order of their own.
func (c *cutter) shuffle(k int64) {
	o := c.p.order
	by := newPerm(int64(len(c.ends)), derive(o.seed, uint64(c.cur.Epoch()), forBatches, uint64(k)))
	ids, ends := make([]int64, 0, len(c.ids)), make([]int, 0, len(c.ends))
	for j := range c.ends {
		i, lo := int(by.at(uint64(j))), 0
		if i > 0 {
			lo = c.ends[i-1]
		}
		ids = append(ids, c.ids[lo:c.ends[i]]...)
		ends = append(ends, len(ids))
	}
	c.ids, c.ends = ids, ends
}

// run cuts chunkBatches batches or some more from a position on, in order, and returns the position
// behind them, where a batch begins.
func (c *cutter) run(at int64) int64 {
	c.reset()
	for at < c.length {
		c.fill(at, min(c.length-at, 4096))
		for _, s := range c.list {
			begins := c.add(s)
			switch enough := len(c.ends) >= chunkBatches; {
			case enough && begins:
				c.ids = c.ids[:len(c.ids)-1]
				return at
			case enough && c.n == 0:
				return at + 1
			}
			at++
		}
	}
	c.closeBatch()
	return at
}

func (c *cutter) fill(at, n int64) {
	if int64(cap(c.list)) < n {
		c.list = make([]int64, n)
	}
	c.list = c.list[:n]
	c.cur.Fill(c.list, at, 1)
}

// add puts a sample into the open batch, or into the next one, which it begins then.
func (c *cutter) add(s int64) (begins bool) {
	fits, alone := c.n < c.p.Batch, false
	for i := range c.p.Budgets {
		b := &c.p.Budgets[i]
		v, o := b.Lengths.Of(s), &c.cost[i]
		if v > b.Most {
			alone = true
		}
		if c.p.Padded {
			fits = fits && times(c.n+1, max(o.longest, v)) <= b.Most
		} else {
			fits = fits && v <= b.Most-o.total
		}
	}
	switch {
	case alone && c.p.Oversize == Skip:
		return false
	case alone:
		c.aside(s)
		return false
	case !fits && c.n > 0:
		c.closeBatch()
		begins = true
	}
	c.ids, c.n = append(c.ids, s), c.n+1
	for i := range c.p.Budgets {
		v, o := c.p.Budgets[i].Lengths.Of(s), &c.cost[i]
		o.total, o.longest = o.total+v, max(o.longest, v)
	}
	return begins
}

// aside makes a batch of a sample, before the one that is open.
func (c *cutter) aside(s int64) {
	at := len(c.ids) - int(c.n)
	c.ids = slices.Insert(c.ids, at, s)
	c.ends = append(c.ends, at+1)
}

func (c *cutter) closeBatch() {
	if c.n > 0 {
		c.ends = append(c.ends, len(c.ids))
		c.n, c.cost = 0, [maxBudgets]open{}
	}
}

// Report is what the batches of an epoch hold.
type Report struct {
	Batches int64 `json:"batches"`
	Samples int64 `json:"samples"`
	Dropped int64 `json:"dropped"` // samples that are in no batch: Oversize
	// By budget: what all batches have, with padding where it counts, and what the largest has.
	Used    []int64 `json:"used"`
	Largest []int64 `json:"largest"`
	// LargestBatch is the number of the largest by the first budget.
	LargestBatch int64 `json:"largest_batch"`
}

// Report counts an epoch.
func (p *Packs) Report(epoch int) Report {
	r := Report{Batches: p.Batches(epoch), Used: make([]int64, len(p.Budgets)), Largest: make([]int64, len(p.Budgets))}
	for b := range r.Batches {
		list := p.Samples(epoch, b)
		r.Samples += int64(len(list))
		for i := range p.Budgets {
			total, longest := int64(0), int64(0)
			for _, s := range list {
				v := p.Budgets[i].Lengths.Of(s)
				total, longest = total+v, max(longest, v)
			}
			if p.Padded {
				total = times(longest, int64(len(list)))
			}
			r.Used[i] += total
			if total > r.Largest[i] {
				if r.Largest[i] = total; i == 0 {
					r.LargestBatch = b
				}
			}
		}
	}
	r.Dropped = p.order.LenOf(epoch) - r.Samples
	return r
}
