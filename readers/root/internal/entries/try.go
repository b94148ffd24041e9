package entries

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// tryEntries is how many entries Try looks at.
const tryEntries = 64

// Try decodes the first entries of a Risky reading and returns why its recipe does not
// explain the bytes, or nil. Damage of the file itself is not a reason; reading the branch
// will report it.
func (r *Reading) Try(f *rfile.File, s *ttree.Scratch) error {
	b := r.Branch
	for i := range b.Baskets.Len() {
		basket, err := b.ReadBasket(f, i, s)
		if err != nil {
			return nil
		}
		if basket.Entries == 0 {
			continue
		}
		lo := basket.First
		hi := lo + int64(min(basket.Entries, tryEntries))
		lengths, err := r.lengths(f, lo, hi)
		if err != nil {
			return nil
		}
		d := NewDecoder(r)
		d.Begin(lo, hi, make([]bool, len(r.Columns)), 1, lengths, nil)
		err = d.Basket(&basket)
		if err != nil || len(basket.Data) > 0 {
			return err
		}
	}
	return nil
}

// lengths reads what r needs to know of entries [lo, hi) from other branches.
func (r *Reading) lengths(f *rfile.File, lo, hi int64) (l Lengths, err error) {
	if r.Counts == nil {
		return l, nil
	}
	counts, err := r.Counts.readCounts(f, r.CountsColumn, lo, hi)
	if err != nil {
		return l, err
	}
	l.Lists = make([]int64, len(counts)+1)
	if !Sum(l.Lists, counts) {
		return l, shardify.Corrupt(-1, "its counts are too large")
	}
	if r.Each != nil {
		l.Each, err = r.Each.readCounts(f, 0, lo, hi)
	}
	return l, err
}

// CountsOf reads the counts of entries [lo, hi) of a branch that another one counts.
func (r *Reading) CountsOf(f *rfile.File, lo, hi int64) ([]int64, error) {
	return r.Counts.readCounts(f, r.CountsColumn, lo, hi)
}

// readCounts reads one integer column of entries [lo, hi).
func (r *Reading) readCounts(f *rfile.File, column int, lo, hi int64) ([]int64, error) {
	lengths, err := r.lengths(f, lo, hi)
	if err != nil {
		return nil, err
	}
	pool := shardify.NewPool(1 << 40)
	mem := pool.Overdraft()
	defer mem.Release()
	want := make([]bool, len(r.Columns))
	want[column] = true
	d := NewDecoder(r)
	d.Begin(lo, hi, want, 1, lengths, mem)
	var s ttree.Scratch
	table := &r.Branch.Baskets
	for i := range table.Len() {
		if table.First[i+1] <= lo || table.First[i] >= hi {
			continue
		}
		basket, err := r.Branch.ReadBasket(f, i, &s)
		if err == nil {
			err = d.Basket(&basket)
		}
		if err != nil {
			return nil, err
		}
	}
	c := &r.Columns[column]
	col := shardify.Column{Field: shardify.Field{DType: c.DType, Levels: c.Levels}}
	if err := d.Finish(column, &col); err != nil {
		return nil, err
	}
	return Counts(nil, &col)
}

// Counts appends the values of a decoded column of integers, none of which may be
// negative.
func Counts(dst []int64, col *shardify.Column) ([]int64, error) {
	from := len(dst)
	if !col.DType.IsInt() {
		return dst, shardify.Corrupt(-1, "counts of type %s", col.DType)
	}
	n := len(col.Data) / col.DType.Size()
	dst = slices.Grow(dst, n)[:from+n]
	numeric.Convert(shardify.Bytes(dst[from:]), shardify.I64, col.Data, col.DType)
	for i, n := range dst[from:] {
		if n < 0 {
			return dst, shardify.Corrupt(-1, "entry %d: a count of %d", i, n)
		}
	}
	return dst, nil
}

// Sum fills lists, one longer than counts, with the counts' running sum from 0. It
// is false if that is more than any basket holds.
func Sum(lists, counts []int64) bool {
	sum := int64(0)
	lists[0] = 0
	for i, n := range counts {
		if sum += n; n < 0 || sum < 0 || n > maxCount || sum > maxSum {
			return false
		}
		lists[i+1] = sum
	}
	return true
}

// A basket has less than 2^31 bytes; elements may have none.
const (
	maxCount = 1 << 31
	maxSum   = 1 << 48
)
