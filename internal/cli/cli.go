// Package cli is what the commands share: exit codes, error reports with hints,
// signals, progress, recipes, flags made from the formats' options, and the way
// from settings to a planned job. It never touches the process's own streams,
// environment or exit: package main hands them in.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// IO is where a command writes.
type IO struct {
	Out, Err io.Writer
	JSON     bool // results as one object per line
	Quiet    bool // neither progress nor notes
	Terminal bool // Err is one
	// Command is what the user has typed, as a shell would take it.
	Command string
	// RetryFull: a full disk or quota is no failure for good, CodeStopped is the code.
	RetryFull bool
	mu        sync.Mutex
	reported  atomic.Pointer[Reported]
}

// Reported is an error that was shown, with its hints.
type Reported struct {
	Err   error
	Hints []string
}

// Reported is what Report has shown last; nil if nothing.
func (o *IO) Reported() *Reported { return o.reported.Load() }

// Note writes a line about what happens, unless quiet.
func (o *IO) Note(format string, args ...any) {
	if !o.Quiet {
		o.write(o.Err, fmt.Sprintf(format, args...)+"\n")
	}
}

// Result writes a line of the result for people; nothing with --json.
func (o *IO) Result(format string, args ...any) {
	if !o.JSON {
		o.write(o.Out, fmt.Sprintf(format, args...)+"\n")
	}
}

// Object writes one line of --json: the fields of v after the type. Without
// --json it writes nothing.
func (o *IO) Object(kind string, v any) {
	if !o.JSON {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("cli: " + err.Error()) // our own types
	}
	head := fmt.Sprintf("{\"type\":%q", kind)
	if len(b) > 2 {
		head += ","
	}
	o.write(o.Out, head+string(b[1:])+"\n")
}

func (o *IO) write(w io.Writer, s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	io.WriteString(w, s)
}
