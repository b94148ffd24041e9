package gpuload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// Batch is one step's samples of one rank. Its memory is a slot of the Loader and
// valid until Release. Its methods may be called concurrently; of those that look at
// the memory, none while another goroutine releases it.
type Batch struct {
	home  *slots
	slot  atomic.Pointer[slot] // nil after Release
	epoch int
	step  int64
	steps int
	from  int64
	end   int64
	rows  int
	batch int
	bytes int64
}

func newBatch(d *slots, s *slot) *Batch {
	b := &Batch{home: d, epoch: s.Epoch, step: s.Number, steps: int(s.Steps), from: s.From, end: d.Want.Steps.End(&s.Step), rows: s.Rows, batch: int(s.Table.Rows), bytes: s.Table.Size()}
	if d.Want.Steps.Last == Short {
		b.batch = b.rows
	}
	b.slot.Store(s)
	return b
}

// Tensor is an array of a batch: row-major, little-endian.
type Tensor struct {
	Device string  // "host", "cuda:0"
	Ptr    uintptr // on the device; 0 if the tensor has no bytes
	// Data is the memory if it is the host's. Offsets and what they count have it on every
	// device: texts and images are wanted on the host.
	Data  []byte
	DType shardify.DType
	Shape []int64

	index int // in the layout, or ofNumbers
}

// Epoch is the epoch that the batch belongs to.
func (b *Batch) Epoch() int { return b.epoch }

// Index is the number of the step in its epoch, the same on all ranks. A loader
// resumed inside an epoch counts from there.
func (b *Batch) Index() int64 { return b.step }

// From is the position of its epoch, over all ranks, where the step begins.
func (b *Batch) From() int64 { return b.from }

// Position is where the step ends: State.Position behind it.
func (b *Batch) Position() int64 { return b.end }

// Steps is how many steps the batch holds, one unless Config.Group is set. The rows of
// each follow those of the one before; with Short the last one of an epoch may have fewer.
func (b *Batch) Steps() int { return b.steps }

// Batch is the rows of every tensor, padding included: with Short that of Rows.
func (b *Batch) Batch() int { return b.batch }

// Rows is the samples; the rows behind them are padding.
func (b *Batch) Rows() int { return b.rows }

// IDs are the numbers of the samples in the Dataset; -1 stands for padding. nil after
// Release.
func (b *Batch) IDs() []int64 {
	s := b.slot.Load()
	if s == nil {
		return nil
	}
	return s.names(b.home.Want)[:min(s.Size, int64(b.batch))]
}

// ofNumbers is the index of Numbers.
const ofNumbers = -1

// Numbers is IDs where the batch is: I64 [Batch]. On a GPU it wants Config.Numbers.
func (b *Batch) Numbers() (Tensor, error) {
	s := b.slot.Load()
	if s == nil {
		return Tensor{}, ErrReleased
	}
	t := Tensor{Device: b.home.Dev.Dev.String(), DType: shardify.I64, Shape: []int64{int64(b.batch)}, index: ofNumbers}
	if b.home.Dev.Host {
		t.Data = shardify.Bytes(b.IDs())
		return t, nil
	}
	if !s.On.Numbers {
		return Tensor{}, shardify.Unsupported("numbers of samples on %s: they want Config.Numbers", t.Device)
	}
	t.Ptr = b.home.Dev.GPU.Numbers(&s.On)
	return t, nil
}

// Columns are the names of the fields, companions included.
func (b *Batch) Columns() []string { return slices.Clone(b.home.Want.Columns) }

// column is the tensors of a field.
func (s *slot) column(name string) (*index.ColumnTensors, error) {
	l := s.Table.Layout
	if name == index.KeyName && l.Key.Values >= 0 {
		return &l.Key, nil
	}
	if i := shardify.FieldIndex(l.Schema, name); i >= 0 {
		return &l.Columns[i], nil
	}
	return nil, fmt.Errorf("no column %q", name)
}

// Tensor is the values of a column: [Batch, ...] of a fixed field, else [elements,
// ...] of all samples one after the other.
func (b *Batch) Tensor(col string) (Tensor, error) {
	return b.tensor(col, func(c *index.ColumnTensors) int { return c.Values })
}

// Offsets is where each sample's list begins in the values of a jagged column, and
// the end: I64 [Batch+1]. Of lists in lists it counts lists.
func (b *Batch) Offsets(col string) (Tensor, error) {
	return b.tensor(col, func(c *index.ColumnTensors) int { return c.Offsets })
}

// Offsets1 is where each list begins in the values of a column of lists in lists.
func (b *Batch) Offsets1(col string) (Tensor, error) {
	return b.tensor(col, func(c *index.ColumnTensors) int { return c.Offsets1 })
}

// Valid returns for each sample whether it has a value: BOOL [Batch] of a nullable column.
func (b *Batch) Valid(col string) (Tensor, error) {
	return b.tensor(col, func(c *index.ColumnTensors) int { return c.Valid })
}

func (b *Batch) tensor(col string, which func(*index.ColumnTensors) int) (Tensor, error) {
	s := b.slot.Load()
	if s == nil {
		return Tensor{}, ErrReleased
	}
	c, err := s.column(col)
	if err != nil {
		return Tensor{}, err
	}
	i := which(c)
	if i < 0 {
		return Tensor{}, fmt.Errorf("column %s has no such tensor", col)
	}
	t := s.Table
	spec := &t.Layout.Tensors[i]
	x := Tensor{Device: b.home.Dev.Dev.String(), DType: spec.DType, Shape: []int64{b.count(t, i)}, index: i}
	for _, d := range spec.Inner {
		x.Shape = append(x.Shape, int64(d))
	}
	if b.home.Dev.Host || spec.Lead != index.LeadSamples { // a device gathers those of fixed size alone
		x.Data = b.part(t, i)
	}
	x.Ptr = b.home.Dev.Dev.Tensor(&s.On, i)
	return x, nil
}

// Host is the bytes of Tensor on the host; nil on another device, after Release, or if
// there is no such column.
func (b *Batch) Host(col string) []byte {
	s := b.slot.Load()
	if s == nil || !b.home.Dev.Host {
		return nil
	}
	c, err := s.column(col)
	if err != nil {
		return nil
	}
	return b.part(s.Table, c.Values)
}

// sizeOf is the bytes of a tensor.
func (b *Batch) sizeOf(t *load.Table, i int) int64 {
	if i == ofNumbers {
		return int64(b.batch) * 8
	}
	return b.count(t, i) * t.Layout.Tensors[i].Row
}

// count is the first dimension of tensor i: that of the slot, without what is padding.
func (b *Batch) count(t *load.Table, i int) int64 {
	switch t.Layout.Tensors[i].Lead {
	case index.LeadSamples:
		return min(t.Counts[i], int64(b.batch))
	case index.LeadOffsets:
		return min(t.Counts[i], int64(b.batch)+1)
	}
	return t.Counts[i]
}

func (b *Batch) part(t *load.Table, i int) []byte {
	return t.Bytes(i)[:b.sizeOf(t, i)]
}

// Bytes is the memory that the batch's tensors take.
func (b *Batch) Bytes() int64 { return b.bytes }

// Ready makes a stream of the device wait until the batch's data are there, and notes that
// it uses them. On the host they are there when Next returns.
func (b *Batch) Ready(s Stream) error {
	return b.tell(func(sl *slot) error { return b.home.Dev.Dev.Ready(&sl.On, s) })
}

// Wait waits on the host until the batch's data are there. It is for consumers that do not name
// their stream and read nothing after Release.
func (b *Batch) Wait(ctx context.Context) error {
	return b.tell(func(sl *slot) error {
		if g := b.home.Dev.GPU; g != nil {
			return g.Wait(ctx, &sl.On)
		}
		return nil
	})
}

// Use notes a stream that uses the batch's data and waits for them itself, for example for
// another stream that called Ready. With Unknown, Release waits for the device, unless it
// gets a stream.
func (b *Batch) Use(s Stream) error {
	return b.tell(func(sl *slot) error { return b.home.Dev.Dev.Use(&sl.On, s) })
}

// Leave notes that all work of a stream with the batch was given to it: the stream may be
// destroyed before Release.
func (b *Batch) Leave(s Stream) error {
	return b.tell(func(sl *slot) error { return b.home.Dev.Dev.Leave(&sl.On, s) })
}

func (b *Batch) tell(f func(sl *slot) error) error {
	if sl := b.slot.Load(); sl != nil {
		return f(sl)
	}
	return ErrReleased
}

// Release is ReleaseOn of the streams that Ready and Use got. An error of the device shows
// at the next batch.
func (b *Batch) Release() { _ = b.ReleaseOn() }

// ReleaseOn gives the slot back as soon as these streams of the device, and those that Ready
// and Use got, have done all work that is queued by now. The batch's memory may not be used
// afterwards. Releasing twice does nothing. After ErrCapture the batch is not released.
func (b *Batch) ReleaseOn(streams ...Stream) error {
	sl := b.slot.Swap(nil)
	if sl == nil {
		return nil
	}
	err := b.home.release(sl, streams)
	if errors.Is(err, ErrCapture) {
		b.slot.Store(sl)
	}
	return err
}

// Documents finds those of a batch whose sequences have length tokens; lens is the column of their
// lengths, of type i32. The result does not keep the batch's memory.
func (b *Batch) Documents(lens string, length int) (Documents, error) {
	v, err := b.Tensor(lens)
	if err != nil {
		return Documents{}, err
	}
	o, err := b.Offsets(lens)
	if err != nil {
		return Documents{}, err
	}
	if v.DType != shardify.I32 {
		return Documents{}, shardify.Mismatch("column %s is %s, want lengths of type i32", lens, v.DType)
	}
	return FindDocuments(nil, shardify.View[int32](v.Data), shardify.View[int64](o.Data), length, length)
}
