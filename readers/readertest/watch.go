package readertest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
)

// Mutations is how many damaged inputs a test tries: quick, a million with
// SHARDIFY_LONG, or what SHARDIFY_MUTATIONS says.
func Mutations(t testing.TB, quick int) int {
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if os.Getenv("SHARDIFY_LONG") != "" {
		return 1_000_000
	}
	return quick
}

// Watch looks after a long run over damaged inputs: it ends the process when one takes
// longer than Limit, notes the largest heap, and reports panics.
type Watch struct {
	Limit   time.Duration
	Memory  int64 // the largest heap allowed, in bytes
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

// Judge is to be deferred over the reading of input i, which was made from the seed: it
// reports a panic and a heap too large, and keeps the input of a failed test under a
// name of its own.
func (w *Watch) Judge(t testing.TB, i uint64, seed string, data []byte, keep string) {
	if p := recover(); p != nil {
		t.Errorf("mutation %d of %s: panic: %v\n%s", i, seed, p, debug.Stack())
	}
	if n := w.Heap(); n > w.Memory {
		t.Errorf("mutation %d of %s: heap of %s", i, seed, shardify.FormatSize(n))
	}
	if t.Failed() {
		keep = filepath.Join(os.TempDir(), keep)
		os.WriteFile(keep, data, 0o666)
		t.Logf("kept as %s", keep)
	}
}
