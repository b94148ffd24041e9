package main

import (
	"runtime/debug"
	"testing"
)

// TestTheMemoryLimitIsThatOfWhatRuns: conversions side by side have the sum of their budgets,
// in whatever order they end, and the limit from before returns with the last of them.
func TestTheMemoryLimitIsThatOfWhatRuns(t *testing.T) {
	const before = 8 << 30
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(before))
	is := func(want int64, when string) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("%s: the limit is %d, want %d", when, got, want)
		}
	}
	first := limitMemory(1 << 30)
	is(1<<30, "one conversion")
	second := limitMemory(1 << 20)
	is(1<<30+leastBudget, "a small one beside it")
	third := limitMemory(16 << 30)
	is(before, "more than the process may take")
	third()
	third()
	is(1<<30+leastBudget, "the largest has ended, and says so twice")
	first()
	is(leastBudget, "the first has ended before the second")
	second()
	is(before, "all have ended")
}
