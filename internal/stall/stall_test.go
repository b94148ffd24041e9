package stall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/shardify/shardify/tests/race"
)

const after = time.Minute

// watched runs f under a watch, and gives what was found. Tests have a clock of their
// own, so that it is exact on any machine.
func watched(t *testing.T, b *Board, f func()) *Stalled {
	t.Helper()
	got := make(chan *Stalled, 1)
	stop := b.Watch(after, nil, func(s *Stalled) { got <- s })
	f()
	stop()
	select {
	case s := <-got:
		return s
	default:
		return nil
	}
}

// TestWhatDoesNotEndIsNamed: the steps that are under way, no others.
func TestWhatDoesNotEndIsNamed(t *testing.T) { synctest.Test(t, whatDoesNotEndIsNamed) }

func whatDoesNotEndIsNamed(t *testing.T) {
	var b Board
	b.Begin("copying a").End()
	b.Begin("copying b")
	s := watched(t, &b, func() { time.Sleep(after + after/10) })
	if s == nil || len(s.Waiting) != 1 || !strings.HasPrefix(s.Waiting[0], "copying b, for ") {
		t.Fatalf("%+v", s)
	}
	for i := range 2 * Most {
		b.Begin(fmt.Sprint("copying ", i))
	}
	list := b.waiting(time.Second)
	if len(list) != Most+1 || !slices.Contains(list, fmt.Sprintf("and %d more", Most+1)) {
		t.Errorf("%q", list)
	}
}

// TestStepsAndRestsAreNoStall: steps that end within the time, and waiting that is meant.
func TestStepsAndRestsAreNoStall(t *testing.T) { synctest.Test(t, stepsAndRestsAreNoStall) }

func stepsAndRestsAreNoStall(t *testing.T) {
	var b Board
	b.Begin("the whole")
	if s := watched(t, &b, func() {
		for range 20 {
			step := b.Begin("a part")
			time.Sleep(after * 4 / 5)
			step.End()
		}
	}); s != nil {
		t.Errorf("steps: %v", s.Waiting)
	}
	if s := watched(t, &b, func() {
		awake := b.Rest()
		time.Sleep(after + after/10)
		awake()
	}); s != nil {
		t.Errorf("rest: %v", s.Waiting)
	}
	if s := watched(t, &b, func() { time.Sleep(after + after/10) }); s == nil {
		t.Error("nothing was found after a rest")
	}
	n := int64(0)
	b.Also(func() int64 { n++; return n })
	if s := watched(t, &b, func() { time.Sleep(after + after/10) }); s != nil {
		t.Errorf("what moves by itself: %v", s.Waiting)
	}
}

func TestNobodyNeedWatch(t *testing.T) {
	var b *Board
	b.Rest()()
	b.Also(nil)
	b.Begin("x").End()
}
