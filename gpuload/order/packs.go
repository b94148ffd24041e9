package order

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
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

// look is the lengths of a list of samples.
func (l *Lengths) look(vals, samples []int64) {
	if l.big != nil {
		for j, s := range samples {
			vals[j] = l.big[s]
		}
		return
	}
	for j, s := range samples {
		vals[j] = int64(l.small[s])
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
	maxPackWindow = 1 << placeBits
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

// Over is how many of the samples that epochs are made of are over a budget by themselves.
func (p *Packs) Over() (n int64) {
	for q := range p.order.Items() {
		s := p.order.Item(q)
		if slices.ContainsFunc(p.Budgets, func(b Budget) bool { return b.Lengths.Of(s) > b.Most }) {
			n++
		}
	}
	return n
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
	if c.length > keptSamples {
		c.feed = p.feed(e.number)
	}
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

// countWindows counts the batches of all windows, on all cores.
func (p *Packs) countWindows(e *packedEpoch) {
	length := p.order.LenOf(e.number)
	windows, cores := (length+p.Window-1)/p.Window, int64(runtime.GOMAXPROCS(0))
	e.first = make([]int64, windows+1)
	if length <= keptSamples {
		e.chunks = make([]*chunk, windows)
	}
	each := (windows + 4*cores - 1) / (4 * cores) // neighbours share what is computed of the order
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(cores, windows) {
		wg.Go(func() {
			c, s := p.cutter(e.number), p.sweep(e.number)
			for k := next.Add(each) - each; k < windows; k = next.Add(each) - each {
				c.countSome(e, s, k, min(k+each, windows))
			}
		})
	}
	wg.Wait()
	for k := range windows {
		e.first[k+1] += e.first[k]
	}
}

// countSome counts the batches of windows [k, end), and keeps them if the epoch does.
func (c *cutter) countSome(e *packedEpoch, s *sweep, k, end int64) {
	w := c.p.Window
	for ; k < end; k++ {
		if e.chunks != nil {
			c.window(k)
			c.shuffle(k)
			e.chunks[k] = c.chunk()
		} else {
			if !s.has(k * w) {
				s.read(k*w, min((k+max(c.p.sweepSize()/w, 1))*w, end*w, c.length))
			}
			c.take(s, k*w, w)
			c.cutSorted()
		}
		e.first[k+1] = int64(len(c.ends))
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
	length int64               // positions of the epoch
	feed   *feed               // of lengths, where batches are counted alone and ids do not matter
	list   []int64             // samples, or places, where batches are counted alone
	vals   [maxBudgets][]int64 // their lengths
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

// sorted is the place of a sample in a list, with its length.
type sorted struct{ length, place int64 }

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
	from := k * c.p.Window
	c.fill(from, min(c.p.Window, c.length-from))
	c.cutSorted()
}

// cutSorted cuts the list by length, those of one length as they are in the order.
func (c *cutter) cutSorted() {
	c.reset()
	for _, k := range c.sorted() {
		c.add(int(k.place))
	}
	c.closeBatch()
}

// sorted is the places of the list by length: digits of the lengths are counted, the lowest first.
func (c *cutter) sorted() []sorted {
	const bits = 11
	most := int64(0)
	c.keys = slices.Grow(c.keys[:0], len(c.list))[:len(c.list)]
	for i, v := range c.vals[0] {
		c.keys[i] = sorted{v, int64(i)}
		most = max(most, v)
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
	return c.keys
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
		for j := range c.list {
			begins := c.add(j)
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

// fill makes the list of n positions, or of fewer where a feed has no more at a time.
func (c *cutter) fill(at, n int64) {
	if c.feed != nil {
		c.take(c.feed.at(at), at, n)
		return
	}
	c.list = slices.Grow(c.list[:0], int(n))[:n]
	c.cur.Fill(c.list, at, 1)
	for i := range c.p.Budgets {
		c.vals[i] = slices.Grow(c.vals[i][:0], int(n))[:n]
		c.p.Budgets[i].Lengths.look(c.vals[i], c.list)
	}
}

// take makes the list of up to n positions of what a sweep has read.
func (c *cutter) take(s *sweep, at, n int64) {
	at -= s.from
	n = min(n, int64(len(s.list))-at)
	c.list = s.list[at : at+n]
	for i := range c.p.Budgets {
		c.vals[i] = s.vals[i][at : at+n]
	}
}

// add puts sample j of the list into the open batch, or into the next one, which it begins then.
func (c *cutter) add(j int) (begins bool) {
	fits, alone := c.n < c.p.Batch, false
	for i := range c.p.Budgets {
		b := &c.p.Budgets[i]
		v, o := c.vals[i][j], &c.cost[i]
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
		c.aside(c.list[j])
		return false
	case !fits && c.n > 0:
		c.closeBatch()
		begins = true
	}
	c.ids, c.n = append(c.ids, c.list[j]), c.n+1
	for i := range c.p.Budgets {
		v, o := c.vals[i][j], &c.cost[i]
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
