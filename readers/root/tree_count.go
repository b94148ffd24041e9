package root

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/entries"
)

// count reads the branches that count the elements of others.
func (t *treeReader) count(ctx context.Context, lo, hi int64, mem *shardify.Arena) error {
	if len(t.counters) == 0 {
		return nil
	}
	tmp := t.scratch.Overdraft()
	defer tmp.Release()
	for _, c := range t.counters {
		c.begin(min(lo, c.needed(lo)), hi, entries.Lengths{}, tmp)
	}
	if err := t.run(ctx, t.counters); err != nil {
		return err
	}
	for _, c := range t.counters {
		for i, want := range c.want {
			if !want {
				continue
			}
			if err := c.lists(i, lo, hi, mem); err != nil {
				return err
			}
		}
	}
	return t.countEach(ctx, lo, hi, tmp)
}

// countEach reads the branches that count the values of elements.
func (t *treeReader) countEach(ctx context.Context, lo, hi int64, tmp *shardify.Arena) error {
	for _, c := range t.inner {
		c.begin(lo, hi, c.known(), tmp)
	}
	if err := t.run(ctx, t.inner); err != nil {
		return err
	}
	for _, c := range t.inner {
		if _, err := c.counts(0); err != nil {
			return err
		}
	}
	return nil
}

// counts takes the values of column i, which are counts.
func (b *branchReader) counts(i int) ([]int64, error) {
	c := &b.r.Columns[i]
	col := shardify.Column{Field: shardify.Field{Name: b.r.Branch.Path, DType: c.DType, Levels: c.Levels}}
	if err := b.d.Finish(i, &col); err != nil {
		return nil, err
	}
	if b.before == nil {
		b.before = make([][]int64, len(b.want))
	}
	counts, err := entries.Counts(b.before[i][:0], &col)
	b.before[i] = counts
	return counts, shardify.Annotate(err, "read", "", b.r.Branch.Tree.Path+" "+b.r.Branch.Path)
}

// needed is the first entry whose count is needed: a basket without offsets is
// understood from its beginning only.
func (b *branchReader) needed(lo int64) int64 {
	first := lo
	for _, d := range b.deps {
		if d.r.Branch.IOBits == 0 {
			continue
		}
		table := d.r.Branch.Baskets.First
		for i := 0; i+1 < len(table); i++ {
			if table[i] <= lo && lo < table[i+1] {
				first = min(first, table[i])
			}
		}
	}
	return max(first, 0)
}

// lists makes the offsets of the span from column i of a counter.
func (b *branchReader) lists(i int, lo, hi int64, mem *shardify.Arena) error {
	counts, err := b.counts(i)
	if err != nil {
		return err
	}
	lists := mem.Int64s(int(hi-lo) + 1)
	if !entries.Sum(lists, counts[lo-b.lo:]) {
		return shardify.Annotate(shardify.Corrupt(-1, "its counts are too large"), "read", "", b.r.Branch.Tree.Path+" "+b.r.Branch.Path)
	}
	l := entries.Lengths{Lists: lists, Before: counts[:lo-b.lo], At: b.lo}
	for _, d := range b.deps {
		if d.r.CountsColumn == i {
			d.lengths = l
		}
	}
	return nil
}
