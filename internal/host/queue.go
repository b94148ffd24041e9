package host

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"
)

// Queue measures how long one thread was ready to run and had no core.
type Queue struct {
	stat *os.File // nil where the kernel does not count that
	text [96]byte
}

// OpenQueue is that of the calling thread, to which the goroutine is locked until Close.
func OpenQueue() *Queue {
	runtime.LockOSThread()
	f, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		f = nil
	}
	return &Queue{stat: f}
}

// Waited is the time up to now, 0 where it is not known.
func (q *Queue) Waited() time.Duration {
	if q.stat == nil {
		return 0
	}
	n, _ := q.stat.ReadAt(q.text[:], 0)
	if f := bytes.Fields(q.text[:n]); len(f) > 1 { // time on a core, time without one, turns
		ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
		return time.Duration(max(ns, 0))
	}
	return 0
}

// Close ends it.
func (q *Queue) Close() {
	runtime.UnlockOSThread()
	if q.stat != nil {
		q.stat.Close()
	}
}
