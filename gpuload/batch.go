package gpuload

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Batch is one step's samples of one rank. Its memory is a slot of the Loader and
// valid until Release.
type Batch struct {
	loader *Loader
	slot   *slot
}

// Tensor is an array of a batch: row-major, little-endian.
type Tensor struct {
	Device string  // "host", "cuda:0"
	Ptr    uintptr // on the device; 0 if the tensor has no bytes
	// Data is the memory if it is the host's. Offsets have it on every device.
	Data  []byte
	DType shardify.DType
	Shape []int64
}

func (b *Batch) use() *slot {
	if b.slot == nil {
		panic("gpuload: use of a batch after its Release")
	}
	return b.slot
}

// Epoch is the epoch that the batch belongs to.
func (b *Batch) Epoch() int { return b.use().epoch }

// Index is the number of the step in its epoch, the same on all ranks. A loader
// resumed inside an epoch counts from there.
func (b *Batch) Index() int64 { return b.use().step }

// Batch is the rows of every tensor, padding included.
func (b *Batch) Batch() int { return int(b.use().table.rows) }

// Rows is the samples; the rows behind them are padding.
func (b *Batch) Rows() int { return b.use().rows }

// IDs are the numbers of the samples in the Dataset; -1 stands for padding.
func (b *Batch) IDs() []int64 {
	s := b.use()
	if !s.known {
		s.number(b.loader.order)
	}
	return s.ids
}

// Columns are the names of the fields, companions included.
func (b *Batch) Columns() []string { return b.loader.Columns() }

// column is the tensors of a field.
func (b *Batch) column(name string) (*index.ColumnTensors, error) {
	l := b.use().table.layout
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

// Valid tells for each sample whether it has a value: BOOL [Batch] of a nullable
// column.
func (b *Batch) Valid(col string) (Tensor, error) {
	return b.tensor(col, func(c *index.ColumnTensors) int { return c.Valid })
}

func (b *Batch) tensor(col string, which func(*index.ColumnTensors) int) (Tensor, error) {
	c, err := b.column(col)
	if err != nil {
		return Tensor{}, err
	}
	i := which(c)
	if i < 0 {
		return Tensor{}, fmt.Errorf("column %s has no such tensor", col)
	}
	t := b.slot.table
	spec := &t.layout.Tensors[i]
	x := Tensor{Device: b.loader.dev.String(), DType: spec.DType, Shape: []int64{t.counts[i]}}
	for _, d := range spec.Inner {
		x.Shape = append(x.Shape, int64(d))
	}
	if b.loader.onHost || spec.Lead == index.LeadOffsets || spec.Lead == index.LeadLists {
		x.Data = t.bytes(i)
	}
	x.Ptr = b.loader.dev.tensor(b.slot, i)
	return x, nil
}

// Host is the bytes of Tensor on the host; nil on another device, or if there is no
// such column.
func (b *Batch) Host(col string) []byte {
	c, err := b.column(col)
	if err != nil || !b.loader.onHost {
		return nil
	}
	return b.slot.table.bytes(c.Values)
}

// Bytes is the memory that the batch's tensors take.
func (b *Batch) Bytes() int64 { return b.use().table.size() }

// Ready makes a stream of the device wait until the batch's data are there. On the
// host they are when Next returns.
func (b *Batch) Ready(s Stream) error { return b.loader.dev.ready(b.use(), s) }

// Release gives the slot back. Nothing of the batch may be used afterwards.
// Releasing twice does nothing.
func (b *Batch) Release() { _ = b.ReleaseOn(0) }

// ReleaseOn gives the slot back as soon as a stream of the device reaches this
// point.
func (b *Batch) ReleaseOn(s Stream) error {
	sl := b.slot
	if sl == nil {
		return nil
	}
	b.slot = nil
	return b.loader.giveBack(sl, s)
}
