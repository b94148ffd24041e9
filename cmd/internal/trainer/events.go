package trainer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Event is a stretch of work or of waiting, in seconds since the first batch came.
type Event struct {
	Name, Lane  string // Lane is "read", "gather", "copy", "wait" or "step"
	Begin, End  float64
	Step, Bytes int64
}

// lanes are the kinds of work whose time is summed, in this order.
var lanes = []string{"read", "gather", "copy"}

// traceFile joins the events of several loaders into one list that Perfetto shows.
type traceFile struct {
	mu   sync.Mutex
	w    *bufio.Writer
	some bool
	err  error
}

func newTraceFile(w io.Writer) *traceFile {
	if w == nil {
		return nil
	}
	return &traceFile{w: bufio.NewWriterSize(w, 64<<10)}
}

func (f *traceFile) line(format string, args ...any) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	sep := ",\n"
	if !f.some {
		sep, f.some = "[\n", true
	}
	f.w.WriteString(sep)
	if _, err := fmt.Fprintf(f.w, format, args...); f.err == nil {
		f.err = err
	}
}

func (f *traceFile) close() error {
	if f == nil {
		return nil
	}
	if !f.some {
		f.w.WriteString("[")
	}
	f.w.WriteString("\n]\n")
	if err := f.w.Flush(); f.err == nil {
		f.err = err
	}
	return f.err
}

// laneNumber orders the rows of a rank. Work of one lane that overlaps, since
// several goroutines do it, gets rows of its own: viewers drop events of one row that
// cross.
var laneNumber = map[string]int{"read": 1, "gather": 2, "copy": 3, "wait": 4, "step": 5}

const rowsPerLane = 100

// recorder receives what one loader traces: it passes it on to the file and keeps
// the stretches that a page shows. The loader writes from one goroutine at a time.
type recorder struct {
	rank   int
	file   *traceFile
	detail bool
	rest   []byte // of a line
	rows   map[string][]float64

	held    Event // a step, until the wait after it comes
	holding bool
	waited  float64 // the end of the last wait

	begun bool
	begin float64 // the first batch, on the loader's clock
	busy  *series
	head  []Event
	ring  []Event // the last ones, the oldest at next
	next  int

	worst  float64
	around []Event // the worst wait and what came before and after
	after  int
}

const (
	headEvents  = 400
	ringEvents  = 400
	afterEvents = 80
)

func newRecorder(rank int, file *traceFile, detail bool) *recorder {
	return &recorder{rank: rank, file: file, detail: detail, rows: map[string][]float64{}, busy: newSeries(len(lanes))}
}

// Write takes the text that gpuload writes: one event a line.
func (r *recorder) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			r.rest = append(r.rest, b...)
			return n, nil
		}
		if len(r.rest) > 0 {
			r.rest = append(r.rest, line...)
			r.text(r.rest)
			r.rest = r.rest[:0]
		} else {
			r.text(line)
		}
		b = rest
	}
}

func (r *recorder) text(line []byte) {
	e, ok := parseEvent(line)
	if !ok {
		return
	}
	// A step begins where the wait before it ends, and ends where the next one begins.
	switch e.Lane {
	case "step":
		r.flush()
		e.Begin = min(max(e.Begin, r.waited), e.End)
		r.held, r.holding = e, true
		return
	case "wait":
		if r.holding {
			r.held.End = max(min(r.held.End, e.Begin), r.held.Begin)
		}
		r.waited = e.End
		r.flush()
	}
	r.add(e)
}

func (r *recorder) flush() {
	if r.holding {
		r.holding = false
		r.add(r.held)
	}
}

func (r *recorder) add(e Event) {
	r.pass(&e)
	if r.detail {
		r.keep(e)
	}
}

// parseEvent reads a line; times are in seconds on the loader's clock. An
// encoding/json of every event would take as long as the work that is measured.
func parseEvent(line []byte) (e Event, ok bool) {
	text := func(key string) string {
		_, v, _ := bytes.Cut(line, []byte(`"`+key+`":"`))
		v, _, _ = bytes.Cut(v, []byte(`"`))
		return string(v)
	}
	number := func(key string) float64 {
		_, v, _ := bytes.Cut(line, []byte(`"`+key+`":`))
		if i := bytes.IndexAny(v, ",}"); i >= 0 {
			v = v[:i]
		}
		x, err := strconv.ParseFloat(string(v), 64)
		ok = ok && err == nil
		return x
	}
	if len(line) == 0 || line[0] != '{' {
		return e, false
	}
	ok = true
	e = Event{Name: text("name"), Lane: text("cat"), Step: int64(number("step")), Bytes: int64(number("bytes"))}
	e.Begin = number("ts") * 1e-6
	e.End = e.Begin + number("dur")*1e-6
	return e, ok && laneNumber[e.Lane] > 0
}

// pass writes an event to the file.
func (r *recorder) pass(e *Event) {
	if r.file == nil {
		return
	}
	rows := r.rows[e.Lane]
	row := 0
	begin := e.Begin
	const slack = 20e-6 // the time that noting an event takes
	for row < len(rows) && rows[row] > begin+slack {
		row++
	}
	if row < len(rows) {
		begin = max(begin, min(rows[row], e.End))
	}
	tid := laneNumber[e.Lane]*rowsPerLane + min(row, rowsPerLane-1)
	if row == len(rows) {
		if row == 0 && len(r.rows) == 0 {
			r.file.line(`{"name":"process_name","ph":"M","pid":%d,"args":{"name":"rank %d"}}`, r.rank, r.rank)
		}
		rows = append(rows, 0)
		r.file.line(`{"name":"thread_name","ph":"M","pid":%d,"tid":%d,"args":{"name":%q}}`, r.rank, tid, e.Lane)
		r.file.line(`{"name":"thread_sort_index","ph":"M","pid":%d,"tid":%d,"args":{"sort_index":%d}}`, r.rank, tid, tid)
	}
	rows[row] = e.End
	r.rows[e.Lane] = rows
	r.file.line(`{"name":%q,"cat":%q,"ph":"X","ts":%.3f,"dur":%.3f,"pid":%d,"tid":%d,"args":{"step":%d,"bytes":%d}}`,
		e.Name, e.Lane, begin*1e6, (e.End-begin)*1e6, r.rank, tid, e.Step, e.Bytes)
}

// keep notes what the page shows.
func (r *recorder) keep(e Event) {
	first := e.Lane == "wait" && !r.begun
	if first {
		r.begun, r.begin = true, e.End
		for i := range r.ring {
			r.sum(&r.ring[i])
		}
	}
	if len(r.head) < headEvents {
		r.head = append(r.head, e)
	}
	if len(r.ring) < ringEvents {
		r.ring = append(r.ring, e)
	} else {
		r.ring[r.next] = e
		r.next = (r.next + 1) % ringEvents
	}
	if r.begun {
		r.sum(&e)
	}
	switch wait := e.End - e.Begin; {
	case e.Lane == "wait" && !first && wait > r.worst:
		r.worst, r.after = wait, afterEvents
		r.around = append(append(r.around[:0], r.ring[r.next:]...), r.ring[:r.next]...)
	case r.after > 0:
		r.after--
		r.around = append(r.around, e)
	}
}

// sum adds an event to the time that its lane was busy.
func (r *recorder) sum(e *Event) {
	var amounts [3]float64
	for i, l := range lanes {
		if l == e.Lane {
			amounts[i] = e.End - e.Begin
			r.busy.add(int64((e.Begin-r.begin)*1e9), int64((e.End-r.begin)*1e9), amounts[:]...)
		}
	}
}

// moved is events on the clock that begins with the first batch.
func (r *recorder) moved(list []Event) []Event {
	out := make([]Event, len(list))
	for i, e := range list {
		e.Begin, e.End = e.Begin-r.begin, e.End-r.begin
		out[i] = e
	}
	return out
}
