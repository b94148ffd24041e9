package gpuload

import (
	"errors"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/internal/poison"
)

// Copy is a tensor of a batch and the memory of the caller that it is copied to.
type Copy struct {
	From Tensor
	To   []byte
}

// copyPiece is what one goroutine copies at a time: less is not worth the hand-over.
const copyPiece = 1 << 20

// DeviceCopy is a tensor of a batch and memory of the caller on the same GPU.
type DeviceCopy struct {
	From  Tensor
	To    uintptr
	Bytes int64 // of the tensor
}

// CopyOn copies tensors of the batch to memory of the caller on the GPU, in order of a stream.
// The addresses may be the same for every batch, as a CUDA graph wants them; the copy itself
// is not to be part of one.
func (b *Batch) CopyOn(stream Stream, list ...DeviceCopy) error {
	s := b.slot.Load()
	if s == nil {
		return ErrReleased
	}
	g := b.home.Dev.GPU
	if g == nil {
		return shardify.Unsupported("copy to a GPU of a batch on %s", b.home.Dev.Dev)
	}
	outs := make([]device.Out, len(list))
	for k, c := range list {
		if want := b.sizeOf(s.Table, c.From.index); c.Bytes != want {
			return fmt.Errorf("copy of %d bytes to %d: %w", want, c.Bytes, io.ErrShortBuffer)
		}
		outs[k] = device.Out{Tensor: c.From.index, To: c.To, Bytes: c.Bytes}
	}
	return g.CopyOut(&s.On, stream, outs)
}

// Place checks that an address is in the memory of the device that batches are delivered on.
func (l *Loader) Place(at uintptr) error {
	if g := l.dev.GPU; g != nil {
		return g.Place(at)
	}
	return nil
}

// CopyTo copies tensors of the batch from host memory to the caller's, on the
// Loader's workers as far as they are idle. Every To is as long as its tensor's Data.
func (b *Batch) CopyTo(list ...Copy) error {
	if b.slot.Load() == nil {
		return ErrReleased
	}
	type piece struct{ to, from []byte }
	var pieces []piece
	for _, c := range list {
		if c.From.Data == nil && c.From.Ptr != 0 {
			return shardify.Unsupported("copy of a tensor in the memory of %s", c.From.Device)
		}
		if len(c.To) != len(c.From.Data) {
			return fmt.Errorf("copy of %d bytes to %d: %w", len(c.From.Data), len(c.To), io.ErrShortBuffer)
		}
		for at := 0; at < len(c.To); at += copyPiece {
			end := min(at+copyPiece, len(c.To))
			pieces = append(pieces, piece{c.To[at:end], c.From.Data[at:end]})
		}
	}
	return b.home.From.Crew.Each(len(pieces), func(i int) error {
		copy(pieces[i].to, pieces[i].from)
		return nil
	})
}

// Detached is a tensor's memory that was taken out of its batch: the caller's until Free,
// also after the batch was released and the Loader closed.
type Detached struct {
	Data   []byte // the tensor
	memory []byte
	tensor int
	from   *load.Spares
}

var errDetached = errors.New("detach of a tensor that the batch does not have")

// Detach takes a tensor's memory out of the batch, which has that tensor no more. So a
// batch that outlives its slot needs no copy. t is a tensor of this batch in host memory.
func (b *Batch) Detach(t Tensor) (*Detached, error) {
	s := b.slot.Load()
	if s == nil {
		return nil, ErrReleased
	}
	if !b.home.Dev.Host {
		return nil, shardify.Unsupported("detach of a tensor in the memory of %s", t.Device)
	}
	d, i := b.home, t.index
	if load.Address(t.Data) != load.Address(s.Table.Bytes(i)) {
		return nil, errDetached
	}
	k := &Detached{tensor: i, from: d.Spares, Data: s.Table.Bytes(i), memory: s.Table.Data[i]}
	if !s.Keep {
		s.Table.Forget(i)
		return k, nil
	}
	n := int64(len(k.Data))
	memory, err := d.Spares.Get(i, n, n, d.Dev.Dev)
	if err != nil {
		return nil, err
	}
	copy(memory, k.Data)
	k.Data, k.memory = memory[:n], memory
	return k, nil
}

// Free gives the memory back. Freeing twice is a mistake.
func (k *Detached) Free() {
	poison.Fill(k.Data)
	k.from.Put(k.tensor, k.memory)
	k.Data, k.memory = nil, nil
}
