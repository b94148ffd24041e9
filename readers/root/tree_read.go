package root

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/entries"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/storage"
)

const (
	// mergeGap is how many bytes between two baskets are read rather than skipped.
	mergeGap = 256 << 10
	// chunkBytes bounds what is read at a time, unless a basket is longer.
	chunkBytes = 4 << 20
	// keepBytes bounds the baskets kept for the next span, as does the reader's share of
	// the memory.
	keepBytes = 32 << 20
)

// treeReader reads spans of a tree. Its memory is kept from span to span.
type treeReader struct {
	x        *tree
	wanted   []*branchReader
	counters []*branchReader // those that count the elements of wanted ones
	inner    []*branchReader // those that count the values of such elements
	queue    []request
	separate []*branchReader
	chunk    []byte
	payload  []byte
	kept     int64 // bytes of baskets kept
	scratch  *shardify.Pool
	held     shardify.Scratch
	mem      *shardify.Arena // of the current span
	keeps    int64           // bytes of baskets to keep, at most
	follows  bool            // that span continues where one before it ended
}

// branchReader is one branch of a reader.
type branchReader struct {
	r    *entries.Reading
	d    *entries.Decoder
	want []bool
	cols []int // of the read's cols, by column of the reading; -1: not wanted
	// from the current span
	lo, hi     int64           // entries, of counters those before the span, too
	first, end int             // baskets
	lengths    entries.Lengths // of this branch's entries
	before     [][]int64       // by column: counts as they were read
	// keep is the last basket, if the next span may need the rest of it.
	keep    ttree.Basket
	keepAt  int
	counter *branchReader
	each    *branchReader
	deps    []*branchReader
}

// request is a basket to be read.
type request struct {
	off    int64
	bytes  int
	branch *branchReader
	basket int
}

func (x *tree) reader(want []int) tableReader {
	t := &treeReader{x: x, scratch: shardify.NewPool(1 << 20)}
	byReading := map[*entries.Reading]*branchReader{}
	get := func(r *entries.Reading) *branchReader {
		b := byReading[r]
		if b == nil {
			b = &branchReader{r: r, d: entries.NewDecoder(r), want: make([]bool, len(r.Columns)), keepAt: -1}
			for range r.Columns {
				b.cols = append(b.cols, -1)
			}
			byReading[r] = b
			t.wanted = append(t.wanted, b)
		}
		return b
	}
	for k, i := range want {
		c := x.columns[i]
		b := get(c.reading)
		b.cols[c.column], b.want[c.column] = k, true
	}
	counts := map[*entries.Reading]*branchReader{}
	for _, b := range t.wanted {
		t.countersOf(b, counts)
	}
	for _, b := range t.inner {
		t.countersOf(b, counts)
	}
	return t
}

// countersOf finds the readers of the branches that count the elements of b. They
// have other decoders than wanted columns of the same branches: they read other
// entries.
func (t *treeReader) countersOf(b *branchReader, have map[*entries.Reading]*branchReader) {
	get := func(list *[]*branchReader, r *entries.Reading) *branchReader {
		c := have[r]
		if c == nil {
			c = &branchReader{r: r, d: entries.NewDecoder(r), want: make([]bool, len(r.Columns)), keepAt: -1}
			have[r] = c
			*list = append(*list, c)
		}
		return c
	}
	if c := b.r.Counts; c != nil {
		b.counter = get(&t.counters, c)
		b.counter.want[b.r.CountsColumn] = true
		b.counter.deps = append(b.counter.deps, b)
	}
	if b.r.Each != nil {
		b.each = get(&t.inner, b.r.Each)
		b.each.want[0] = true
	}
}

func (t *treeReader) read(ctx context.Context, lo, hi int64, mem *shardify.Arena, cols []*shardify.Column) error {
	t.mem, t.follows = mem, lo > 0 && t.x.reached.Load() == lo || lo == 0 && hi >= t.x.entries()/lookPart
	t.x.reached.Store(hi)
	if err := t.hold(ctx, 0); err != nil { // it counts among the readers
		return err
	}
	t.keeps = min(keepBytes, t.held.Share())
	err := t.entries(ctx, lo, hi, mem, cols)
	if int64(cap(t.chunk)+cap(t.payload))+t.kept > t.held.Share() {
		t.chunk, t.payload = nil, nil
	}
	if e := t.hold(ctx, 0); err == nil {
		err = e
	}
	t.mem = nil
	return err
}

// hold says that so much more is about to be held.
func (t *treeReader) hold(ctx context.Context, more int) error {
	return t.held.Hold(ctx, t.mem, int64(cap(t.chunk)+cap(t.payload)+more)+t.kept)
}

func (t *treeReader) close() { t.held.Close() }

func (t *treeReader) entries(ctx context.Context, lo, hi int64, mem *shardify.Arena, cols []*shardify.Column) error {
	if err := t.count(ctx, lo, hi, mem); err != nil {
		return err
	}
	for _, b := range t.wanted {
		b.begin(lo, hi, b.known(), mem)
	}
	if err := t.run(ctx, t.wanted); err != nil {
		return err
	}
	for _, b := range t.wanted {
		for i, k := range b.cols {
			if k < 0 {
				continue
			}
			if err := b.d.Finish(i, cols[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// known is what other branches say about this one's entries.
func (b *branchReader) known() (l entries.Lengths) {
	if b.counter != nil {
		l = b.lengths
	}
	if b.each != nil {
		l.Each = b.each.before[0]
	}
	return l
}

// begin finds the baskets of entries [lo, hi).
func (b *branchReader) begin(lo, hi int64, l entries.Lengths, mem *shardify.Arena) {
	b.lo, b.hi = lo, hi
	first := b.r.Branch.Baskets.First
	b.first = max(sort.Search(len(first), func(i int) bool { return first[i] > lo })-1, 0)
	b.end = b.first + sort.Search(max(len(first)-1-b.first, 0), func(i int) bool { return first[b.first+i] >= hi })
	b.d.Begin(lo, hi, b.want, b.ratio(), l, mem)
}

// ratio is by how much more there is in all baskets of the span than in the first.
func (b *branchReader) ratio() float64 {
	table := &b.r.Branch.Baskets
	sum, one := 0.0, 0.0
	for i := b.first; i < b.end; i++ {
		lo, hi := table.First[i], table.First[i+1]
		part := float64(min(hi, b.hi)-max(lo, b.lo)) / float64(max(hi-lo, 1))
		size := float64(table.Bytes[i])
		if table.IsEmbedded(i) {
			size = 1 << 10
		}
		sum += float64(size * part)
		if i == b.first {
			one = sum
		}
	}
	if one <= 0 {
		return 1
	}
	return sum / one
}

// run reads the baskets of some branches, in the order of the file. A branch whose baskets
// are in another order there than their entries is read separately.
func (t *treeReader) run(ctx context.Context, branches []*branchReader) error {
	t.queue = t.queue[:0]
	t.separate = t.separate[:0]
	for _, b := range branches {
		have := len(t.queue)
		if !t.enqueue(b) {
			t.queue = t.queue[:have]
			t.separate = append(t.separate, b)
		}
	}
	slices.SortStableFunc(t.queue, func(a, b request) int { return cmp.Compare(a.off, b.off) })
	if err := t.drain(ctx); err != nil {
		return err
	}
	for _, b := range t.separate {
		t.queue = t.queue[:0]
		t.enqueue(b)
		if err := t.drain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enqueue asks for the baskets of a branch. It returns false if they are not in order in
// the file.
func (t *treeReader) enqueue(b *branchReader) (ordered bool) {
	table := &b.r.Branch.Baskets
	ordered = true
	last := int64(-1)
	for i := b.first; i < b.end; i++ {
		q := request{off: table.Seek[i], bytes: int(table.Bytes[i]), branch: b, basket: i}
		if table.IsEmbedded(i) {
			q.off, q.bytes = math.MaxInt64, 0 // without reading, so last
		}
		if i == b.keepAt {
			q.off, q.bytes = max(last, 0), 0
		}
		ordered = ordered && q.off >= last
		last = q.off
		t.queue = append(t.queue, q)
	}
	return ordered
}

// drain reads and decodes the queue, neighbours in one piece.
func (t *treeReader) drain(ctx context.Context) error {
	size := t.x.f.Size()
	for i := range t.queue {
		if q := &t.queue[i]; q.bytes < 0 || q.bytes > 0 && (q.off < 0 || q.off > size-int64(q.bytes)) {
			return t.located(shardify.Corrupt(q.off, "basket %d of %d bytes, the file has %d", q.basket, q.bytes, size), *q)
		}
	}
	gap := int64(mergeGap)
	if t.x.f.Announce(t.ranges()) {
		gap = 0 // it joins ranges itself
	}
	for i := 0; i < len(t.queue); {
		if err := ctx.Err(); err != nil {
			return err
		}
		lo, hi, k := t.next(i, gap)
		if hi > lo {
			if err := t.fetch(ctx, lo, hi); err != nil {
				return t.located(err, t.queue[i])
			}
		}
		for ; i < k; i++ {
			q := &t.queue[i]
			var rec []byte
			if q.bytes > 0 {
				rec = t.chunk[q.off-lo : q.off-lo+int64(q.bytes)]
			}
			if err := t.decode(q, rec); err != nil {
				return err
			}
			// A basket says how large it is when it is opened, and then it is there.
			if err := t.hold(ctx, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// aheadBytes is how much is announced of what follows a span that continues where another ended,
// or that is the first one and more than this part of the table: less may be a look at it.
const (
	aheadBytes = 8 << 20
	lookPart   = 32
)

// ranges are those of the queue, and of what follows where spans are read in order.
func (t *treeReader) ranges() iter.Seq[storage.Range] {
	return func(yield func(storage.Range) bool) {
		for i := range t.queue {
			if !yield(storage.Range{Off: t.queue[i].off, Len: int64(t.queue[i].bytes)}) {
				return
			}
		}
		if !t.follows {
			return
		}
		for _, b := range t.wanted {
			table, left := &b.r.Branch.Baskets, aheadBytes/len(t.wanted)
			for i := b.end; i < len(table.Seek) && i < len(table.Bytes) && left > 0; i++ {
				if table.IsEmbedded(i) {
					continue
				}
				if left -= int(table.Bytes[i]); !yield(storage.Range{Off: table.Seek[i], Len: int64(table.Bytes[i])}) {
					return
				}
			}
		}
	}
}

// next is the piece of the file that request i begins, up to request k. Baskets with no
// more than gap bytes between them are in one piece.
func (t *treeReader) next(i int, gap int64) (lo, hi int64, k int) {
	for k = i; k < len(t.queue); k++ {
		q := &t.queue[k]
		switch end := q.off + int64(q.bytes); {
		case q.bytes == 0:
		case hi == 0:
			lo, hi = q.off, end
		case q.off < lo || q.off-hi > gap || max(hi, end)-lo > chunkBytes:
			return lo, hi, k
		default:
			hi = max(hi, end)
		}
	}
	return lo, hi, k
}

func (t *treeReader) fetch(ctx context.Context, lo, hi int64) error {
	size := t.x.f.Size()
	if lo < 0 || hi < lo || hi > size {
		return shardify.Corrupt(lo, "baskets up to byte %d, the file has %d", hi, size)
	}
	n := int(hi - lo)
	if cap(t.chunk) < n {
		t.chunk = nil
		more := max(n, min(chunkBytes, int(size)))
		if err := t.hold(ctx, more); err != nil {
			return err
		}
		t.chunk = make([]byte, more)
	}
	t.chunk = t.chunk[:n]
	return t.x.f.ReadFull(t.chunk, lo)
}

// located puts the branch into an error of reading.
func (t *treeReader) located(err error, q request) error {
	e, ok := shardify.Annotate(err, "read", "", t.x.t.Path).(*shardify.Error)
	if !ok {
		return err
	}
	c := *e
	if c.Field == "" {
		c.Field = q.branch.r.Branch.Path
	}
	return &c
}

// decode decodes one basket into its columns.
func (t *treeReader) decode(q *request, rec []byte) error {
	b := q.branch
	if q.basket == b.keepAt {
		return b.d.Basket(&b.keep)
	}
	t.forget(b)
	basket, err := b.r.Branch.Decode(q.basket, rec, t.payload)
	if err != nil {
		return inFile(err, q)
	}
	t.payload = basket.Buf
	if err := b.d.Basket(&basket); err != nil {
		return err
	}
	if basket.First+int64(basket.Entries) > b.hi {
		t.keep(b, q.basket, basket)
	}
	return nil
}

// inFile makes the offset in an error that of the basket in the file: its bytes are
// compressed, so that no other is of use.
func inFile(err error, q *request) error {
	e, ok := err.(*shardify.Error)
	if !ok || q.bytes == 0 {
		return err
	}
	c := *e
	c.Offset = q.off
	return &c
}

// keep holds a basket that reaches beyond the span, if its memory is its own.
func (t *treeReader) keep(b *branchReader, i int, basket ttree.Basket) {
	if !basket.Own() || t.kept+int64(cap(basket.Buf)) > t.keeps {
		return
	}
	b.keep, b.keepAt = basket, i
	t.kept += int64(cap(basket.Buf))
	t.payload = nil
}

// forget gives the memory of a branch's kept basket back.
func (t *treeReader) forget(b *branchReader) {
	if b.keepAt < 0 {
		return
	}
	t.kept -= int64(cap(b.keep.Buf))
	if cap(t.payload) < cap(b.keep.Buf) {
		t.payload = b.keep.Buf
	}
	b.keep, b.keepAt = ttree.Basket{}, -1
}
