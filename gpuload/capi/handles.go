package main

import "sync"

// handles are the Loaders, batches and conversions that the caller knows by number. A number is
// never used twice, so a stale one finds nothing.
type handles struct {
	mu      sync.Mutex
	last    uint64
	loaders map[uint64]*loader
	batches map[uint64]*batch
	running map[uint64]*conversion
}

var known = handles{loaders: map[uint64]*loader{}, batches: map[uint64]*batch{}, running: map[uint64]*conversion{}}

func (h *handles) addLoader(l *loader) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.loaders[h.last] = l
	return h.last
}

func (h *handles) addBatch(b *batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	b.handle = h.last
	h.batches[h.last] = b
}

func (h *handles) loader(n uint64) (*loader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.loaders[n]; l != nil {
		return l, nil
	}
	return nil, errStale
}

// takeLoader forgets a Loader: who gets it closes it.
func (h *handles) takeLoader(n uint64) (*loader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.loaders[n]
	if l == nil {
		return nil, errStale
	}
	delete(h.loaders, n)
	return l, nil
}

func (h *handles) batch(n uint64) (*batch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.batches[n]; b != nil {
		return b, nil
	}
	return nil, errStale
}

// takeBatch forgets a batch: who gets it gives it back.
func (h *handles) takeBatch(n uint64) (*batch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.batches[n]
	if b == nil {
		return nil, errStale
	}
	delete(h.batches, n)
	return b, nil
}

func (h *handles) addConversion(c *conversion) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.running[h.last] = c
	return h.last
}

func (h *handles) conversion(n uint64) (*conversion, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.running[n]; c != nil {
		return c, nil
	}
	return nil, errStale
}

// forget drops a conversion that has ended.
func (h *handles) forget(n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, n)
}
