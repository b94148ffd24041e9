package s3

import "sync"

// memory bounds the buffers of all files of a store. No file waits for it: one that gets no
// buffer is written to a file of this machine.
type memory struct {
	mu   sync.Mutex
	left int64 // below 0 after an overdraft
	free [][]byte
}

// defaultMemory is how many bytes a store keeps unless SetMemory says otherwise.
const defaultMemory = 128 << 20

func (m *memory) set(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = bytes
}

// get gives a buffer of partBytes, empty; nil if there is no room. must: there is.
func (m *memory) get(must bool) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left < partBytes && !must {
		return nil
	}
	m.left -= partBytes
	if n := len(m.free); n > 0 {
		b := m.free[n-1]
		m.free = m.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, partBytes)
}

// give takes a buffer back.
func (m *memory) give(b []byte) {
	if int64(cap(b)) < partBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left += partBytes; m.left >= partBytes {
		m.free = append(m.free, b)
	}
}
