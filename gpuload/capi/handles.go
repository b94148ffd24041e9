package main

import "sync"

// handles are the Loaders and batches that the caller knows by number. A number is
// never used twice, so a stale one finds nothing.
type handles struct {
	mu      sync.Mutex
	last    uint64
	loaders map[uint64]*loader
	batches map[uint64]*batch
}

var known = handles{loaders: map[uint64]*loader{}, batches: map[uint64]*batch{}}

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
