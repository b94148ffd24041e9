package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/tests/servertest"
	"golang.org/x/sync/errgroup"
)

// measured runs the program and returns its output, exit code, time and most memory.
func measured(t *testing.T, args ...string) (out string, code int, took time.Duration, peak int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "shardify") // by its name the program knows what it is
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "GORACE="+quickExit)
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	start := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Wait()
	}()
	for running := true; running; {
		peak = max(peak, highest(c.Process.Pid))
		select {
		case <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	took = time.Since(start)
	// A process also counts what the one had that started it.
	if own := highest(os.Getpid()); peak == 0 || c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10 > own {
		peak = c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	return b.String(), c.ProcessState.ExitCode(), took, peak
}

// highest is the most memory that a running process has had; 0 where that is not known.
func highest(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib << 10
}

// pretend publishes receipts for all shards of a plan, and files of their sizes with
// nothing in them, of gib GiB and a few bytes.
func pretend(t *testing.T, dir string, gib int) *plan.Plan {
	t.Helper()
	p, err := plan.Load(local.NewDir(dir, local.SyncNone))
	if err != nil {
		t.Fatal(err)
	}
	digest := index.DigestOf(nil)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range p.Outputs() {
		name := p.Names().Shard(i)
		stem := strings.TrimSuffix(name, p.Out.Ext)
		receipt := filepath.Join(dir, ".shardify/receipts", stem+".json")
		if i%4000 == 0 {
			for _, f := range []string{filepath.Join(dir, name), receipt} {
				if err := os.MkdirAll(filepath.Dir(f), 0o777); err != nil {
					t.Fatal(err)
				}
			}
		}
		g.Go(func() error {
			bytes := int64(gib<<30 + i%1000)
			r := plan.Receipt{Plan: p.Digest(), Index: i, Read: p.Pack.Shards[i].Samples, Shard: shardify.Shard{
				Name: name, Samples: p.Pack.Shards[i].Samples, Bytes: bytes, Digest: digest,
				Files: []shardify.File{{Name: stem + ".idx", Bytes: 8, Digest: digest}},
			}}
			b, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := os.WriteFile(receipt, b, 0o666); err != nil {
				return err
			}
			if err := sparse(filepath.Join(dir, name), bytes); err != nil {
				return err
			}
			return sparse(filepath.Join(dir, stem+".idx"), 8)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return p
}

func sparse(name string, bytes int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := f.Truncate(bytes); err != nil {
		return err
	}
	return f.Close()
}

// TestMergeAndStatusOfVeryManyShards: merge keeps to its time and memory, and status is a
// matter of seconds, however many receipts there are.
func TestMergeAndStatusOfVeryManyShards(t *testing.T) {
	const mib = 1 << 20
	shards, seconds, memory := 500, 60.0, int64(4096*mib) // with the race detector
	if os.Getenv("SHARDIFY_LONG") != "" {
		shards, seconds, memory = 280_000, 120, 300*mib
	}
	dir := filepath.Join(t.TempDir(), "set")
	if out, code, _, _ := measured(t, "plan", "--from", "synth", "--samples", fmt.Sprint(shards), "--schema", "x:f32", "--shard-samples", "1", "--format", "wds", "-o", dir, "-q"); code != 0 {
		t.Fatal(out)
	}
	start := time.Now()
	p := pretend(t, dir, 1)
	t.Logf("%d receipts made in %.1f s", shards, time.Since(start).Seconds())
	receipt := filepath.Join(dir, ".shardify/receipts", strings.TrimSuffix(p.Names().Shard(17), p.Out.Ext)+".json")
	if err := os.Rename(receipt, receipt+".away"); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want int, in string, limit float64, args ...string) {
		t.Helper()
		out, code, took, peak := measured(t, args...)
		t.Logf("%s: %d shards, %.1f s, %s", what, shards, took.Seconds(), shardify.FormatSize(peak))
		if code != want || !strings.Contains(out, in) {
			t.Fatalf("%s: exit code %d, want %d and %q\n%.2000s", what, code, want, in, out)
		}
		if took.Seconds() > limit {
			t.Errorf("%s took %.1f s, want %.0f", what, took.Seconds(), limit)
		}
		if peak > memory {
			t.Errorf("%s took %s of memory", what, shardify.FormatSize(peak))
		}
	}
	check("status, one missing", 3, `"missing":1}`, seconds/4, "status", dir, "--json")
	check("merge, one missing", 3, "shards are missing: 17: not complete", seconds, "merge", dir)
	if err := os.Rename(receipt+".away", receipt); err != nil {
		t.Fatal(err)
	}
	check("merge", 0, "done", seconds, "merge", dir)
	check("status, complete", 0, "complete", seconds/4, "status", dir)
}

// TestVeryManyReceiptsInAStore: the requests that status and merge make of an object store, by kind.
func TestVeryManyReceiptsInAStore(t *testing.T) {
	shards := 300
	if os.Getenv("SHARDIFY_LONG") != "" {
		shards = 100_000
	}
	servertest.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	store := s3test.Start(t)
	var mu sync.Mutex
	counts := map[string]int{}
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := r.Method
		if r.URL.Query().Has("list-type") {
			kind = "LIST"
		}
		mu.Lock()
		counts[kind]++
		mu.Unlock()
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(counted.Close)
	t.Setenv("AWS_ENDPOINT_URL", counted.URL)
	dir := filepath.Join(t.TempDir(), "set")
	if out, code, _, _ := measured(t, "plan", "--from", "synth", "--samples", fmt.Sprint(shards), "--schema", "x:f32", "--shard-samples", "1", "--format", "wds", "-o", dir, "-q"); code != 0 {
		t.Fatal(out)
	}
	p := pretend(t, dir, 0)
	for _, name := range []string{p.Names().Shard(17), strings.TrimSuffix(p.Names().Shard(17), p.Out.Ext) + ".idx", p.Names().Receipt(17)} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		store.Set("/data/set/"+name, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		most int // requests for a hundred receipts, beside some
	}{
		{[]string{"status", "s3://data/set", "--json"}, 3, 101},
		{[]string{"status", "s3://data/set", "--json", "--tasks", "1000"}, 3, 101},
		{[]string{"merge", "s3://data/set", "-q"}, 3, 203},
		{[]string{"work", "s3://data/set", "--task", "17", "--tasks", fmt.Sprint(shards), "-q"}, 0, 1},
		{[]string{"merge", "s3://data/set", "-q"}, 0, 102},
		{[]string{"status", "s3://data/set"}, 0, 1},
	} {
		counts = map[string]int{}
		out, code, took, peak := measured(t, c.args...)
		sum := 0
		for _, n := range counts {
			sum += n
		}
		t.Logf("%s: %d receipts, %v, %.1f s, %s", strings.Join(c.args, " "), shards, counts, took.Seconds(), shardify.FormatSize(peak))
		if code != c.code || sum == 0 || sum > shards*c.most/100+60 {
			t.Errorf("%s: exit code %d, %d requests\n%.1000s", c.args[0], code, sum, out)
		}
	}
}
