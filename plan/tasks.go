package plan

import (
	"slices"
	"sort"
)

// loads is tasks as a heap: the one that has least to do first.
type loads struct {
	bytes []int64 // by task
	order []int32
}

func newLoads(tasks int) *loads {
	l := &loads{bytes: make([]int64, tasks), order: make([]int32, tasks)}
	for t := range l.order {
		l.order[t] = int32(t)
	}
	return l
}

func (l *loads) less(a, b int32) bool {
	if l.bytes[a] != l.bytes[b] {
		return l.bytes[a] < l.bytes[b]
	}
	return a < b
}

// give adds to the task that has least to do, and returns its number.
func (l *loads) give(bytes int64) int32 {
	t := l.order[0]
	l.bytes[t] += bytes
	at := 0
	for {
		k := 2*at + 1
		if k+1 < len(l.order) && l.less(l.order[k+1], l.order[k]) {
			k++
		}
		if k >= len(l.order) || !l.less(l.order[k], t) {
			break
		}
		l.order[at], at = l.order[k], k
	}
	l.order[at] = t
	return t
}

// bySize is the units, the largest first.
func (p *Packing) bySize() (order []int, cost []int64) {
	order, cost = make([]int, len(p.Units)), make([]int64, len(p.Units))
	for u := range p.Units {
		order[u], cost[u] = u, p.UnitBytes(u)
	}
	sort.SliceStable(order, func(a, b int) bool { return cost[order[a]] > cost[order[b]] })
	return order, cost
}

// TasksOf returns, for each unit, which of n tasks does it: the one that has least to do
// when the units are given out, the largest first.
func (p *Packing) TasksOf(n int) []int32 {
	of := make([]int32, len(p.Units))
	if n <= 1 {
		return of
	}
	if p.InParts() {
		return p.tasksInOrder(n)
	}
	order, cost := p.bySize()
	l := newLoads(n)
	for _, u := range order {
		of[u] = l.give(cost[u] + 1)
	}
	return of
}

// tasksInOrder gives each of n tasks consecutive units of a like size: it needs few
// blocks then.
func (p *Packing) tasksInOrder(n int) []int32 {
	of := make([]int32, len(p.Units))
	var total, at int64
	for u := range p.Units {
		total += p.UnitBytes(u) + 1
	}
	for u := range p.Units {
		size := p.UnitBytes(u) + 1
		middle := float64(at) + float64(float64(size)/2)
		of[u] = int32(min(int(middle/float64(total)*float64(n)), n-1))
		at += size
	}
	return of
}

// Covers reports whether portions are all of the given units.
func (p *Packing) Covers(units, portions []int) bool {
	mine := map[int]bool{}
	for _, u := range units {
		for i := p.Units[u].Lo; i < p.Units[u].Hi; i++ {
			mine[i] = true
		}
	}
	return !slices.ContainsFunc(portions, func(i int) bool { return !mine[i] })
}

// Task returns the units of task i of n: a view on the plan, balanced by decoded bytes, the
// same in every process. The largest units come first.
func (p *Packing) Task(i, n int) []int {
	if n <= 1 {
		order := make([]int, len(p.Units))
		for u := range order {
			order[u] = u
		}
		return order
	}
	of := p.TasksOf(n)
	order, _ := p.bySize()
	var mine []int
	for _, u := range order {
		if int(of[u]) == i {
			mine = append(mine, u)
		}
	}
	return mine
}

// UnitBytes is the decoded size of unit u.
func (p *Packing) UnitBytes(u int) (n int64) {
	x := p.Units[u]
	for _, b := range p.shardBytes[x.Lo:x.Hi] {
		n += b
	}
	return n
}

// ShardBytes is the decoded size of planned shard i.
func (p *Packing) ShardBytes(i int) int64 { return p.shardBytes[i] }

// UnitsDone returns which units have nothing left to do, by shards or portions.
func (p *Packing) UnitsDone(shards []bool) []bool {
	done := make([]bool, len(p.Units))
	for u, x := range p.Units {
		done[u] = !slices.Contains(shards[x.Lo:x.Hi], false)
	}
	return done
}
