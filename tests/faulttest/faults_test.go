//go:build linux && amd64

package faulttest

import (
	"fmt"
	"strings"
	"testing"
)

// TestFaults runs every suite. Each prints how many points it tried and what it found,
// and each has a control: something broken on purpose that it must find. The short form
// takes a sample of the points.
func TestFaults(t *testing.T) {
	for _, s := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"kill", kill}, {"power", power}, {"errno", errno}, {"space", space},
		{"limits", limits}, {"damaged", damaged}, {"writers", writers}, {"tasks", tasks}, {"parts", parts}, {"objects", objects},
	} {
		t.Run(s.name, func(t *testing.T) {
			Build(t)
			s.run(t)
		})
	}
}

// tally counts what a suite tried and found.
type tally struct {
	points, torn, lost, others int
	notes                      []string
}

// judge adds what a fault has left.
func (s *tally) judge(t *testing.T, where string, f *Found) {
	t.Helper()
	if !f.OK() {
		s.torn += min(len(f.Torn), 1)
		s.lost += min(len(f.Lost), 1)
		s.fault(t, "%s: %v", where, f)
	}
}

// fault reports what is wrong, the first of many.
func (s *tally) fault(t *testing.T, format string, args ...any) {
	t.Helper()
	if s.notes = append(s.notes, fmt.Sprintf(format, args...)); len(s.notes) <= 30 {
		t.Errorf(format, args...)
	}
}

// resume runs a command again, program first, which must end with the bytes of an unbroken run.
func (s *tally) resume(t *testing.T, where string, want Files, out string, args ...string) {
	t.Helper()
	code, text := Run(t, args...)
	if code != 0 {
		s.others++
		s.fault(t, "%s: the next run exits %d\n%s", where, code, text)
		return
	}
	if d := Differs(t, want, out); d != "" {
		s.others++
		s.fault(t, "%s: after the next run: %s", where, d)
	}
}

func (s *tally) String() string {
	return fmt.Sprintf("%d points, %d torn, %d acknowledged and lost, %d with other bytes after the next run", s.points, s.torn, s.lost, s.others)
}

// crashed finds the traces of a program that broke instead of reporting.
func crashed(code int, text string) bool {
	if code < 0 {
		return true
	}
	for _, s := range []string{"panic:", "goroutine ", "fatal error:", "SIGSEGV", "SIGBUS", "unexpected fault"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// every picks a step so that about n of total points are tried.
func every(total, n int) int { return max(total/n, 1) }
