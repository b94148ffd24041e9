package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

// Exit codes. Batch scripts depend on them.
const (
	codeDone        = 0
	codeFailed      = 1
	codeUsage       = 2
	codeIncomplete  = 3  // finished, but input was skipped, or shards are missing or damaged
	CodeStopped     = 75 // stopped on request: run the same command again to go on
	codeInterrupted = 130
)

// exitCodes is what every command's help says about them.
const exitCodes = "0 done, 1 failed, 2 wrong usage, 3 finished but incomplete (skipped input, missing or damaged shard), 75 stopped on request (run the same command again), 130 interrupted"

// errInterrupted is the cause of a context that Ctrl-C cancelled.
var errInterrupted = errors.New("interrupted")

// codeOf is the exit code that err deserves.
func codeOf(err error) int {
	switch {
	case err == nil:
		return codeDone
	case errors.Is(err, errInterrupted):
		return codeInterrupted
	case errors.Is(err, convert.ErrStopped), stalled(err):
		return CodeStopped
	case errors.Is(err, convert.ErrIncomplete):
		return codeIncomplete
	case errors.Is(err, shardify.ErrUsage):
		return codeUsage
	}
	return codeFailed
}

func stalled(err error) bool {
	var s *convert.Stalled
	return errors.As(err, &s)
}

// Report writes err with its hints and returns the exit code. An error that
// follows from a request to stop is reported as that request. That results could not be
// written is an error, too.
func (o *IO) Report(ctx context.Context, program string, err error) int {
	if out, ok := o.Out.(*output); ok {
		err = out.outcome(err)
	}
	if err == nil {
		return codeDone
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		err = cause
	}
	if errors.Is(err, errPipe) { // the reader is gone
		return codePipe
	}
	if stalled(err) {
		err = shardify.Hint(err, "the storage does not answer; --stall TIME waits longer, --stall 0 without end", pipeline.GoesOn)
	} else if errors.Is(err, errInterrupted) {
		err = shardify.Hint(err, pipeline.GoesOn)
	}
	hints := slices.Concat(pipeline.Advice(err, o.Command), o.missing(err), o.choices(err), o.splits(err))
	code := codeOf(err)
	if o.RetryFull && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		code = CodeStopped
	}
	o.reported.Store(&Reported{err, hints})
	var b strings.Builder
	// Further lines of an error are indented, so that none looks like a hint, or like output of
	// another program.
	fmt.Fprintf(&b, "%s: %s\n", program, strings.ReplaceAll(printable.Text(shardify.Plain(err)), "\n", "\n  "))
	var d interface{ Details() []string }
	if errors.As(err, &d) {
		for _, line := range d.Details() {
			fmt.Fprintf(&b, "  %s\n", printable.Name(line))
		}
	}
	for _, h := range hints {
		fmt.Fprintf(&b, "hint: %s\n", printable.Name(h))
	}
	o.write(o.Err, b.String())
	o.Object("error", struct {
		Message string   `json:"message"`
		Hints   []string `json:"hints,omitempty"`
		Code    int      `json:"code"`
	}{shardify.Plain(err), hints, code})
	return code
}
