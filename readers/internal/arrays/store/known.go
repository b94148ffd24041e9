package store

import (
	"strings"
	"sync"
)

// Known has the nodes that were parsed, by their metadata: those of a store that is looked at again are
// not parsed again unless they have changed. Its zero value is ready; nil knows none.
type Known struct {
	mu    sync.Mutex
	nodes map[string]Array
	bytes int
	count int // nodes that were parsed
}

// mostKnown bounds the bytes of metadata; with more, all are forgotten.
const mostKnown = 16 << 20

// parse is parse of nodes that are not known.
func (k *Known) parse(m *meta) (Array, error) {
	if k == nil {
		return parse(m)
	}
	key := string(m.v3)
	if m.v3 == nil {
		var b strings.Builder
		for _, part := range [][]byte{m.array, m.group, m.attrs} { // JSON has no zeros
			b.Write(part)
			b.WriteByte(0)
		}
		key = b.String()
	}
	k.mu.Lock()
	a, ok := k.nodes[key]
	k.mu.Unlock()
	if ok {
		return a, nil
	}
	a, err := parse(m)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count++; err != nil {
		return a, err
	}
	if k.bytes += len(key); k.nodes == nil || k.bytes > mostKnown {
		k.nodes, k.bytes = map[string]Array{}, len(key)
	}
	k.nodes[key] = a
	return a, nil
}
