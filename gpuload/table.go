package gpuload

import (
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// memory is what tables are made of.
type memory interface {
	// alloc returns n zero bytes of host memory, aligned to 64, that a device may copy
	// from. Rows of row bytes are kept whole where memory is registered in pieces.
	alloc(n, row int64) ([]byte, error)
	free(b []byte)
	// drop gives back what was made for a table, before its memory is freed.
	drop(t *table)
}

// hostMemory is memory of the host alone.
type hostMemory struct{}

func (hostMemory) alloc(n, _ int64) ([]byte, error) { return allocate(n) }

func (hostMemory) free(b []byte) { release(b) }

func (hostMemory) drop(*table) {}

// usage is the bytes of memory in use.
type usage struct{ host, device atomic.Int64 }

// table is samples in memory, a buffer for each tensor of a layout, as in a shard:
// rows of fixed fields, offsets, values. Slots, windows and the pinned tier are
// tables.
type table struct {
	layout *index.Layout
	casts  []*caster // by tensor, of a slot; nil if there are none
	mem    memory
	used   *usage  // counts the memory; may be nil
	spares *spares // where memory comes from, of a slot on the host; else nil
	// absent: tensors without memory on the host; nil if there are none.
	absent []bool
	// mirrored: filled copies the table to the device.
	//lint:ignore U1000 used in builds with the tag cuda
	mirrored bool
	// device is for the device's own use.
	//lint:ignore U1000 used in builds with the tag cuda
	device any
	rows   int64
	// By tensor: the memory, and the first dimension in use.
	data   [][]byte
	counts []int64
}

func newTable(l *index.Layout, mem memory, used *usage) *table {
	return &table{layout: l, mem: mem, used: used, data: make([][]byte, len(l.Tensors)), counts: make([]int64, len(l.Tensors))}
}

// reset makes the table one of this many rows. All lists are empty; the content of
// fixed fields is undefined.
func (t *table) reset(rows int64) error {
	t.rows = rows
	for i := range t.layout.Tensors {
		if !t.layout.Known(i) {
			t.counts[i] = 0
			continue
		}
		if err := t.setCount(i, t.layout.Count(i, rows)); err != nil {
			return err
		}
		if t.layout.Tensors[i].Lead == index.LeadOffsets {
			clear(t.bytes(i))
		}
	}
	return nil
}

// setCount makes room for the first n rows of tensor i, whose content is kept only
// if it fits already.
func (t *table) setCount(i int, n int64) error {
	end, err := t.layout.End(i, 0, n)
	if err != nil {
		return err
	}
	t.counts[i] = n
	if end <= int64(len(t.data[i])) || t.absent != nil && t.absent[i] {
		return nil
	}
	return t.grow(i, end)
}

// grow replaces the memory of tensor i. Variable lengths leave room, so that a few
// batches suffice to find a size that lasts.
func (t *table) grow(i int, n int64) error {
	least := n
	if !t.layout.Known(i) && (t.data[i] != nil || t.spares != nil) {
		n += n / 4
	}
	var b []byte
	var err error
	if t.spares != nil {
		b, err = t.spares.get(i, least, n, t.mem)
	} else {
		b, err = t.mem.alloc(n, t.layout.Tensors[i].Row)
	}
	if err != nil {
		return err
	}
	t.count(int64(len(b) - len(t.data[i])))
	t.mem.free(t.data[i])
	t.data[i] = b
	return nil
}

// forget leaves tensor i without memory and rows.
func (t *table) forget(i int) {
	t.count(-int64(len(t.data[i])))
	t.data[i], t.counts[i] = nil, 0
}

func (t *table) count(n int64) {
	if t.used != nil {
		t.used.host.Add(n)
	}
}

// bytes is tensor i.
func (t *table) bytes(i int) []byte {
	return t.data[i][:t.counts[i]*t.layout.Tensors[i].Row]
}

// int64s is tensor i, which holds offsets.
func (t *table) int64s(i int) []int64 { return shardify.View[int64](t.bytes(i)) }

// part is rows [lo, hi) of tensor i.
func (t *table) part(i int, lo, hi int64) []byte {
	row := t.layout.Tensors[i].Row
	return t.data[i][lo*row : hi*row : hi*row]
}

// sum turns the lengths in an offsets tensor into offsets.
func sum(offsets []int64) int64 {
	at := int64(0)
	for i, n := range offsets {
		at += n
		offsets[i] = at
	}
	return at
}

// lastOffsets is the offsets tensor that counts the elements of a column.
func lastOffsets(c *index.ColumnTensors) int {
	if c.Offsets1 >= 0 {
		return c.Offsets1
	}
	return c.Offsets
}

// total is the last of the offsets in tensor i.
func (t *table) total(i int) int64 {
	o := t.int64s(i)
	return o[len(o)-1]
}

// size is the bytes in use.
func (t *table) size() (n int64) {
	for i := range t.data {
		n += t.counts[i] * t.layout.Tensors[i].Row
	}
	return n
}

// close gives the memory back.
func (t *table) close() {
	t.mem.drop(t)
	for i := range t.data {
		t.count(-int64(len(t.data[i])))
		t.mem.free(t.data[i])
		t.data[i], t.counts[i] = nil, 0
	}
}

// caster is what converts tensor i, or nil.
func (t *table) caster(i int) *caster {
	if t.casts == nil {
		return nil
	}
	return t.casts[i]
}

// span is where the rows [lo, hi) of a table stand in tensor i, in steps of its first
// dimension.
func (t *table) span(i int, lo, hi int64) (from, to int64) {
	c := t.layout.ColumnOf(i)
	switch t.layout.Tensors[i].Lead {
	case index.LeadSamples:
		return lo, hi
	case index.LeadElements:
		o := t.int64s(c.Offsets)
		lo, hi = o[lo], o[hi]
		if c.Offsets1 >= 0 {
			o = t.int64s(c.Offsets1)
			lo, hi = o[lo], o[hi]
		}
		return lo, hi
	}
	return 0, 0
}

// extend makes room for the first n rows of tensor i and keeps those that are there.
func (t *table) extend(i int, n int64) error {
	row := t.layout.Tensors[i].Row
	if have := t.bytes(i); n*row > int64(len(t.data[i])) {
		b, err := t.mem.alloc(max(n*row, 2*int64(len(have))), row)
		if err != nil {
			return err
		}
		copy(b, have)
		t.count(int64(len(b) - len(t.data[i])))
		t.mem.free(t.data[i])
		t.data[i] = b
	}
	t.counts[i] = n
	return nil
}
