package shardify

import (
	"errors"
	"fmt"
	"slices"
)

// Usage makes an error that wraps ErrUsage.
func Usage(format string, args ...any) error { return misused{fmt.Errorf(format, args...)} }

// hinted is an error with advice.
type hinted struct {
	error
	hints []string
}

func (e *hinted) Unwrap() error { return e.error }

// Hint adds lines to an error that say what to do next. They are not part of its text. nil
// stays nil.
func Hint(err error, lines ...string) error {
	if err == nil || len(lines) == 0 {
		return err
	}
	return &hinted{err, lines}
}

// Hints collects the lines that Hint has added, the innermost first.
func Hints(err error) []string {
	var out []string
	for err != nil {
		if h, ok := err.(*hinted); ok {
			out = append(slices.Clone(h.hints), out...)
		}
		if m, ok := err.(misused); ok {
			err = m.error
			continue
		}
		err = errors.Unwrap(err)
	}
	return out
}
