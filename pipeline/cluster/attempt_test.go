package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify/storage/local"
)

// TestRecordsFitWhateverTheyHold: one block, so that the end of an attempt can be written
// where its start was, on a full disk too.
func TestRecordsFitWhateverTheyHold(t *testing.T) {
	odd := strings.Repeat("\xff<\"\x00é", 3000)
	now := time.Now().UTC().Round(0)
	a := Attempt{
		Version: attemptVersion, Command: "work", Task: 3, Tasks: 7, Args: []string{odd, odd}, Dir: odd,
		Start: now, Updated: now, End: &now, Ending: Ending{Outcome: OutcomeFailed, Code: 1, Error: odd, Hints: []string{odd, odd, odd}},
	}
	a.Host = "node1"
	for range 2 {
		b := a.encode()
		if len(b) != AttemptBytes || b[AttemptBytes-1] != '\n' {
			t.Fatalf("a record of %d bytes", len(b))
		}
		got, err := DecodeAttempt(b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Task != 3 || got.Host != "node1" || got.Code != 1 || got.Error == "" || !got.End.Equal(now) {
			t.Errorf("%+v", got)
		}
		a.Job, a.Program, a.Stage = odd[:1000], odd[:1000], ""
	}
	// What fits stays as it is.
	a = Attempt{Version: 1, Command: "merge", Tasks: 1, Args: []string{"shardify", "merge", "x y"}, Start: now, Updated: now, Work: Work{Samples: 5}, Peak: 7}
	got, err := DecodeAttempt(a.encode())
	if err != nil || !reflect.DeepEqual(got, &a) {
		t.Errorf("%+v, want %+v: %v", got, &a, err)
	}
}

// TestAttemptsThatCannotBeRecordedHarmNobody: a folder that refuses is an error of Begin,
// and the rest does nothing.
func TestAttemptsThatCannotBeRecordedHarmNobody(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".shardify"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Begin(dir, Attempt{Command: "work"})
	if err == nil {
		t.Error("no error")
	}
	r.Follow(func() Work { return Work{} })
	r.End(Ending{Outcome: OutcomeDone})
	r.End(Ending{Outcome: OutcomeDone})
}

// TestARecordIsReadableAtAnyTime while it is being rewritten, and ends with the outcome that was
// set.
func TestARecordIsReadableAtAnyTime(t *testing.T) {
	dir := t.TempDir()
	r, err := Begin(dir, Attempt{Command: "work", Task: 1, Tasks: 2, Memory: 5})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	r.Follow(func() Work { n++; return Work{Samples: n, Bytes: n * 10} })
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				r.beat()
			}
		}
	})
	for range 300 {
		list, err := Attempts(bg, local.NewDir(dir, local.SyncNone))
		if err != nil || len(list) != 1 || list[0].Latest.Unreadable != "" || list[0].Latest.Memory != 5 {
			t.Fatalf("%+v, %v", list, err)
		}
	}
	close(stop)
	wg.Wait()
	r.End(Ending{Outcome: OutcomeFailed, Code: 1, Error: "why", Hints: []string{"do"}})
	list, err := Attempts(bg, local.NewDir(dir, local.SyncNone))
	if err != nil {
		t.Fatal(err)
	}
	a := list[0].Latest
	if a.State(time.Now()) != StateFailed || a.Error != "why" || a.Hints[0] != "do" || a.Work.Samples != n || a.Rate <= 0 {
		t.Errorf("%+v, n %d", a, n)
	}
}

// TestTheLatestAttemptOfEachTaskIsFound among many, in the order of their starts.
func TestTheLatestAttemptOfEachTaskIsFound(t *testing.T) {
	dir := t.TempDir()
	for try := range 3 {
		for task := range 4 {
			leave(t, dir, Attempt{Command: "work", Task: task * perFolder, Tasks: 4 * perFolder, Jobs: 10*task + try}, func(*Attempt) {})
		}
	}
	leave(t, dir, Attempt{Command: "work", Task: 0, Tasks: 4 * perFolder, Stride: 2}, func(*Attempt) {})
	list, err := Attempts(bg, local.NewDir(dir, local.SyncNone))
	if err != nil || len(list) != 5 {
		t.Fatalf("%d groups: %v", len(list), err)
	}
	for i, g := range list[:4] {
		if g.Latest.Jobs != 10*i+2 || len(g.Names) != 3 {
			t.Errorf("group %d: the attempt %d of %v", i, g.Latest.Jobs, g.Names)
		}
	}
	folders, _ := filepath.Glob(filepath.Join(dir, AttemptsDir, "*"))
	if len(folders) != 4 {
		t.Errorf("folders %v", folders)
	}
}

// TestAStrideCoversItsTasks and no others.
func TestAStrideCoversItsTasks(t *testing.T) {
	for _, c := range []struct {
		a    Attempt
		want string
	}{
		{Attempt{Task: 2, Tasks: 8}, "2"},
		{Attempt{Task: 1, Tasks: 8, Stride: 3}, "1 4 7"},
		{Attempt{Task: 5, Tasks: 8, Stride: 8}, "5"},
	} {
		var got []string
		for task := range 8 {
			if c.a.Covers(task, 8) {
				got = append(got, fmt.Sprint(task))
			}
		}
		if s := strings.Join(got, " "); s != c.want || c.a.Covers(2, 9) {
			t.Errorf("%+v covers %s, want %s", c.a, s, c.want)
		}
	}
}

// TestKilledSaysWhy by the figures of the last sign of life.
func TestKilledSaysWhy(t *testing.T) {
	now := time.Now()
	soon, late := now.Add(20*time.Second), now.Add(time.Hour)
	for _, c := range []struct {
		name string
		a    Attempt
		want string
		cure string
	}{
		{"at the limit of the group", Attempt{Peak: 95, MemoryLimit: 100, LimitFrom: "cgroup memory.max"}, "probably out of memory: it had 95 B of 100 B (cgroup memory.max)", "--jobs"},
		{"in Slurm", Attempt{Peak: 95, MemoryLimit: 100, Owner: Owner{Engine: "slurm"}}, "probably out of memory", "--mem for the job"},
		{"above its budget", Attempt{Peak: 95, MemoryLimit: 1000, Memory: 90}, "perhaps out of memory", "--jobs"},
		{"time limit", Attempt{Peak: 95, MemoryLimit: 100, Deadline: &soon}, "time limit", "--time"},
		{"far from any limit", Attempt{Peak: 9, MemoryLimit: 100, Memory: 50, Deadline: &late}, "killed, or its machine went down", "start it again"},
		{"nothing known", Attempt{}, "killed, or its machine went down", "start it again"},
	} {
		c.a.Updated = now
		why, cure := c.a.cure(StateKilled)
		if !strings.Contains(why, c.want) || !strings.Contains(cure, c.cure) {
			t.Errorf("%s: %q -> %q", c.name, why, cure)
		}
	}
}

func FuzzDecodeAttempt(f *testing.F) {
	a := Attempt{Version: 1, Command: "work", Task: 1, Tasks: 3, Stride: 2}
	f.Add(a.encode())
	f.Add([]byte(`{"attempt":1,"tasks":2,"stride":-1}`))
	f.Add([]byte(`{"attempt":1,"tasks":9223372036854775807,"task":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeAttempt(b)
		if err != nil {
			return
		}
		if a.Task < 0 || a.Task >= a.Tasks || a.Stride < 0 {
			t.Errorf("%+v", a)
		}
		a.State(time.Now())
		for _, s := range []string{StateKilled, StateFailed} {
			a.cure(s)
		}
		again, err := DecodeAttempt(a.encode())
		if err != nil {
			t.Fatal(err)
		}
		if x, _ := json.Marshal(again); len(x) > AttemptBytes {
			t.Errorf("%d bytes", len(x))
		}
	})
}
