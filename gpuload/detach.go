package gpuload

import (
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/internal/poison"
)

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
	if !b.loader.onHost {
		return nil, shardify.Unsupported("detach of a tensor in the memory of %s", t.Device)
	}
	l, i := b.loader, t.index
	if load.Address(t.Data) != load.Address(s.table.Bytes(i)) {
		return nil, errDetached
	}
	k := &Detached{tensor: i, from: l.spares, Data: s.table.Bytes(i), memory: s.table.Data[i]}
	if !s.keep {
		s.table.Forget(i)
		return k, nil
	}
	n := int64(len(k.Data))
	memory, err := l.spares.Get(i, n, n, l.dev)
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
