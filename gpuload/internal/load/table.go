package load

import (
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/memory"
	"github.com/shardify/shardify/index"
)

// Memory is what tables are made of.
type Memory interface {
	// Alloc returns n zero bytes of host memory, aligned to 64, that a device may copy
	// from. Rows of row bytes are kept whole where memory is registered in pieces.
	Alloc(n, row int64) ([]byte, error)
	Free(b []byte)
	// Drop gives back what was made for a table, before its memory is freed.
	Drop(t *Table)
}

// HostMemory is memory of the host alone.
type HostMemory struct{}

func (HostMemory) Alloc(n, _ int64) ([]byte, error) { return memory.Allocate(n) }

func (HostMemory) Free(b []byte) { memory.Release(b) }

func (HostMemory) Drop(*Table) {}

// Usage is the bytes of memory in use.
type Usage struct{ Host, Device atomic.Int64 }

// Table is samples in memory, a buffer for each tensor of a layout, as in a shard:
// rows of fixed fields, offsets, values. Slots, windows and the pinned tier are
// tables.
type Table struct {
	Layout *index.Layout
	Casts  []*Caster // by tensor, of a slot; may be nil
	mem    Memory
	Used   *Usage  // counts the memory; may be nil
	Spares *Spares // where memory comes from, of a slot on the host; else nil
	// Absent: tensors without memory on the host; may be nil.
	Absent []bool
	// Mirrored: filled copies the table to the device.
	Mirrored bool
	// Device is for the device's own use.
	Device any
	Rows   int64
	// By tensor: the memory, and the first dimension in use.
	Data   [][]byte
	Counts []int64
}

// NewTable is a table without rows.
func NewTable(l *index.Layout, mem Memory, used *Usage) *Table {
	return &Table{Layout: l, mem: mem, Used: used, Data: make([][]byte, len(l.Tensors)), Counts: make([]int64, len(l.Tensors))}
}

// Reset makes the table one of this many rows. All lists are empty; the content of
// fixed fields is undefined.
func (t *Table) Reset(rows int64) error {
	t.Rows = rows
	for i := range t.Layout.Tensors {
		if !t.Layout.Known(i) {
			t.Counts[i] = 0
			continue
		}
		if err := t.setCount(i, t.Layout.Count(i, rows)); err != nil {
			return err
		}
		if t.Layout.Tensors[i].Lead == index.LeadOffsets {
			clear(t.Bytes(i))
		}
	}
	return nil
}

// setCount makes room for the first n rows of tensor i, whose content is kept only
// if it fits already.
func (t *Table) setCount(i int, n int64) error {
	end, err := t.Layout.End(i, 0, n)
	if err != nil {
		return err
	}
	t.Counts[i] = n
	if end <= int64(len(t.Data[i])) || t.Absent != nil && t.Absent[i] {
		return nil
	}
	return t.grow(i, end)
}

// grow replaces the memory of tensor i. Variable lengths leave room, so that a few
// batches suffice to find a size that lasts.
func (t *Table) grow(i int, n int64) error {
	least := n
	if !t.Layout.Known(i) && (t.Data[i] != nil || t.Spares != nil) {
		n += n / 4
	}
	var b []byte
	var err error
	if t.Spares != nil {
		b, err = t.Spares.Get(i, least, n, t.mem)
	} else {
		b, err = t.mem.Alloc(n, t.Layout.Tensors[i].Row)
	}
	if err != nil {
		return err
	}
	t.count(int64(len(b) - len(t.Data[i])))
	t.mem.Free(t.Data[i])
	t.Data[i] = b
	return nil
}

// Forget leaves tensor i without memory and rows.
func (t *Table) Forget(i int) {
	t.count(-int64(len(t.Data[i])))
	t.Data[i], t.Counts[i] = nil, 0
}

func (t *Table) count(n int64) {
	if t.Used != nil {
		t.Used.Host.Add(n)
	}
}

// Bytes is tensor i.
func (t *Table) Bytes(i int) []byte {
	return t.Data[i][:t.Counts[i]*t.Layout.Tensors[i].Row]
}

// Int64s is tensor i, which holds offsets.
func (t *Table) Int64s(i int) []int64 { return shardify.View[int64](t.Bytes(i)) }

// Part is rows [lo, hi) of tensor i.
func (t *Table) Part(i int, lo, hi int64) []byte {
	row := t.Layout.Tensors[i].Row
	return t.Data[i][lo*row : hi*row : hi*row]
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
func (t *Table) total(i int) int64 {
	o := t.Int64s(i)
	return o[len(o)-1]
}

// Size is the bytes in use.
func (t *Table) Size() (n int64) {
	for i := range t.Data {
		n += t.Counts[i] * t.Layout.Tensors[i].Row
	}
	return n
}

// Close gives the memory back.
func (t *Table) Close() {
	t.mem.Drop(t)
	for i := range t.Data {
		t.count(-int64(len(t.Data[i])))
		t.mem.Free(t.Data[i])
		t.Data[i], t.Counts[i] = nil, 0
	}
}

// Caster is what converts tensor i, or nil.
func (t *Table) Caster(i int) *Caster {
	if t.Casts == nil {
		return nil
	}
	return t.Casts[i]
}

// Span is where tensor i has the rows [lo, hi) of a table, in steps of its first dimension.
func (t *Table) Span(i int, lo, hi int64) (from, to int64) {
	c := t.Layout.ColumnOf(i)
	switch t.Layout.Tensors[i].Lead {
	case index.LeadSamples:
		return lo, hi
	case index.LeadElements:
		o := t.Int64s(c.Offsets)
		lo, hi = o[lo], o[hi]
		if c.Offsets1 >= 0 {
			o = t.Int64s(c.Offsets1)
			lo, hi = o[lo], o[hi]
		}
		return lo, hi
	}
	return 0, 0
}

// Extend makes room for the first n rows of tensor i and keeps those that are there.
func (t *Table) Extend(i int, n int64) error {
	row := t.Layout.Tensors[i].Row
	if have := t.Bytes(i); n*row > int64(len(t.Data[i])) {
		b, err := t.mem.Alloc(max(n*row, 2*int64(len(have))), row)
		if err != nil {
			return err
		}
		copy(b, have)
		t.count(int64(len(b) - len(t.Data[i])))
		t.mem.Free(t.Data[i])
		t.Data[i] = b
	}
	t.Counts[i] = n
	return nil
}
