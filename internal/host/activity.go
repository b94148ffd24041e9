package host

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Activity reports whether this process does anything, from the counters of the kernel: a read of a
// gigabyte, or the decoding of one, is a single step for the program.
type Activity struct {
	bytes int64
	cpu   time.Duration
	asked time.Time
}

// A process that only waits still moves the progress bar and writes records of itself,
// and its runtime cleans up.
const (
	restBytes  = 4 << 10
	restRate   = 2 << 10 // bytes a second
	restShares = 10      // of one core's time, one part
)

// Moved reports whether the process has read, written or computed since the last call of Moved.
func (a *Activity) Moved() bool {
	return a.moved(ioBytes(), cpuTime(), time.Now())
}

func (a *Activity) moved(bytes int64, cpu time.Duration, now time.Time) bool {
	took := now.Sub(a.asked)
	moved := bytes-a.bytes > restBytes+int64(took.Seconds()*restRate) || cpu-a.cpu > took/restShares
	a.bytes, a.cpu, a.asked = bytes, cpu, now
	return moved
}

// ioBytes is all that was read and written: by calls, and from disk for mapped files.
func ioBytes() (sum int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		switch key, n, _ := strings.Cut(line, ":"); key {
		case "rchar", "wchar", "read_bytes":
			sum += positive(n)
		}
	}
	return sum
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
