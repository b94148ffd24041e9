package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
)

// kinds lists leftovers as "kind" or "kind kept".
func kinds(w *Waste) (out []string) {
	for _, l := range w.List {
		k := l.Kind
		if l.Keep != "" {
			k += " kept"
		}
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func find(t *testing.T, dir string) *Waste {
	t.Helper()
	w, err := FindWaste(bg, dir, "", local.TempAge)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestGCLeavesWhatIsNeeded: beside an attempt at work nothing goes that could be its own,
// and never a shard, a receipt, or a fragment that the second stage needs.
func TestGCLeavesWhatIsNeeded(t *testing.T) {
	dir := t.TempDir()
	j := planned(t, dir, plan.ShuffleGlobal, nil)
	if err := j.Work(bg, j.Plan.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(dir, filepath.FromSlash(plan.ScratchDir))
	fragments, _ := filepath.Glob(filepath.Join(scratch, "*.fragment"))
	if len(fragments) == 0 {
		t.Fatal("no fragments")
	}
	b, err := os.ReadFile(fragments[0])
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, age time.Duration) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(name, time.Now().Add(-age), time.Now().Add(-age))
	}
	// A fragment that was made twice, a shard whose maker died before its receipt, a
	// temporary file of another machine, one that is a day old.
	write(filepath.Join(scratch, "portion-000000-ffffffffffffffff.fragment"), 0)
	write(filepath.Join(dir, j.Plan.Names().Shard(4)), 0)
	write(filepath.Join(dir, ".shardify/tmp/shard.0.0.elsewhere.17.00000000"), time.Hour)
	write(filepath.Join(dir, ".shardify/tmp/shard.0.0.elsewhere.17.00000001"), 25*time.Hour)
	leave(t, dir, Attempt{Command: "work", Stage: "scatter", Tasks: 1}, ended(OutcomeFailed, "x"))
	leave(t, dir, Attempt{Command: "work", Stage: "scatter", Tasks: 1}, ended(OutcomeDone, ""))
	alive := Attempt{Command: "work", Stage: "gather", Tasks: 1}
	leave(t, dir, alive, func(*Attempt) {})

	w := find(t, dir)
	want := []string{"attempt record", "fragment kept", "temporary file", "temporary file kept"}
	if got := kinds(w); !slices.Equal(got, want) || len(w.Running) != 1 {
		t.Errorf("with an attempt at work: %q, want %q", got, want)
	}
	before := hash(t, dir)
	if hash(t, dir) != before || len(w.Sum()) != 4 {
		t.Errorf("looking changed something, or %q", w.Sum())
	}
	if n, _, err := w.Remove(bg); n != 2 || err != nil {
		t.Errorf("removed %d: %v", n, err)
	}
	// The attempt ends; of two attempts at one task the older goes, however it ended.
	leave(t, dir, alive, ended(OutcomeDone, ""))
	old, _ := filepath.Glob(filepath.Join(dir, AttemptsDir, "0000/work-gather-*"))
	slices.Sort(old)
	if w = find(t, dir); len(w.Running) != 1 || !slices.Contains(kinds(w), "attempt record kept") {
		t.Errorf("an older attempt still at work: %q, running %d", kinds(w), len(w.Running))
	}
	if err := os.Remove(old[0]); err != nil {
		t.Fatal(err)
	}
	w = find(t, dir)
	if got, want := kinds(w), []string{"fragment", "temporary file kept"}; !slices.Equal(got, want) {
		t.Errorf("with no running attempt: %q, want %q", got, want)
	}
	if n, _, err := w.Remove(bg); n != 1 || err != nil {
		t.Errorf("removed %d: %v", n, err)
	}
	left, _ := filepath.Glob(filepath.Join(scratch, "*.fragment"))
	if fmt.Sprint(left) != fmt.Sprint(fragments) {
		t.Errorf("fragments %v, want %v", left, fragments)
	}
	if b2, err := os.ReadFile(filepath.Join(dir, j.Plan.Names().Shard(4))); err != nil || string(b2) != string(b) {
		t.Errorf("a shard without a receipt was touched: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, j.Plan.Names().Shard(4))); err != nil {
		t.Fatal(err)
	}
	if err := j.Gather(bg, j.Plan.Order.GatherTask(0, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Merge(bg); err != nil {
		t.Error(err)
	}
}

// TestGCBesideALiveRunHarmsNothing: removed as often as possible while a conversion runs.
func TestGCBesideALiveRunHarmsNothing(t *testing.T) {
	for _, shuffle := range []string{"", plan.ShuffleGlobal} {
		dir := t.TempDir()
		j := planned(t, dir, shuffle, nil)
		r, err := Begin(dir, Attempt{Command: "convert", Owner: func() Owner { o, _ := Self(os.Getenv); return o }()})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := j.Convert(bg)
			done <- err
		}()
		rounds := 0
		for running := true; running; rounds++ {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
				w, err := FindWaste(bg, dir, "", local.TempAge)
				if err != nil {
					if strings.Contains(err.Error(), "no such file") {
						continue // it went while it was listed
					}
					t.Fatal(err)
				}
				n, _, err := w.Remove(bg)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(dir, index.ManifestName)); n != 0 && err != nil { // with a manifest no fragment is needed
					t.Fatalf("removed %d: %+v", n, w.List)
				}
			}
		}
		r.End(Ending{Outcome: OutcomeDone})
		if s := look1(t, dir); s.State != StatusComplete || s.Samples != 100 {
			t.Errorf("%s, %d samples after %d rounds", s.State, s.Samples, rounds)
		}
	}
}
