package root

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
)

const (
	// friendSpan is how many of a friend's entries are read at a time.
	friendSpan = 16 << 10
	// friendGap is how many entries between two wanted ones are read rather than skipped.
	friendGap = 256
	// friendBytes bounds what is read at a time, unless an entry is longer.
	friendBytes = 4 << 20
)

// keyedReader reads the entries of a friend that belong to a span of the main table. Where
// both are in one order that is one stretch; else it is as many as there are groups of
// neighbours, so that a friend in quite another order is read many times over.
type keyedReader struct {
	k      *keyed
	main   table
	wide   []bool
	keys   tableReader
	values tableReader
	pool   *shardify.Pool
	held   shardify.Scratch
	each   int64 // bytes of an entry's values, an estimate

	buf  []uint64
	rows []int64
}

func newKeyedReader(k *keyed, main table, want []int) *keyedReader {
	each := int64(1)
	for _, i := range want {
		f := &k.table.fields()[i]
		if each += int64(f.ElemBytes()); f.Levels > 0 {
			each += f.bytes/max(k.table.entries(), 1) + 8
		}
	}
	return &keyedReader{k: k, main: main, wide: k.mainWide(main), keys: main.reader(k.main), values: k.table.reader(want), pool: shardify.NewPool(1 << 20), each: each}
}

func (r *keyedReader) close() {
	r.keys.close()
	r.values.close()
	r.k.index.letGo(r)
	r.held.Close()
}

func (r *keyedReader) read(ctx context.Context, lo, hi int64, mem *shardify.Arena, cols []*shardify.Column) error {
	hold := (hi-lo)*(r.each+16) + friendBytes // the values before they are in order
	if r.k.index.heldBy(r) {
		hold += indexBytes(r.k.table.entries(), len(r.k.names))
	}
	if err := r.held.Hold(ctx, mem, hold); err != nil {
		return err
	}
	if err := r.k.build(ctx); err != nil {
		return err
	}
	var err error
	if r.buf, err = readKeys(ctx, r.keys, r.main, r.k.main, lo, hi, r.pool, r.buf[:0]); err != nil {
		return err
	}
	if r.rows, err = r.k.lookup(r.buf, r.wide, lo, r.rows[:0]); err != nil {
		return shardify.Annotate(err, "read", "", r.main.path())
	}
	return r.gather(ctx, mem, cols)
}

// gather reads the entries r.rows into cols.
func (r *keyedReader) gather(ctx context.Context, mem *shardify.Arena, cols []*shardify.Column) error {
	tmp := r.pool.Overdraft()
	defer tmp.Release()
	sorted := slices.Clone(r.rows)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	missing := len(sorted) > 0 && sorted[0] < 0
	if missing {
		sorted = sorted[1:]
	}
	all := &shardify.Batch{}
	for _, c := range cols {
		all.Columns = append(all.Columns, c.Empty())
	}
	most := max(min(friendSpan, friendBytes/r.each), 1)
	gap := min(friendGap, most/16+1)
	for i := 0; i < len(sorted); {
		k := i + 1
		for k < len(sorted) && sorted[k]-sorted[k-1] <= gap && sorted[k]-sorted[i] < most {
			k++
		}
		if err := r.piece(ctx, sorted[i:k], all); err != nil {
			return err
		}
		i = k
	}
	if missing {
		appendNothing(all)
	}
	at := make([]int32, len(r.rows))
	for i, e := range r.rows {
		at[i] = int32(len(sorted)) // the empty one at the end
		if e >= 0 {
			n, _ := slices.BinarySearch(sorted, e)
			at[i] = int32(n)
		}
	}
	out, err := all.Take(at, mem)
	if err != nil {
		return err
	}
	for i := range out.Columns {
		c := &out.Columns[i]
		cols[i].Data, cols[i].Offsets, cols[i].Valid = c.Data, c.Offsets, c.Valid
		if r.k.fill {
			r.markMissing(cols[i], mem)
		}
	}
	return nil
}

// piece reads one stretch of the friend and appends its wanted entries.
func (r *keyedReader) piece(ctx context.Context, rows []int64, all *shardify.Batch) error {
	mem := r.pool.Overdraft()
	defer mem.Release()
	b := &shardify.Batch{Columns: make([]shardify.Column, len(all.Columns))}
	cols := make([]*shardify.Column, len(all.Columns))
	for i := range cols {
		b.Columns[i].Field = all.Columns[i].Field
		cols[i] = &b.Columns[i]
	}
	lo, hi := rows[0], rows[len(rows)-1]+1
	b.Samples = int(hi - lo)
	if err := r.values.read(ctx, lo, hi, mem, cols); err != nil {
		return shardify.Annotate(err, "read", "", r.k.path)
	}
	take := make([]int32, len(rows))
	for i, e := range rows {
		take[i] = int32(e - lo)
	}
	some, err := b.Take(take, mem)
	if err != nil {
		return err
	}
	for i := range all.Columns {
		all.Columns[i].Append(&some.Columns[i], all.Samples, some.Samples)
	}
	all.Samples += some.Samples
	return nil
}

// markMissing marks the entries without a friend.
func (r *keyedReader) markMissing(c *shardify.Column, mem *shardify.Arena) {
	if c.Valid == nil {
		c.Valid = mem.Alloc(len(r.rows))
		for i := range c.Valid {
			c.Valid[i] = 1
		}
	}
	for i, e := range r.rows {
		if e < 0 {
			c.Valid[i] = 0
		}
	}
}

// appendNothing appends a sample of zeros and empty lists.
func appendNothing(b *shardify.Batch) {
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Valid != nil {
			c.Valid = append(c.Valid, 0)
		}
		if c.Levels == 0 {
			c.Data = append(c.Data, make([]byte, c.ElemBytes())...)
			continue
		}
		o := c.Offsets[0]
		c.Offsets[0] = append(o, o[len(o)-1])
	}
	b.Samples++
}
