package entries

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// output collects the values of one column of one span, in memory of the span's
// arena.
type output struct {
	elem int // bytes of one element, shape included
	mem  *shardify.Arena
	data []byte
	used int
	hint int // bytes of data to come, a guess
	offs [2][]int64
	n    [2]int // filled entries of offs
	// deep and lists are of columns of three levels, see Column.
	deep, lists bool
}

// start makes the output ready for samples entries of a column. lists, if not
// nil, are the offsets of the first level.
func (o *output) start(c *Column, samples int, lists []int64, mem *shardify.Arena) {
	*o = output{elem: c.elemBytes(), mem: mem, deep: c.Deep, lists: c.Lists}
	if c.Levels == 0 {
		o.data = mem.Alloc(samples * o.elem)
	}
	for l := range c.Levels {
		if l == 0 && lists != nil && !o.deep {
			o.offs[0], o.n[0] = lists, len(lists)
			continue
		}
		size := samples + 1
		if l > 0 {
			size = 4*samples + 1
			if lists != nil {
				size = int(min(lists[samples], 1<<20)) + 1
			}
		}
		o.offs[l] = mem.Int64s(size)
		o.offs[l][0] = 0
		o.n[l] = 1
	}
}

// room returns the place of the next n elements.
func (o *output) room(n int) []byte {
	need := n * o.elem
	if need > len(o.data)-o.used {
		o.grow(need)
	}
	b := o.data[o.used : o.used+need : o.used+need]
	o.used += need
	return b
}

// grow moves the data to a larger buffer. The old one stays in the arena until
// the span is released, so hints should be good.
func (o *output) grow(need int) {
	size := max(o.used+need, len(o.data)+len(o.data)/2, o.hint, 1024)
	bigger := o.mem.Alloc(size)
	copy(bigger, o.data[:o.used])
	o.data = bigger
}

// list ends a list of n items at a level.
func (o *output) list(level, n int) {
	switch {
	case o.deep && level > 0:
		if level--; level == 0 { // all lists of an entry are one
			o.offs[0][o.n[0]-1] += int64(n)
			return
		}
	case o.deep:
		n = 0
	case o.lists && level > 0:
		if level == 1 {
			binary.LittleEndian.PutUint64(o.room(1), uint64(n))
		}
		return
	}
	offs, k := o.offs[level], o.n[level]
	if k == len(offs) {
		bigger := o.mem.Int64s(k + k/2 + 16)
		copy(bigger, offs)
		offs, o.offs[level] = bigger, bigger
	}
	offs[k] = offs[k-1] + int64(n)
	o.n[level] = k + 1
}

// text appends a string as a list of the last level.
func (o *output) text(level int, b []byte) {
	copy(o.room(len(b)), b)
	o.list(level, len(b))
}

// finish hands the data over to a column of the batch, and checks that it is
// complete.
func (o *output) finish(to *shardify.Column, samples int) error {
	want := int64(samples)
	to.Offsets = to.Offsets[:0]
	for l := range to.Levels {
		if int64(o.n[l]) != want+1 {
			return shardify.Corrupt(-1, "%d lists of level %d for %d", o.n[l]-1, l, want)
		}
		offs := o.offs[l][:o.n[l]:o.n[l]]
		to.Offsets = append(to.Offsets, offs)
		want = offs[len(offs)-1]
	}
	if o.elem > 0 && want > math.MaxInt64/int64(o.elem) || int64(o.used) != want*int64(o.elem) {
		return shardify.Corrupt(-1, "%d bytes of values for %d elements of %d", o.used, want, o.elem)
	}
	to.Data = o.data[:o.used:o.used]
	return nil
}
