package main

import (
	"runtime/debug"
	"sync"
)

// budgets are those of the conversions that run. The limit of Go's runtime, which is one for
// the library, is their sum until the last of them ends, unless it was lower before: GOMEMLIMIT
// counts. Loaders keep within theirs by themselves.
var budgets struct {
	sync.Mutex
	before  int64
	running int
	sum     int64
}

// leastBudget is what a conversion counts for at least: the runtime collects all the time
// where the limit is lower than what it must hold.
const leastBudget = 64 << 20

// limitMemory has garbage collected rather than the heap grow past a budget, until end.
func limitMemory(budget int64) (end func()) {
	budget = max(budget, leastBudget)
	changeBudgets(1, budget)
	return sync.OnceFunc(func() { changeBudgets(-1, -budget) })
}

func changeBudgets(n int, bytes int64) {
	b := &budgets
	b.Lock()
	defer b.Unlock()
	if b.running == 0 {
		b.before = debug.SetMemoryLimit(-1)
	}
	b.running, b.sum = b.running+n, b.sum+bytes
	limit := b.before
	if b.running > 0 {
		limit = min(limit, b.sum)
	}
	debug.SetMemoryLimit(limit)
}
