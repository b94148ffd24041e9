package gpuload

import (
	"fmt"
	"io"

	"github.com/shardify/shardify"
)

// Copy is a tensor of a batch and the memory of the caller that it is copied to.
type Copy struct {
	From Tensor
	To   []byte
}

// copyPiece is what one goroutine copies at a time: less is not worth the hand-over.
const copyPiece = 1 << 20

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
