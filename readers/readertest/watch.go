package readertest

import (
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Watch looks after a long run over damaged inputs: it ends the process when one takes
// longer than Limit, and notes the largest heap.
type Watch struct {
	Limit   time.Duration
	current atomic.Int64
	since   atomic.Int64 // when current began
	heap    atomic.Int64
}

// Start begins to watch, until stop is called.
func (w *Watch) Start() (stop func()) {
	done := make(chan struct{})
	w.Begin(0)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			metrics.Read(sample)
			if n := int64(sample[0].Value.Uint64()); n > w.heap.Load() {
				w.heap.Store(n)
			}
			if time.Since(time.Unix(0, w.since.Load())) > w.Limit {
				panic(fmt.Sprintf("mutation %d hangs", w.current.Load()))
			}
		}
	}()
	return func() { close(done) }
}

// Begin says that input i is next.
func (w *Watch) Begin(i uint64) {
	w.current.Store(int64(i))
	w.since.Store(time.Now().UnixNano())
}

// Heap is the largest heap seen, in bytes.
func (w *Watch) Heap() int64 { return w.heap.Load() }
