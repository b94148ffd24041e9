package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/convert/shuffle"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// partBytes is how large parts are, about: a rule of the plan; tests make them smaller.
var partBytes int64 = 8 << 20

// rowBytes is what it takes to bring a row together, beside its values: its identity, twice, and
// its place in the order.
const rowBytes = 64

// idBytes is the size of a row's identity in a scratch file.
const idBytes = 12

// parts are ranges of keys whose rows are brought together in scratch files. Samples are in
// the order of their keys then, and the rows of a sample in the order of the inputs.
type parts struct {
	list []part1
	ends []string // keys that parts but the first begin with
	nums []uint64 // the same of keys that are one number
}

// part1 is the rows of one range of keys.
type part1 struct{ rows, samples, bytes, first int64 }

func (p *parts) samples() int64 { last := p.list[len(p.list)-1]; return last.first + last.samples }

func (p *parts) bytes() (n int64) {
	for i := range p.list {
		n += p.list[i].bytes
	}
	return n
}

func (p *parts) spans(yield func(shardify.Span, error) bool) {
	for _, x := range p.list {
		if x.samples > 0 && !yield(shardify.Span{Lo: x.first, Hi: x.first + x.samples, Bytes: x.bytes + 8*x.samples}, nil) {
			return
		}
	}
}

func (p *parts) number() {
	n := int64(0)
	for i := range p.list {
		p.list[i].first = n
		n += p.list[i].samples
	}
}

// setEnds takes the keys that parts begin with.
func (p *parts) setEnds(ends []string, oneNumber bool) {
	p.ends, p.nums = ends, nil
	if oneNumber {
		p.nums = make([]uint64, len(ends))
		for i, e := range ends {
			p.nums[i] = decodeNumber(e)
		}
	}
}

// of appends the part of each row.
func (p *parts) of(dst []uint64, v *view) []uint64 {
	if p.nums != nil {
		for _, x := range v.cols[0].vals {
			dst = append(dst, uint64(sort.Search(len(p.nums), func(i int) bool { return p.nums[i] > x })))
		}
		return dst
	}
	var key []byte
	for i := range v.n {
		key = v.encode(key[:0], i)
		dst = append(dst, uint64(sort.Search(len(p.ends), func(k int) bool { return p.ends[k] > string(key) })))
	}
	return dst
}

func (p *parts) append(b []byte) []byte {
	if p == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(p.list)))
	for i, x := range p.list {
		for _, n := range []int64{x.rows, x.samples, x.bytes} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		if i > 0 {
			b = binary.AppendUvarint(b, uint64(len(p.ends[i-1])))
			b = append(b, p.ends[i-1]...)
		}
	}
	return b
}

func (s *Source) restoreParts(r *varint.Reader) error {
	n := r.Count(3)
	if n == 0 && !r.Bad {
		return nil
	}
	p := &parts{}
	var ends []string
	var sum int64
	for i := range n {
		x := part1{rows: int64(r.U()), samples: int64(r.U()), bytes: int64(r.U())}
		if i > 0 {
			ends = append(ends, string(r.Bytes(r.U())))
		}
		if x.rows < 0 || x.samples < 0 || x.samples > x.rows && s.keys.listed == nil || x.samples > math.MaxInt32 && s.keys.listed != nil || x.rows > math.MaxInt64/2-sum || s.oneNumber() && i > 0 && len(ends[i-1]) != 8 {
			r.Bad = true
			break
		}
		sum += x.rows
		p.list = append(p.list, x)
	}
	if r.Bad {
		return shardify.Corrupt(0, "the state of grouped rows is damaged")
	}
	p.setEnds(ends, s.oneNumber())
	p.number()
	if l := s.keys.listed; l != nil && p.samples() != int64(l.table.Rows) {
		return shardify.Corrupt(0, "the state of grouped rows has %d samples, the table %d", p.samples(), l.table.Rows)
	}
	s.parts = p
	return nil
}

// oneNumber reports whether the key is one number.
func (s *Source) oneNumber() bool {
	return s.keys.listed != nil || len(s.keys.names) == 1 && !s.keys.perFile && s.out[shardify.FieldIndex(s.out, s.keys.names[0])].Levels == 0
}

func (s *Source) allBytes() (n int64) {
	for k := range s.units {
		n += s.units[k].span.Bytes
	}
	return n
}

// parts finds ranges of keys that have about as many rows each.
func (c *scanner) parts(all []found) *parts {
	p := &parts{}
	var sample []string
	for k := range all {
		sample = append(sample, all[k].sample...)
	}
	slices.Sort(sample)
	want := int(min((c.s.allBytes()+rowBytes*c.s.allRows())/partBytes+1, sampled/16))
	var ends []string
	for i := 1; i < want; i++ {
		ends = append(ends, sample[i*len(sample)/want])
	}
	ends = slices.Compact(ends)
	p.setEnds(ends, c.s.oneNumber())
	p.list = make([]part1, len(ends)+1)
	return p
}

// count finds the parts, and how many samples each has. If there are as many as with contiguous
// rows for each key, the rows are contiguous, and the result is nil.
func (c *scanner) count(ctx context.Context, all []found, runs int64) (*parts, error) {
	s := c.s
	p := c.parts(all)
	total, rows := s.allBytes(), s.allRows()
	if s.keys.listed != nil {
		return p, c.tally(ctx, p, total, rows)
	}

	schema := c.src.Schema()
	names := s.keys.names
	dir, drop, err := temporary()
	if err != nil {
		return nil, err
	}
	defer drop()
	keysOf := func(b *shardify.Batch) *shardify.Batch {
		out := *b
		out.Columns = nil
		for _, n := range names {
			out.Columns = append(out.Columns, *find(b, n))
		}
		return &out
	}
	var fields []shardify.Field
	for _, n := range names {
		fields = append(fields, schema[shardify.FieldIndex(schema, n)])
	}
	var sp spool
	defer sp.close()
	if err := sp.collect(ctx, c, p, fields, dir, keysOf, nil); err != nil {
		return nil, err
	}
	var samples int64
	again := twice{at: shardify.ID{Input: math.MaxUint32}, next: map[shardify.ID]shardify.ID{}}
	var last shardify.Span
	for _, u := range s.units {
		if u.span.Samples() == 0 {
			continue
		}
		if last.Samples() > 0 {
			again.next[shardify.ID{Input: last.Input, Sample: last.Hi - 1}] = shardify.ID{Input: u.span.Input, Sample: u.span.Lo}
		}
		last = u.span
	}
	var v view
	for i := range p.list {
		mem := c.pool.Overdraft()
		b, err := sp.read(ctx, i, mem)
		if err == nil {
			_, err = s.keys.look(&v, b, mem)
		}
		if err != nil {
			mem.Release()
			return nil, err
		}
		order := v.order(b.IDs)
		n := int64(0)
		for k, x := range order {
			if k == 0 || v.compare(int(order[k-1]), int(x)) != 0 {
				n++
			} else {
				again.look(b.IDs[order[k-1]], b.IDs[x], &v, int(x))
			}
		}
		p.list[i].rows, p.list[i].samples = int64(b.Samples), n
		p.list[i].bytes = mulDiv(total, int64(b.Samples), max(rows, 1))
		samples += n
		mem.Release()
	}
	p.number()
	switch {
	case samples == runs:
		return nil, nil
	case s.opts.Order == plan.OrderAdjacent:
		return nil, shardify.Hint(again.err(s), "leave --group-order out: such rows are collected in scratch files then")
	}
	return p, nil
}

// tally counts the rows of parts whose samples a table lists.
func (c *scanner) tally(ctx context.Context, p *parts, total, rows int64) error {
	if c.s.opts.Order == plan.OrderAdjacent {
		return shardify.Hint(shardify.Mismatch("--group-order %s: the rows are in another order than the samples in %s", plan.OrderAdjacent, c.s.opts.From.Table), "leave --group-order out: such rows are collected in scratch files then")
	}
	counts := make([][]int64, c.jobs)
	for w := range counts {
		counts[w] = make([]int64, len(p.list))
	}
	of := make([][]uint64, c.jobs)
	err := c.each(ctx, func(w, _ int, _ *shardify.Batch, v *view) error {
		of[w] = p.of(of[w][:0], v)
		for _, i := range of[w] {
			counts[w][i]++
		}
		return nil
	})
	for i := range p.list {
		x, end := &p.list[i], uint64(c.s.keys.listed.table.Rows)
		for w := range counts {
			x.rows += counts[w][i]
		}
		if i < len(p.nums) {
			end = p.nums[i]
		}
		x.samples, x.bytes = int64(end), mulDiv(total, x.rows, max(rows, 1))
		if i > 0 {
			x.samples -= int64(p.nums[i-1])
		}
	}
	p.number()
	return err
}

func mulDiv(a, b, c int64) int64 { return int64(float64(a) * (float64(b) / float64(c))) }

// twice is the first row whose key was in another place before.
type twice struct {
	before, at shardify.ID
	key        string
	next       map[shardify.ID]shardify.ID // rows that follow the last ones of units
}

func (t *twice) look(a, b shardify.ID, v *view, row int) {
	if (a.Input == b.Input && a.Sample+1 == b.Sample || t.next[a] == b) || byID(b, t.at) >= 0 {
		return
	}
	t.before, t.at, t.key = a, b, v.shown(row)
}

func (t *twice) err(s *Source) error {
	of := ""
	if t.at.Input != t.before.Input {
		of = " of " + s.table.Shown(int(t.before.Input))
	}
	err := shardify.Mismatch("--group-order %s: row %d has the key %s of row %d%s again, after others", plan.OrderAdjacent, t.at.Sample, t.key, t.before.Sample, of)
	return s.located(err, t.at.Input)
}

// order is the rows by key; rows of one key keep the order of the inputs.
func (v *view) order(ids []shardify.ID) []int32 {
	n := v.n
	v.list = slices.Grow(v.list[:0], n)[:n]
	for i := range v.list {
		v.list[i] = ranked{uint64(ids[i].Sample), int32(i)}
	}
	if !slices.IsSortedFunc(ids, byID) {
		v.radix()
		for i, x := range v.list {
			v.list[i].by = uint64(ids[x.row].Input)
		}
		v.radix()
	}
	for k := len(v.cols) - 1; k >= 0; k-- {
		c := &v.cols[k]
		if c.offs != nil {
			slices.SortStableFunc(v.list, func(a, b ranked) int { return bytes.Compare(c.text(int(a.row)), c.text(int(b.row))) })
			continue
		}
		for i, x := range v.list {
			v.list[i].by = c.vals[x.row]
		}
		v.radix()
	}
	v.rows = slices.Grow(v.rows[:0], n)[:n]
	for i, x := range v.list {
		v.rows[i] = x.row
	}
	return v.rows
}

// ranked is a row and what it is ordered by.
type ranked struct {
	by  uint64
	row int32
}

// radix orders list; rows of equal rank stay in their order.
func (v *view) radix() {
	const digit = 11
	if len(v.list) == 0 {
		return
	}
	low, high := v.list[0].by, v.list[0].by
	for _, x := range v.list {
		low, high = min(low, x.by), max(high, x.by)
	}
	v.tmp = slices.Grow(v.tmp[:0], len(v.list))[:len(v.list)]
	for shift := 0; shift < 64 && (high-low)>>shift > 0; shift += digit {
		var at [1<<digit + 1]int32
		for _, x := range v.list {
			at[(x.by-low)>>shift%(1<<digit)+1]++
		}
		for i := range 1 << digit {
			at[i+1] += at[i]
		}
		for _, x := range v.list {
			d := (x.by - low) >> shift % (1 << digit)
			v.tmp[at[d]] = x
			at[d]++
		}
		v.list, v.tmp = v.tmp, v.list
	}
}

func byID(a, b shardify.ID) int {
	return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Sample, b.Sample))
}

// temporary is a folder for scratch files of the plan.
func temporary() (storage.Store, func(), error) {
	dir, err := os.MkdirTemp("", "shardify-group-")
	if err != nil {
		return nil, nil, err
	}
	return local.NewDir(dir, local.SyncNone), func() { local.RemoveAll(dir) }, nil
}

// spool is rows in scratch files, by parts.
type spool struct {
	mu    sync.Mutex
	store storage.Store
	names []string
	set   *shuffle.Set
	has   []bool     // parts; nil is all
	views chan *view // as many as bring rows together at the same time
	drop  func()     // removes the store, if it is private
}

func (x *spool) close() {
	if x.set != nil {
		x.set.Close()
	}
	for _, n := range x.names {
		x.store.Remove(n)
	}
	x.set, x.names = nil, nil
	if x.drop != nil {
		x.drop()
		x.drop = nil
	}
}

// collect brings the rows of the wanted parts together, all if wanted is nil.
func (x *spool) collect(ctx context.Context, c *scanner, p *parts, schema []shardify.Field, store storage.Store, fields func(*shardify.Batch) *shardify.Batch, wanted []bool) (err error) {
	x.store, x.has = store, wanted
	keep := c.pool.Limit() / 2
	half := *c
	half.pool = shardify.NewPool(c.pool.Limit() - keep)
	var views sync.Pool
	sh := &shuffle.Shuffle{
		Layout: shuffle.Layout{Schema: schema, Wide: true, Inputs: true}, Scratch: store, Pool: half.pool,
		Keep: max(keep/int64(3*c.jobs), 256<<10),
		Bucket: func(dst []uint64, b *shardify.Batch) ([]uint64, error) {
			v, _ := views.Get().(*view)
			if v == nil {
				v = &view{}
			}
			defer views.Put(v)
			if _, err := c.s.keys.look(v, b, nil); err != nil {
				return nil, err
			}
			return p.of(dst, v), nil
		},
	}
	b := shuffle.Buckets{First: []int{0}, Count: []int{len(p.list)}}
	outs := make([]*shuffle.Scatter, c.jobs)
	defer func() {
		for _, o := range outs {
			if o != nil {
				o.Abort()
			}
		}
		if err != nil {
			x.close()
		}
	}()
	for w := range outs {
		outs[w] = sh.Scatter(fmt.Sprintf("rows-%06d-%016x%s", w, rand.Uint64(), plan.FragmentSuffix), b)
	}
	err = half.each(ctx, func(w, _ int, b *shardify.Batch, v *view) (err error) {
		if wanted != nil {
			mem := half.pool.Overdraft()
			defer mem.Release()
			if b, err = x.only(b, p.of(nil, v), mem); err != nil || b.Samples == 0 {
				return err
			}
		}
		return outs[w].Write(0, fields(b))
	})
	if err != nil {
		return err
	}
	x.set = sh.Open(b, 1, 0)
	for _, o := range outs {
		f, err := o.Commit(ctx)
		if err != nil {
			return err
		}
		x.names = append(x.names, f.Name)
		if err := x.set.Add(f.Name); err != nil {
			return err
		}
	}
	sh.Drop()
	return nil
}

// only is the rows of parts that are wanted.
func (x *spool) only(b *shardify.Batch, of []uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	var rows []int32
	for i, p := range of {
		if x.has[p] {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == b.Samples {
		return b, nil
	}
	return b.Take(rows, mem)
}

// read is the rows of a part, in any order.
func (x *spool) read(ctx context.Context, part int, mem *shardify.Arena) (*shardify.Batch, error) {
	return x.set.Bucket(ctx, part, mem)
}

// CollectBytes implements format.Collector.
func (s *Source) CollectBytes() int64 {
	if s.parts == nil {
		return 0
	}
	return s.parts.bytes() + idBytes*s.allRows()
}

// Collect implements format.Collector: it brings the rows of some spans together in scratch
// files, if they are not.
func (s *Source) Collect(ctx context.Context, spans []shardify.Span, pool *shardify.Pool, jobs int, store storage.Store) error {
	if s.parts == nil {
		return nil
	}
	s.spool.mu.Lock()
	defer s.spool.mu.Unlock()
	wanted := make([]bool, len(s.parts.list))
	all := s.spool.set != nil
	for _, sp := range spans {
		k := s.parts.find(sp)
		wanted[k] = true
		all = all && (s.spool.has == nil || s.spool.has[k])
	}
	if all {
		return nil
	}
	s.spool.close()
	if store == nil {
		dir, drop, err := temporary()
		if err != nil {
			return err
		}
		s.spool.drop = drop
		store = dir
	}
	if !slices.Contains(wanted, false) {
		wanted = nil
	}
	c := &scanner{s: s, src: s.Rows, pool: pool, jobs: max(jobs, 1)}
	if s.spool.views == nil {
		s.spool.views = make(chan *view, c.jobs)
		for range c.jobs {
			s.spool.views <- &view{}
		}
	}
	return s.spool.collect(ctx, c, s.parts, s.in, store, func(b *shardify.Batch) *shardify.Batch { return b }, wanted)
}

// find is the part of a span.
func (p *parts) find(sp shardify.Span) int {
	return sort.Search(len(p.list), func(i int) bool { return p.list[i].first+p.list[i].samples > sp.Lo })
}

// collected reads samples of rows that were brought together.
func (r *reader) collected(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	s := r.s
	k := s.parts.find(sp)
	if s.spool.set == nil || k == len(s.parts.list) || sp.Lo < s.parts.list[k].first || sp.Hi <= sp.Lo || sp.Hi > s.parts.list[k].first+s.parts.list[k].samples {
		return nil, fmt.Errorf("grouped rows: no span [%d, %d)", sp.Lo, sp.Hi)
	}
	x := &s.parts.list[k]
	if err := r.scratch.Hold(ctx, mem, 2*x.bytes+rowBytes*x.rows); err != nil {
		return nil, err
	}
	defer r.scratch.Hold(ctx, mem, 0)
	beside := mem.Overdraft()
	defer beside.Release()
	var v *view
	select {
	case v = <-s.spool.views: // a goroutine that holds a view never waits while it has it
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { s.spool.views <- v }()
	rows, err := nothing(s.in), error(nil)
	if x.rows > 0 {
		rows, err = s.spool.read(ctx, k, beside)
	}
	if err == nil {
		_, err = s.keys.look(v, rows, mem)
	}
	if err != nil {
		return nil, err
	}
	order := v.order(rows.IDs)
	v.ids = v.ids[:0]
	for _, x := range order {
		v.ids = append(v.ids, rows.IDs[x])
	}
	cols, err := rows.TakeColumns(order, mem)
	if err != nil {
		return nil, err
	}
	rows = &shardify.Batch{Samples: len(order), IDs: v.ids, Columns: cols}
	if _, err := s.keys.look(v, rows, mem); err != nil {
		return nil, err
	}
	starts, err := v.starts(s, x.first, x.samples, mem)
	if err != nil {
		return nil, err
	}
	if int64(rows.Samples) != x.rows || int64(len(starts)-1) != x.samples {
		return nil, fmt.Errorf("%d rows of %d samples, planned %d of %d: %w", rows.Samples, len(starts)-1, x.rows, x.samples, shardify.ErrChanged)
	}
	b, err := s.group(rows, v, starts, x.first, mem)
	if err != nil || sp.Samples() == x.samples {
		return b, err
	}
	return part(b, int(sp.Lo-x.first), int(sp.Hi-x.first), mem)
}

// nothing is a batch of no rows.
func nothing(schema []shardify.Field) *shardify.Batch {
	b := &shardify.Batch{IDs: []shardify.ID{}}
	for _, f := range schema {
		b.Columns = append(b.Columns, f.Empty())
	}
	return b
}
