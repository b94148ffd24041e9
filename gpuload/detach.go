package gpuload

import (
	"errors"
	"sync"

	"github.com/shardify/shardify"
)

// Detached is a tensor's memory that was taken out of its batch: the caller's until Free,
// also after the batch was released and the Loader closed.
type Detached struct {
	Data   []byte // the tensor
	memory []byte
	tensor int
	from   *spares
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
	if address(t.Data) != address(s.table.bytes(i)) {
		return nil, errDetached
	}
	k := &Detached{tensor: i, from: l.spares, Data: s.table.bytes(i), memory: s.table.data[i]}
	if !s.keep {
		s.table.forget(i)
		return k, nil
	}
	n := int64(len(k.Data))
	memory, err := l.spares.get(i, n, n, l.dev)
	if err != nil {
		return nil, err
	}
	copy(memory, k.Data)
	k.Data, k.memory = memory[:n], memory
	return k, nil
}

// Free gives the memory back. Freeing twice is a mistake.
func (k *Detached) Free() {
	poison(k.Data)
	k.from.put(k.tensor, k.memory)
	k.Data, k.memory = nil, nil
}

// spares is memory that came back, to be used again: fresh memory comes from the kernel
// page by page, which takes longer than to fill it.
type spares struct {
	mu     sync.Mutex
	keep   int        // of each tensor
	free   [][][]byte // by tensor, the last one used at the end
	closed bool
}

func newSpares(tensors, keep int) *spares {
	return &spares{keep: keep, free: make([][][]byte, tensors)}
}

// get is memory of at least least bytes, fresh memory has n.
func (p *spares) get(i int, least, n int64, dev device) ([]byte, error) {
	p.mu.Lock()
	f := p.free[i]
	for j := len(f) - 1; j >= 0; j-- {
		// A small tensor is not to hold a large block.
		if b := f[j]; int64(len(b)) >= least && int64(len(b)) <= 2*n {
			p.free[i] = append(f[:j], f[j+1:]...)
			p.mu.Unlock()
			return b, nil
		}
	}
	p.mu.Unlock()
	return dev.alloc(n, 1)
}

func (p *spares) put(i int, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		release(b)
		return
	case len(p.free[i]) >= p.keep:
		release(p.free[i][0])
		p.free[i] = append(p.free[i][:0], p.free[i][1:]...)
	}
	p.free[i] = append(p.free[i], b)
}

func (p *spares) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for i, f := range p.free {
		for _, b := range f {
			release(b)
		}
		p.free[i] = nil
	}
}
