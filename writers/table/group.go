package table

import (
	"math"

	"github.com/shardify/shardify"
)

// Group says how many samples go into the next part of a file: a row group, or a record batch.
type Group struct {
	MaxRows, MaxBytes int64 // a group is full at one of them
	Rows              int64 // so far

	bytes  int64 // about, of its values
	fields []int
	fixed  int64 // bytes of each sample, if all have as many
}

// NewGroup is for the columns of a schema.
func NewGroup(cols []Column, rows, bytes int64) *Group {
	g := &Group{MaxRows: rows, MaxBytes: bytes}
	for i := range cols {
		c := &cols[i]
		if c.Field < 0 {
			continue
		}
		if g.fields = append(g.fields, c.Field); c.Size == 0 {
			g.fixed = -1
		}
		if g.fixed >= 0 {
			g.fixed += int64(c.Size / c.DType.Size() * c.From.Size())
		}
	}
	return g
}

// Reset begins another group.
func (g *Group) Reset() { g.Rows, g.bytes = 0, 0 }

// Each goes through a batch: put takes samples [lo, hi), and flush writes a group that is full.
func (g *Group) Each(b *shardify.Batch, put func(lo, hi int), flush func() error) error {
	for lo := 0; lo < b.Samples; {
		hi, err := g.fit(b, lo)
		if err != nil {
			return err
		}
		put(lo, hi)
		if lo = hi; g.Rows == g.MaxRows || g.bytes >= g.MaxBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit adds samples of a batch from lo on, as many as there is room for and at least one, and says where
// they end.
func (g *Group) fit(b *shardify.Batch, lo int) (hi int, err error) {
	most := min(b.Samples, lo+int(g.MaxRows-g.Rows))
	if one := g.fixed; one > 0 && one < g.MaxBytes {
		n := min(int64(most-lo), (g.MaxBytes-g.bytes+one-1)/one)
		g.Rows, g.bytes = g.Rows+n, g.bytes+n*one
		return lo + int(n), nil
	}
	for hi = lo; hi < most && (hi == lo || g.bytes < g.MaxBytes); hi++ {
		one := int64(0)
		for _, k := range g.fields {
			from, to := b.Columns[k].Range(hi, hi+1)
			one += int64(to - from)
		}
		if one > math.MaxInt32/2 {
			err := shardify.Unsupported("a sample of %s: a value of a table has up to 2 GiB", shardify.FormatSize(one))
			return 0, shardify.Amend(err, func(e *shardify.Error) { e.Sample = b.ID(hi).Sample })
		}
		if hi > lo && g.bytes+one > 2*g.MaxBytes {
			break
		}
		g.Rows, g.bytes = g.Rows+1, g.bytes+one
	}
	return hi, nil
}
