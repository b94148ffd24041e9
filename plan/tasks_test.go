package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTasksAreHandedOutByTheRule: largest unit first, to the task that has least to do,
// the first of several; and Task and TasksOf agree.
func TestTasksAreHandedOutByTheRule(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 50} {
		p := &Plan{}
		for u := range 1 + r.IntN(40) {
			p.Pack.shardBytes = append(p.Pack.shardBytes, int64(r.IntN(5)))
			p.Pack.Shards = append(p.Pack.Shards, Shard{Lo: u, Hi: u + 1, Samples: 1})
			p.Pack.Units = append(p.Pack.Units, Unit{u, u + 1})
		}
		order := p.Pack.Task(0, 1)
		slices.SortStableFunc(order, func(a, b int) int { return int(p.Pack.UnitBytes(b) - p.Pack.UnitBytes(a)) })
		load := make([]int64, n)
		want := make([][]int, n)
		for _, u := range order {
			least := slices.Index(load, slices.Min(load))
			load[least] += p.Pack.UnitBytes(u) + 1
			want[least] = append(want[least], u)
		}
		of := p.Pack.TasksOf(n)
		for i := range n {
			got := p.Pack.Task(i, n)
			if n > 1 && !slices.Equal(got, want[i]) {
				t.Errorf("task %d of %d is %v, want %v", i, n, got, want[i])
			}
			for _, u := range got {
				if int(of[u]) != i {
					t.Errorf("unit %d is of task %d, not %d", u, of[u], i)
				}
			}
		}
	}
}
