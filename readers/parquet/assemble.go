package parquet

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// assembler makes one column of a batch of the segments that a cursor gives.
//
// An entry has a definition level d and a repetition level r. r is how many of the
// lists that the entry before was in go on: 0 begins a sample, 1 an item of the
// outermost list, and so on. An item of list k is there if d >= lists[k].def; one less
// is an empty list, fewer still are missing ones.
type assembler struct {
	col   *column
	mem   *shardify.Arena
	fill  bool // missing items become NaN, 0 or empty
	rows  int
	first int64 // row of the file that sample 0 is

	samples int // started
	valid   []byte
	offsets [][]int64 // of each list: where its items begin, for each item around it
	items   []int64   // of each list, so far
	slots   int64     // values so far, missing items included

	data grower
	ends offsets64 // of values of any length
}

// begin prepares for rows samples.
func (a *assembler) begin(col *column, rows int, first int64, mem *shardify.Arena, fill bool) {
	lists := len(col.lists)
	*a = assembler{col: col, mem: mem, fill: fill, rows: rows, first: first, offsets: a.offsets[:0], items: a.items[:0]}
	for k := range lists {
		a.items = append(a.items, 0)
		a.offsets = append(a.offsets, nil)
		if k == 0 {
			a.offsets[0] = mem.Int64s(rows + 1)[:0]
		}
	}
	a.data = grower{mem: mem}
	if n := int64(rows) * int64(col.page.Form.Width); lists == 0 && n <= maxColumn { // what the span was granted
		a.data.b = mem.Alloc(int(n))[:0]
	}
	a.ends = offsets64{mem: mem}
}

// add takes over a segment.
func (a *assembler) add(s *segment) error {
	from := a.slots
	var err error
	switch {
	case len(a.col.lists) == 0:
		err = a.flat(s)
	case len(a.col.lists) == 1:
		err = a.list(s)
	default:
		err = a.lists(s)
	}
	if err != nil {
		return err
	}
	if a.col.page.Form.Width == 0 {
		return a.bytes(s, a.slots-from)
	}
	return a.fixed(s, a.slots-from)
}

// missing marks sample i as one without a value.
func (a *assembler) missing(i int) error {
	if a.valid == nil {
		if !a.col.field.Nullable {
			e := shardify.Corrupt(-1, "a missing value in a column that has none, as its statistics say")
			e.Sample = a.first + int64(i)
			return e
		}
		a.valid = a.mem.Alloc(a.rows)
		for k := range a.valid {
			a.valid[k] = 1
		}
	}
	a.valid[i] = 0
	return nil
}

// flat is an entry for each sample.
func (a *assembler) flat(s *segment) error {
	n := s.to - s.from
	if def := s.page.Def; def != nil {
		whole := uint8(a.col.page.MaxDef)
		for i, d := range def[s.from:s.to] {
			if d == whole {
				continue
			}
			if err := a.missing(a.samples + i); err != nil {
				return err
			}
		}
	}
	a.samples += n
	a.slots += int64(n)
	return nil
}

// list is one list for each sample.
func (a *assembler) list(s *segment) error {
	rep, item := s.page.Rep[s.from:s.to], uint8(a.col.lists[0].def)
	offsets, items := a.offsets[0], a.items[0]
	def := s.page.Def
	if def == nil {
		for i, r := range rep {
			if r == 0 {
				offsets = append(offsets, items+int64(i))
			}
		}
		items += int64(len(rep))
	} else {
		for i, d := range def[s.from:s.to] {
			if rep[i] == 0 {
				offsets = append(offsets, items)
			}
			if d >= item {
				items++
			} else if d < item-1 {
				if err := a.missing(len(offsets) - 1); err != nil {
					return err
				}
			}
		}
	}
	a.slots += items - a.items[0]
	a.offsets[0], a.items[0] = offsets, items
	a.samples = len(offsets)
	return nil
}

// lists is lists in lists.
func (a *assembler) lists(s *segment) error {
	lists := a.col.lists
	last := len(lists) - 1
	whole := a.col.page.MaxDef
	for e := s.from; e < s.to; e++ {
		r, d := int(s.page.Rep[e]), whole
		if s.page.Def != nil {
			d = int(s.page.Def[e])
		}
		if r == 0 {
			a.offsets[0] = append(a.offsets[0], a.items[0])
			if d < lists[0].def-1 {
				if err := a.missing(a.samples); err != nil {
					return err
				}
			}
			a.samples++
		} else if r > len(lists) || a.items[r-1] == 0 || d < lists[r-1].def {
			return shardify.Corrupt(-1, "levels %d and %d follow no list", r, d)
		}
		for k := max(r, 1) - 1; k <= last && d >= lists[k].def; k++ {
			a.items[k]++
			if k == last {
				a.slots++
				break
			}
			if a.offsets[k+1] == nil {
				a.offsets[k+1] = a.mem.Int64s(a.rows + 64)[:0]
			}
			a.offsets[k+1] = push(a.mem, a.offsets[k+1], a.items[k+1])
			if d < lists[k+1].def-1 {
				if err := a.hole(a.samples - 1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hole is a missing item.
func (a *assembler) hole(sample int) error {
	if a.fill {
		return nil
	}
	e := format.MissingItem("an item of a list")
	e.Sample = a.first + int64(sample)
	return e
}

// push appends to a slice in the arena.
func push(mem *shardify.Arena, s []int64, x int64) []int64 {
	if len(s) == cap(s) {
		g := mem.Int64s(2 * cap(s))
		copy(g, s)
		s = g[:len(s)]
	}
	return append(s, x)
}

// finish gives the column what was gathered.
func (a *assembler) finish(c *shardify.Column) error {
	if a.samples != a.rows {
		return shardify.Corrupt(-1, "%d rows where %d are expected", a.samples, a.rows)
	}
	c.Valid = a.valid
	for k := range a.offsets {
		if a.offsets[k] == nil { // no item in any list around it
			a.offsets[k] = a.mem.Int64s(1)[:0]
		}
		a.offsets[k] = push(a.mem, a.offsets[k], a.items[k])
	}
	if err := a.squeeze(); err != nil {
		return err
	}
	c.Offsets = make([][]int64, 0, 2)
	c.Offsets = append(c.Offsets, a.offsets[:a.col.variable()]...)
	c.Data = a.data.b
	if a.col.page.Form.Width == 0 {
		c.Offsets = append(c.Offsets, a.ends.finish())
	}
	return nil
}

// squeeze checks that lists of a fixed size have it, and makes missing ones whole.
func (a *assembler) squeeze() error {
	for k := len(a.col.lists) - 1; k >= a.col.variable(); k-- {
		size, o := int64(a.col.lists[k].size), a.offsets[k]
		holes := false
		for i := 1; i < len(o); i++ {
			switch n := o[i] - o[i-1]; {
			case n == size:
			case n == 0 && (k > 0 && a.fill || k == 0 && a.valid != nil && a.valid[i-1] == 0):
				holes = true
			default:
				return shardify.Corrupt(-1, "a list of %d items where each has %d", n, size)
			}
		}
		if holes {
			if err := a.widen(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// widen gives lists k without items those that the others have.
func (a *assembler) widen(k int) error {
	o := a.offsets[k]
	w := int64(a.col.page.Form.Width)
	for j := k + 1; j < len(a.col.lists); j++ {
		w *= int64(a.col.lists[j].size)
	}
	size := int64(a.col.lists[k].size)
	old := a.data.b
	a.data = grower{mem: a.mem}
	if _, err := a.data.more(int64(len(o)-1) * size * w); err != nil {
		return err
	}
	dst := a.data.b
	for i := 1; i < len(o); i++ {
		if n := copy(dst[:size*w], old[o[i-1]*w:o[i]*w]); int64(n) < size*w {
			clear(dst[:size*w])
			if k > 0 {
				putNaNs(dst[:size*w], a.col.field.DType)
			}
		}
		dst = dst[size*w:]
	}
	return nil
}
