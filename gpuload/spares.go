package gpuload

import "sync"

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
func (p *spares) get(i int, least, n int64, mem memory) ([]byte, error) {
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
	return mem.alloc(n, 1)
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
