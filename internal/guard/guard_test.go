package guard_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/guard"
)

func TestAPanicIsCorruptData(t *testing.T) {
	var none []int
	for name, f := range map[string]func() error{
		"value":   func() error { panic("bad window") },
		"error":   func() error { panic(io.ErrUnexpectedEOF) },
		"runtime": func() error { return errors.New(string(rune(none[len(none)]))) },
		"nil":     func() error { panic(nil) },
	} {
		err := guard.Do(f)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "the decoder stopped") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsPassUnchanged(t *testing.T) {
	if err := guard.Do(func() error { return io.EOF }); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
	if err := guard.Do(func() error { return nil }); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	damage := shardify.Corrupt(7, "length 9 of 4")
	if err := guard.Do(func() error { panic(damage) }); err != damage {
		t.Errorf("got %v, want the error panicked with", err)
	}
}

func TestGuardDoesNotAllocate(t *testing.T) {
	n := 0
	if a := testing.AllocsPerRun(100, func() { guard.Do(func() error { n++; return nil }) }); a != 0 {
		t.Errorf("%v allocations a call", a)
	}
}
