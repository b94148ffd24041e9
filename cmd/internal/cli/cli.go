// Package cli is what the commands share: exit codes, error reports with hints,
// signals, progress, recipes, flags made from the formats' options, and the way
// from settings to a planned job. It never touches the process's own streams,
// environment or exit: package main hands them in.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/printable"
	"golang.org/x/term"
)

// IO is where a command writes.
type IO struct {
	Out, Err io.Writer
	JSON     bool // results as one object per line
	Quiet    bool // neither progress nor notes
	Terminal bool // Err is one
	// Columns of the terminals that Out and Err are; 0 for other files.
	OutColumns, ErrColumns int
	// Command is what the user has typed, as a shell would take it; Args are its words.
	Command string
	Args    []string
	Begun   atomic.Bool // the work of a plan
	// RetryFull: a full disk or quota may pass, and CodeStopped is the exit code.
	RetryFull bool
	mu        sync.Mutex
	reported  atomic.Pointer[Reported]
	pipe      *pipe
}

// Standard is the streams of this process. What is written to Out is made printable, and
// what cannot be written there makes the process fail at Report.
func Standard() *IO {
	out := &output{w: os.Stdout, pipe: newPipe()}
	out.text.W = writer(out.raw)
	o := &IO{pipe: out.pipe, Out: out, Err: os.Stderr, OutColumns: columns(os.Stdout), ErrColumns: columns(os.Stderr)}
	o.Terminal = o.ErrColumns > 0 && os.Getenv("TERM") != "dumb"
	return o
}

// columns is the width of a terminal, within readable limits; 0 for other files.
func columns(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n <= 0 {
		n = 80
	}
	return min(max(n, 80), 200)
}

// output is where results go.
type output struct {
	w    io.Writer
	text printable.Writer
	mu   sync.Mutex
	err  error // the first
	pipe *pipe
}

type writer func(b []byte) (int, error)

func (f writer) Write(b []byte) (int, error) { return f(b) }

// Write takes text for people.
func (p *output) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// machine takes text for programs.
func (p *output) machine(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.raw([]byte(s))
}

func (p *output) raw(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.pipe.saw(err)
	if p.err == nil && err != nil {
		p.err = err
	}
	return n, err
}

// outcome is err, or an error that results are lost: a reader must not take the results that
// arrived for all of them.
func (p *output) outcome(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(p.err, syscall.EPIPE) {
		if err == nil || errors.Is(err, syscall.EPIPE) {
			return errPipe
		}
		return err
	}
	if p.err != nil && (err == nil || errors.Is(err, p.err) || errors.Is(err, convert.ErrIncomplete)) {
		return fmt.Errorf("the results cannot be written to standard output: %v", p.err)
	}
	return err
}

// Reported is an error that was shown, with its hints.
type Reported struct {
	Err   error
	Hints []string
}

// Reported is what Report has shown last; nil if nothing.
func (o *IO) Reported() *Reported { return o.reported.Load() }

// Line writes a line that begins with a label, as Result does. On a terminal it is broken
// between words.
func (o *IO) Line(format string, args ...any) {
	o.Result("%s", printable.Lines(printable.Fold(printable.Sprintf(format, args...), o.OutColumns)))
}

// noteLine is Line for Note.
func (o *IO) noteLine(format string, args ...any) {
	o.Note("%s", printable.Lines(printable.Fold(printable.Sprintf(format, args...), o.ErrColumns)))
}

// Note writes a line about what happens, unless quiet.
func (o *IO) Note(format string, args ...any) {
	if !o.Quiet {
		o.write(o.Err, printable.Sprintf(format, args...)+"\n")
	}
}

// warn writes a line that every user should see, quiet or not.
func (o *IO) warn(format string, args ...any) {
	o.write(o.Err, fmt.Sprintf(format, args...)+"\n")
}

// Result writes a line of the result for people; nothing with --json.
func (o *IO) Result(format string, args ...any) {
	if !o.JSON {
		o.write(o.Out, printable.Sprintf(format, args...)+"\n")
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
	line := head + string(b[1:]) + "\n"
	if out, ok := o.Out.(*output); ok {
		out.machine(line)
		return
	}
	o.write(o.Out, line)
}

func (o *IO) write(w io.Writer, s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(w, s)
	o.pipe.saw(err)
}
