package memory

import "sync"

// Again is plain memory of similar sizes that is used again, as of shards that are fetched one
// after the other. The zero value has none.
type Again struct {
	mu     sync.Mutex
	free   [][]byte // the last one used at the end
	kept   int64    // bytes of free, and the bytes that are in use
	used   int64
	closed bool
}

// Get returns n bytes of any content. What is kept gives way to fresh memory beyond limit.
func (a *Again) Get(n, limit int64) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.free) - 1; i >= 0; i-- {
		if b := a.free[i]; int64(cap(b)) >= n && int64(cap(b)) <= n+n/4 {
			a.take(i)
			a.used += int64(cap(b))
			return b[:n], nil
		}
	}
	for len(a.free) > 0 && a.used+a.kept+n > limit {
		Release(a.take(0))
	}
	b, err := Plain(n + n/16) // what is not written to takes no memory
	if err != nil {
		return nil, err
	}
	a.used += int64(cap(b))
	return b[:n], nil
}

// Put takes memory of Get back. No one may use it any more. No more is kept than is in use, or one piece.
func (a *Again) Put(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= int64(cap(b))
	if a.closed {
		Release(b)
		return
	}
	a.free = append(a.free, b)
	for a.kept += int64(cap(b)); len(a.free) > 1 && a.kept > a.used; {
		Release(a.take(0))
	}
}

// Close frees what is kept, and what comes back later.
func (a *Again) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.closed = true; len(a.free) > 0; {
		Release(a.take(0))
	}
}

func (a *Again) take(i int) []byte {
	b := a.free[i]
	a.free = append(a.free[:i], a.free[i+1:]...)
	a.kept -= int64(cap(b))
	return b
}
