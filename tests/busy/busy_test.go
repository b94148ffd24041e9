package busy

import (
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/shardify/shardify/tests/race"
)

// TestQuietWaitsForWhatRuns, and for what is ready to run; and for what the caller says.
func TestQuietWaitsForWhatRuns(t *testing.T) {
	var done atomic.Int64
	for range 3 {
		go func() {
			for end := Processor() + 50*time.Millisecond; Processor() < end; {
			}
			done.Add(1)
		}()
	}
	Quiet(5*time.Millisecond, func() bool { return false })
	if n := done.Load(); n != 3 {
		t.Errorf("quiet while %d of 3 are at work", 3-n)
	}
	asked := 0
	Quiet(5*time.Millisecond, func() bool { asked++; return asked == 4 })
	if asked < 4+5 {
		t.Errorf("asked %d times: moving is not being quiet", asked)
	}
}
