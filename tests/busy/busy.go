// Package busy has what tests need where other programs use the same processors: time that they do
// not change, and whether this program has anything left to do.
package busy

import (
	"runtime/metrics"
	"syscall"
	"time"
)

// Processor is the processor time of this process so far. A limit of it holds on a busy machine,
// too: there the same work takes longer, and not more of a processor.
func Processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Quiet returns once this process had nothing to do for d, but for the caller: each time that it
// looked, no other goroutine ran, was ready to run, or was in a system call. On a busy machine a
// process that waits for its turn is not quiet. moved reports what else counts as doing something.
func Quiet(d time.Duration, moved func() bool) {
	const step = time.Millisecond
	counts := []metrics.Sample{
		{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/not-in-go:goroutines"},
	}
	var calls uint64 // in system calls: some stay there, such as one that waits for signals
	same := 0        // how often calls was found
	for quiet := time.Duration(0); quiet < d; quiet += step {
		time.Sleep(step)
		metrics.Read(counts)
		running, ready, in := counts[0].Value.Uint64(), counts[1].Value.Uint64(), counts[2].Value.Uint64()
		if in != calls {
			calls, same = in, 0
		}
		same++
		if moved() || running > 1 || ready > 0 || in > 0 && same < lasting {
			quiet = -step
		}
	}
}

// lasting is how often as many goroutines are found in system calls when they are taken to stay there.
const lasting = 300
