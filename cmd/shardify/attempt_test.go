package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/pipeline/cluster"
)

// TestStatusTellsHowAProcessEnded: killed, then stopped on request, in the middle of its
// work.
func TestStatusTellsHowAProcessEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	if out, code, _, _ := measured(t, "plan", "--from", "synth", "--samples", "20000000", "--schema", "x:f32[64]", "--shard-size", "4MiB", "-o", dir, "-q"); code != 0 {
		t.Fatal(out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "shardify")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	for i, end := range []struct {
		signal syscall.Signal
		state  string
		code   int
	}{{syscall.SIGKILL, cluster.StateKilled, 0}, {syscall.SIGTERM, cluster.StateStopped, 75}} {
		c := exec.Command(name, "work", dir, "--jobs", "1", "-q", "--sync", "none")
		c.Env = append(os.Environ(), "GORACE="+quickExit)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // before the folder is removed
			c.Process.Kill()
			c.Wait()
		})
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			r := report(t, dir)
			if r.State == cluster.StatusRunning && r.Stages[0].Units.Running > 0 && r.Stages[0].Units.Done > 2*i {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("not running: %+v", r)
			}
		}
		c.Process.Signal(end.signal)
		c.Wait()
		r := report(t, dir)
		if r.State != cluster.StatusPartial || len(r.Tasks) != 1 {
			t.Fatalf("after %v: %s, tasks %+v", end.signal, r.State, r.Tasks)
		}
		if x := r.Tasks[0]; x.State != end.state || x.Code != end.code || x.Attempts != i+1 || x.Peak == 0 {
			t.Errorf("after %v: %+v", end.signal, x)
		}
		if u := r.Stages[0].Units; end.state == cluster.StateKilled && u.Failed != u.Total-u.Done {
			t.Errorf("after %v: %+v", end.signal, u)
		}
	}
}

func report(t *testing.T, dir string) *cluster.Report {
	t.Helper()
	r, err := cluster.Status(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
