// Package trace writes what a Loader does when, for viewers of Chrome trace events.
package trace

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"time"
)

var start = time.Now()

// Nanos is a monotonic clock.
func Nanos() int64 { return int64(time.Since(start)) }

// Trace writes Chrome trace events, one a line, as chrome://tracing, Perfetto and
// DFTracer's tools read them. nil writes nothing.
type Trace struct {
	mu   sync.Mutex
	w    *bufio.Writer
	some bool
	rank int
	err  error
}

// New writes the events of a rank; nil without w.
func New(w io.Writer, rank int) *Trace {
	if w == nil {
		return nil
	}
	return &Trace{w: bufio.NewWriterSize(w, 64<<10), rank: rank}
}

// lanes are the rows of the picture.
var lanes = map[string]int{"read": 1, "gather": 2, "copy": 3, "wait": 4, "step": 5}

// Event notes what began at start (nanos) and ends now.
func (t *Trace) Event(name, lane string, start, step, bytes int64) {
	if t != nil {
		t.Span(name, lane, start, Nanos(), step, bytes)
	}
}

// Span notes what lasted from start to end.
func (t *Trace) Span(name, lane string, start, end, step, bytes int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sep := ",\n"
	if !t.some {
		sep, t.some = "[\n", true
	}
	_, err := fmt.Fprintf(t.w, `%s{"name":%q,"cat":%q,"ph":"X","ts":%.3f,"dur":%.3f,"pid":%d,"tid":%d,"args":{"step":%d,"bytes":%d}}`,
		sep, name, lane, float64(start)/1e3, float64(end-start)/1e3, t.rank, lanes[lane], step, bytes)
	if t.err == nil {
		t.err = err
	}
}

// Close ends the list.
func (t *Trace) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	end := "\n]\n"
	if !t.some {
		end = "[]\n"
	}
	t.w.WriteString(end)
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}
