package host

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/shardify/shardify/tests/race"
)

// TestQueue: of more busy threads than cores some wait, and none longer than there was time.
func TestQueue(t *testing.T) {
	if _, err := os.Stat("/proc/thread-self/schedstat"); err != nil {
		t.Skip(err)
	}
	var sum, most atomic.Int64
	var wg sync.WaitGroup
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * runtime.NumCPU()))
	for range 4 * runtime.NumCPU() {
		wg.Go(func() {
			q := OpenQueue()
			defer q.Close()
			start, before := time.Now(), q.Waited()
			for time.Since(start) < 50*time.Millisecond {
			}
			waited := q.Waited() - before
			sum.Add(int64(waited))
			if waited > time.Since(start) {
				most.Store(int64(waited))
			}
		})
	}
	wg.Wait()
	if sum.Load() == 0 || most.Load() != 0 {
		t.Errorf("threads waited %v in all, one %v", time.Duration(sum.Load()), time.Duration(most.Load()))
	}
}
