package rows

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/plan"
)

// Listing is a table whose rows are the samples, in its order. A sample may have no rows.
type Listing struct {
	Keys []shardify.Column // those of Grouping.From.Columns
	Cols []shardify.Column // further fields of the samples
	Rows int
	// Beyond memory, ByKey has the numbers of rows by key, and ByRow the keys and other columns
	// by number. Cols are then without rows, and so are Keys that are those of samples.
	ByKey, ByRow *Table
}

// Table is a table that rows are found in.
type Table = key.Table

// Close ends the use of files that the table is in.
func (t *Listing) Close() error {
	if t == nil || t.ByRow == nil {
		return nil
	}
	err := t.ByRow.Close()
	if t.ByKey != nil {
		err = errors.Join(err, t.ByKey.Close())
	}
	return err
}

// listed finds the samples of rows in a table.
type listed struct {
	table Listing
	from  *plan.From
	view  view       // of the keys
	index *key.Index // rows of the table by key; nil with ranges, and beyond memory
	pool  *shardify.Pool
	// Where the table says which rows a sample has: ranges, rising.
	ranges []rowRange
	base   []int64 // rows in front of each input
}

// rowRange is the rows [lo, hi), counted over all inputs, of a sample.
type rowRange struct {
	lo, hi int64
	sample int32
}

// newListed takes over a table.
func (s *Source) newListed(t *Listing) error {
	l := &listed{table: *t, from: s.opts.From, pool: shardify.NewPool(1)}
	s.keys.listed = l
	if t.Rows >= math.MaxInt32 {
		return shardify.Unsupported("--samples-from: a table of %d rows; at most %d", t.Rows, math.MaxInt32-1)
	}
	if len(s.opts.Keys) == 0 {
		return nil // ranges are read when all rows are counted
	}
	b := &shardify.Batch{Samples: t.Rows}
	k := keys{}
	for i, c := range t.Keys {
		f := &s.in[shardify.FieldIndex(s.in, s.opts.Keys[i])]
		if key.IsText(f) != key.IsText(&c.Field) || len(t.Keys) > 1 && unsigned(f) != unsigned(&c.Field) {
			return shardify.Mismatch("--samples-from %s: %s is %s there and %s in the rows", l.from.Table, c.Name, kind(&c.Field), kind(f))
		}
		c.Name = s.opts.Keys[i]
		k.names, b.Columns = append(k.names, c.Name), append(b.Columns, c)
	}
	if t.ByKey != nil {
		return nil
	}
	if err := k.read(&l.view, b); err != nil {
		return shardify.Annotate(err, "--samples-from", l.from.Table, "")
	}
	keys := l.view.joined(l.view.cols)
	if keys.Ends == nil {
		keys.Nums = slices.Clone(keys.Nums)
	} else {
		keys.Data, keys.Ends = slices.Clone(keys.Data), slices.Clone(keys.Ends)
	}
	var err error
	if l.index, err = key.NewIndex(keys, t.Rows); err != nil {
		return shardify.Mismatch("--samples-from %s: %v", l.from.Table, err)
	}
	return nil
}

func unsigned(f *shardify.Field) bool {
	return f.DType == shardify.Bool || f.DType >= shardify.U8 && !f.DType.IsFloat()
}

// kind is what the values of a key are.
func kind(f *shardify.Field) string {
	if key.IsText(f) {
		return "text"
	}
	return f.DType.String()
}

// joined is the keys of rows as one: several are one text.
func (v *view) joined(cols []column) (k key.Column) {
	if len(cols) == 1 && cols[0].offs != nil {
		return key.Column{Data: cols[0].data, Ends: cols[0].offs}
	}
	if len(cols) == 1 {
		v.nums = v.nums[:0]
		for _, x := range cols[0].vals {
			v.nums = append(v.nums, x^cols[0].flip)
		}
		return key.Column{Nums: v.nums, Signed: cols[0].flip != 0}
	}
	v.text, v.ends = v.text[:0], append(v.ends[:0], 0)
	for i := range v.n {
		v.text = encode(v.text, cols, i)
		v.ends = append(v.ends, int64(len(v.text)))
	}
	return key.Column{Data: v.text, Ends: v.ends}
}

// byKey reports whether rows are found by their keys, not by ranges.
func (l *listed) byKey() bool { return l.index != nil || l.table.ByKey != nil }

// find makes the samples of rows their keys.
func (l *listed) find(v *view) error {
	c := &v.cols[0]
	if l.index != nil {
		v.rows = slices.Grow(v.rows[:0], v.n)[:v.n]
		keys := v.joined(v.own)
		l.index.Find(v.rows, &keys, -1)
		for i, r := range v.rows {
			c.vals[i] = uint64(r)
		}
		return nil
	}
	mem := l.pool.Overdraft()
	defer mem.Release()
	parts := make([]key.Column, len(v.own))
	for p := range v.own {
		from, to := &v.own[p], &parts[p]
		if from.offs != nil {
			to.Data, to.Ends = from.data, from.offs
			continue
		}
		to.Signed, to.Nums = from.flip != 0, shardify.View[uint64](mem.Alloc(8*v.n))
		for i, x := range from.vals[:v.n] {
			to.Nums[i] = x ^ from.flip
		}
	}
	if len(parts) > 1 {
		parts[0] = key.Join(parts, v.n, nil, nil)
	}
	var never []int32
	for i, none := range v.none {
		if none != 0 {
			never = append(never, int32(i))
		}
	}
	f, err := l.table.ByKey.Find(&parts[0], v.n, never, nil, mem)
	if err != nil {
		return err
	}
	none := f.None()
	for i, r := range f.Rows {
		if c.vals[i] = math.MaxUint64; r != none {
			c.vals[i] = uint64(f.Used[r])
		}
	}
	return nil
}

// number makes the samples of rows their keys.
func (l *listed) number(v *view, b *shardify.Batch) error {
	if len(v.cols) != 1 {
		v.cols = make([]column, 1)
	}
	c := &v.cols[0]
	c.vals = slices.Grow(c.vals[:0], v.n)[:v.n]
	if l.byKey() {
		if err := l.find(v); err != nil {
			return err
		}
	} else {
		k := 0
		for i := range c.vals {
			id := b.ID(i)
			row := l.base[id.Input] + id.Sample
			if k < len(l.ranges) && row >= l.ranges[k].hi {
				k++
			}
			if k == len(l.ranges) || row < l.ranges[k].lo || row >= l.ranges[k].hi {
				k = sort.Search(len(l.ranges), func(k int) bool { return l.ranges[k].hi > row })
			}
			c.vals[i] = math.MaxUint64
			if k < len(l.ranges) && row >= l.ranges[k].lo {
				c.vals[i] = uint64(l.ranges[k].sample)
			}
		}
	}
	for i, x := range c.vals {
		if x <= math.MaxInt32 || v.none[i] != 0 {
			continue
		}
		if !l.from.DropUnused {
			text := "the row belongs to no sample of " + l.from.Table
			if l.byKey() {
				keys := v.joined(v.own)
				text = "the key " + keys.Shown(i) + " has no row in " + l.from.Table
				if len(v.own) > 1 {
					text = "the keys have no row in " + l.from.Table
				}
			}
			return atRow(shardify.Hint(shardify.Mismatch("%s", text), "leave such rows out: --unused-rows drop"), b, i, "")
		}
		v.none[i] = 1
	}
	return nil
}

// setRanges reads which rows the samples have. rows are those of all inputs.
func (l *listed) setRanges(units []unit) error {
	var rows int64
	for k := range units {
		for sp := &units[k].span; int(sp.Input) >= len(l.base); {
			l.base = append(l.base, rows)
		}
		rows += units[k].span.Samples()
	}
	at := func(row int, format string, args ...any) error {
		err := shardify.Mismatch(format, args...)
		err.Sample = int64(row)
		return shardify.Annotate(err, "--group-index", l.from.Table, "")
	}
	nums := make([][]uint64, len(l.table.Keys))
	for i := range l.table.Keys {
		c := &l.table.Keys[i]
		if err := key.Check(&c.Field); err != nil || key.IsText(&c.Field) || slices.Contains(c.Valid, 0) {
			return shardify.Misuse("--group-index: %s of %s must be whole numbers, none missing", c.Name, l.from.Table)
		}
		nums[i] = make([]uint64, l.table.Rows)
		if _, err := key.Numbers(nums[i], c, func(row int, f float64) error {
			return at(row, "%s is %v, and no number of a row", c.Name, f)
		}); err != nil {
			return err
		}
	}
	if len(nums) == 1 { // offsets
		n := l.table.Rows
		if n > 0 && int64(nums[0][n-1]) == rows {
			l.table.Rows = n - 1 // the last one is where the last sample ends
		}
		nums = append(nums, append(slices.Clone(nums[0][min(1, n):]), uint64(rows)))
	}
	for i := range l.table.Rows {
		x := rowRange{int64(nums[0][i]), int64(nums[1][i]), int32(i)}
		switch l.from.Ends {
		case plan.EndsLast:
			x.hi++
		case plan.EndsCount:
			x.hi += x.lo
		}
		if x.lo < 0 || x.hi < x.lo || x.hi > rows {
			return at(i, "sample %d has rows [%d, %d) of %d", i, x.lo, x.hi, rows)
		}
		if x.lo < x.hi {
			l.ranges = append(l.ranges, x)
		}
	}
	slices.SortFunc(l.ranges, func(a, b rowRange) int { return int(min(max(a.lo-b.lo, -1), 1)) })
	for i := 1; i < len(l.ranges); i++ {
		if a, b := l.ranges[i-1], l.ranges[i]; b.lo < a.hi {
			return at(int(b.sample), "row %d belongs to samples %d and %d", b.lo, min(a.sample, b.sample), max(a.sample, b.sample))
		}
	}
	return nil
}

// identities reports the identities of n samples from the first on, given their fields.
func (l *listed) identities(k *keys, first int64, n int, fields *shardify.Batch, tell func(i int, id int64)) error {
	v, at := &l.view, first
	if l.table.ByKey != nil {
		own := keys{names: k.names}
		b := shardify.Batch{Samples: n}
		for i, c := range fields.Columns[:len(k.names)] {
			c.Name = k.names[i]
			b.Columns = append(b.Columns, c)
		}
		if v, at = new(view), 0; n > 0 {
			if err := own.read(v, &b); err != nil {
				return err
			}
		}
	}
	for i := range n {
		if !l.byKey() {
			tell(i, first+int64(i))
		} else {
			tell(i, k.identity(v, int(at)+i))
		}
	}
	return nil
}

// fields is the columns of samples that come from the table, of n samples from the first on.
func (l *listed) fields(first int64, n int, mem *shardify.Arena) (*shardify.Batch, error) {
	b := &shardify.Batch{Samples: l.table.Rows}
	if l.byKey() {
		b.Columns = append(b.Columns, l.table.Keys...)
	}
	b.Columns = append(b.Columns, l.table.Cols...)
	rows := shardify.View[int32](mem.Alloc(4 * n))
	for i := range rows {
		rows[i] = int32(first) + int32(i)
	}
	if l.table.ByRow == nil {
		return b.Take(rows, mem)
	}
	beside := mem.Overdraft()
	defer beside.Release()
	numbers := key.Column{Nums: shardify.View[uint64](beside.Alloc(8 * n)), Signed: true}
	for i := range numbers.Nums {
		numbers.Nums[i] = uint64(first) + uint64(i)
	}
	f, err := l.table.ByRow.Find(&numbers, n, nil, nil, beside)
	if err != nil {
		return nil, err
	}
	if f.Missing > 0 {
		return nil, fmt.Errorf("rows of %s are not in its scratch file", l.from.Table)
	}
	out, err := f.From.Take(f.Rows, mem)
	if err != nil {
		return nil, err
	}
	for i := range out.Columns {
		c := &out.Columns[i]
		if c.Field = b.Columns[i].Field; !c.Nullable {
			c.Valid = nil
		}
	}
	return out, nil
}

// spread numbers samples that have no rows with those that follow them in the table; the last
// ones with those in front.
func (s *Source) spread(all []found) error {
	next, last := int64(0), -1
	for k := range all {
		if u := &s.units[k]; u.groups > 0 {
			end := int64(decodeNumber(all[k].last)) + 1
			u.groups, next, last = end-next, end, k
		}
	}
	if last < 0 {
		return shardify.Mismatch("--samples-from %s: no row of the inputs belongs to a sample", s.opts.From.Table)
	}
	s.units[last].groups += int64(s.keys.listed.table.Rows) - next
	return nil
}
