package load

import (
	"sync"

	"github.com/shardify/shardify/gpuload/internal/memory"
)

// Spares is memory that came back, to be used again: fresh memory comes from the kernel
// page by page, which takes longer than to fill it.
type Spares struct {
	mu     sync.Mutex
	keep   int        // of each tensor
	free   [][][]byte // by tensor, the last one used at the end
	closed bool
}

// NewSpares keeps at most so many pieces of memory for each tensor.
func NewSpares(tensors, keep int) *Spares {
	return &Spares{keep: keep, free: make([][][]byte, tensors)}
}

// Get is memory of at least least bytes, fresh memory has n.
func (p *Spares) Get(i int, least, n int64, mem Memory) ([]byte, error) {
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
	return mem.Alloc(n, 1)
}

// Put takes memory of tensor i back.
func (p *Spares) Put(i int, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		memory.Release(b)
		return
	case len(p.free[i]) >= p.keep:
		memory.Release(p.free[i][0])
		p.free[i] = append(p.free[i][:0], p.free[i][1:]...)
	}
	p.free[i] = append(p.free[i], b)
}

// Close frees what is kept, and what comes back later.
func (p *Spares) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for i, f := range p.free {
		for _, b := range f {
			memory.Release(b)
		}
		p.free[i] = nil
	}
}
