package gpuload

import (
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
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
	g, ok := b.loader.dev.(device.GPU)
	if !ok {
		return shardify.Unsupported("copy to a GPU of a batch on %s", b.loader.dev)
	}
	outs := make([]device.Out, len(list))
	for k, c := range list {
		if want := b.sizeOf(s.table, c.From.index); c.Bytes != want {
			return fmt.Errorf("copy of %d bytes to %d: %w", want, c.Bytes, io.ErrShortBuffer)
		}
		outs[k] = device.Out{Tensor: c.From.index, To: c.To, Bytes: c.Bytes}
	}
	return g.CopyOut(&s.on, stream, outs)
}

// Place checks that an address is in the memory of the device that batches are delivered on.
func (l *Loader) Place(at uintptr) error {
	if g, ok := l.dev.(device.GPU); ok {
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
	return b.loader.crew.Each(len(pieces), func(i int) error {
		copy(pieces[i].to, pieces[i].from)
		return nil
	})
}
