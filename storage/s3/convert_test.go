package s3_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/verify"
)

// fresh puts clients of its own into the table, as a process that begins has them.
func fresh(t testing.TB) {
	before := storages.Table
	storages.Table = slices.Clone(before)
	f := s3.Quick(s3.New(1 << 20))
	for i := range storages.Table {
		if s := &storages.Table[i]; s.Scheme == "s3" {
			s.Files, s.Store = f, f.Store
		}
	}
	t.Cleanup(func() { storages.Table = before })
}

// conversion is a small one, with shards of some parts.
type conversion struct {
	name string
	pipeline.Settings
	want map[string]string // what is published, by name
}

func (c *conversion) to(output string) pipeline.Settings {
	s := c.Settings
	s.Output = output
	return s
}

// conversions are all formats, without and with a global shuffle, and what they make in a
// folder: made once for all tests.
func conversions(t *testing.T) []conversion {
	t.Helper()
	if made == nil {
		made = convert(t)
	}
	return made
}

var made []conversion

func convert(t *testing.T) (list []conversion) {
	t.Helper()
	for _, format := range []string{"mmap", "wds", "mds", "megatron"} {
		for _, shuffle := range []string{"none", "global"} {
			c := conversion{name: format + " " + shuffle, Settings: pipeline.Settings{From: "synth", Format: format, Shuffle: shuffle, ShardSamples: 200, Jobs: 2}}
			schema := "x:f32[1100],s:i16*,y:i64" // 0.9 MB a shard
			if format == "megatron" {
				schema = "tokens:i32*"
			} else if shuffle == "global" {
				c.Settings.Split, c.ShardSamples = "train=0.7,val=0.3", 150
			}
			c.Options = map[string]string{"samples": "420", "schema": schema}
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := pipeline.Convert(t.Context(), c.to(dir)); err != nil {
				t.Fatal(err)
			}
			c.want = folder(t, dir)
			list = append(list, c)
		}
	}
	return list
}

func folder(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return readers(out)
}

// readers is what readers look at.
func readers(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, ".shardify/") })
	return files
}

// TestConversionsAreThoseOfAFolder: the same files with the same bytes, which verify likes, and
// from which the same conversion makes the same set again.
func TestConversionsAreThoseOfAFolder(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	fresh(t)
	parts := 0
	srv.SetFault(func(_ int, r *http.Request) s3test.Fault {
		if r.URL.Query().Has("partNumber") {
			parts++
		}
		return s3test.None
	})
	for _, c := range conversions(t) {
		set := "s3://bucket/" + strings.ReplaceAll(c.name, " ", "/")
		if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		compare(t, c.name, readers(srv.Objects(strings.TrimPrefix(set, "s3:/")+"/")), c.want)
		v, err := verify.Run(t.Context(), verify.Options{Dir: set, Against: true, Compile: transform.Compile})
		if err != nil || v.Err() != nil {
			t.Errorf("verify %s: %v, %v", c.name, err, v.Err())
		}
		before := srv.Changes()
		if r, err := pipeline.Convert(t.Context(), c.to(set)); err != nil || !r.Already || srv.Changes() != before {
			t.Errorf("%s again: %v, %d requests that change something", c.name, err, srv.Changes()-before)
		}
		other := c.to(set)
		other.ShardSamples = 90
		if _, err := pipeline.Convert(t.Context(), other); !errors.Is(err, shardify.ErrExists) {
			t.Errorf("another plan: %v", err)
		}
		if c.Format == "mmap" || c.Format == "wds" {
			back := pipeline.Settings{Inputs: []string{set}, Output: "s3://bucket/back/" + c.name, Format: c.Format, ShardSamples: c.ShardSamples, Jobs: 1}
			if c.Split != "" {
				back.Inputs[0] += "/train"
			}
			if _, err := pipeline.Convert(t.Context(), back); err != nil {
				t.Errorf("%s, read back: %v", c.name, err)
			}
		}
		other.Fresh = true
		if _, err := pipeline.Convert(t.Context(), other); err != nil {
			t.Errorf("%s --fresh: %v", c.name, err)
		}
	}
	if left := srv.Uploads(); len(left) > 0 || parts < 20 {
		t.Errorf("left %v; %d parts", left, parts)
	}
	if left, _ := filepath.Glob(os.TempDir() + "/shardify*"); len(left) > 1 { // that of the user stays
		t.Errorf("left %v", left)
	}
}

func compare(t testing.TB, name string, got, want map[string]string) {
	t.Helper()
	for file := range want {
		if got[file] != want[file] {
			t.Errorf("%s: %s has %d bytes, want %d others", name, file, len(got[file]), len(want[file]))
		}
	}
	for file := range got {
		if _, ok := want[file]; !ok {
			t.Errorf("%s: %s is there", name, file)
		}
	}
}

// whole refuses files of other content than they have in the end.
func whole(t testing.TB, name string, got, want map[string]string) {
	t.Helper()
	for file, b := range got {
		if b != want[file] {
			t.Errorf("%s: %s is torn", name, file)
		}
	}
	if _, done := got["shardify.json"]; done {
		compare(t, name, got, want)
	}
}

// long reports whether all is tried, or some of it.
func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }

// TestEndAtEveryRequest ends conversions at each request that changes something, before and
// after it is done: nothing is torn, the next run makes the bytes of an unbroken one, and gc
// leaves no upload.
func TestEndAtEveryRequest(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	step := 29
	if long() {
		step = 1
	}
	points, dangling := 0, 0
	for _, c := range conversions(t) {
		for _, fault := range []s3test.Fault{s3test.Die, s3test.Last} {
			for n := 1 + points%step; ; n += step {
				srv.Clear()
				srv.SetFault(func(k int, _ *http.Request) s3test.Fault {
					if k == n {
						return fault
					}
					return s3test.None
				})
				fresh(t)
				name := fmt.Sprintf("%s, fault %d at request %d", c.name, fault, n)
				_, err := pipeline.Convert(t.Context(), c.to("s3://bucket/set"))
				ended := srv.Changes() >= n
				if ended && err == nil {
					// Only what is said about the end may fail without a word: the drop of what was left.
					compare(t, name, readers(srv.Objects("/bucket/set/")), c.want)
				}
				whole(t, name, readers(srv.Objects("/bucket/set/")), c.want)
				dangling += len(srv.Uploads())
				srv.SetFault(nil)
				fresh(t)
				if _, err := pipeline.Convert(t.Context(), c.to("s3://bucket/set")); err != nil {
					t.Errorf("%s: again: %v", name, err)
				}
				compare(t, name, readers(srv.Objects("/bucket/set/")), c.want)
				w, err := pipeline.Waste(t.Context(), "s3://bucket/set")
				if err == nil {
					_, _, err = w.Remove(t.Context())
				}
				if left := srv.Uploads(); err != nil || len(left) > 0 {
					t.Errorf("%s: after gc %v, %v", name, left, err)
				}
				if !ended {
					break
				}
				if points++; step > srv.Changes() {
					break // both runs together have made fewer: the next would not be ended
				}
			}
		}
	}
	t.Logf("%d requests, %d uploads left for gc", points, dangling)
}

// TestLostAnswersOfConversions: each request fails once, in one way or another.
func TestLostAnswersOfConversions(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	rounds := 1
	if long() {
		rounds = 20
	}
	list, faults := conversions(t), 0
	for round := range rounds {
		for _, c := range list {
			r := rand.New(rand.NewPCG(uint64(round), 1))
			srv.Clear()
			srv.SetFault(func(int, *http.Request) s3test.Fault {
				if r.IntN(5) > 0 {
					return s3test.None
				}
				faults++
				return []s3test.Fault{s3test.Lose, s3test.Break, s3test.Refuse, s3test.Conflict, s3test.Late}[r.IntN(5)]
			})
			fresh(t)
			if _, err := pipeline.Convert(t.Context(), c.to("s3://bucket/set")); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			compare(t, c.name, readers(srv.Objects("/bucket/set/")), c.want)
		}
	}
	t.Logf("%d conversions, %d faults", rounds*len(list), faults)
}

// TestGCLeavesUploadsOfThoseAtWork: an upload does not say whose it is, so the records of
// attempts decide.
func TestGCLeavesUploadsOfThoseAtWork(t *testing.T) {
	srv := start(t)
	fresh(t)
	const set = "s3://bucket/set"
	waste := func() string {
		t.Helper()
		w, err := pipeline.Waste(t.Context(), set)
		if err == nil {
			_, _, err = w.Remove(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(w.Sum(), "; ")
	}
	begin := func() {
		t.Helper()
		p, err := at(t, set).Create("shard")
		if err == nil {
			_, err = p.Write(random(2 * part))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := commit(t.Context(), t, at(t, set+"/.shardify"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	begin()
	if w := waste(); !strings.Contains(w, "1 upload that was not completed") || !strings.Contains(w, "kept: its process may be running") {
		t.Errorf("no attempt has left a record: %s", w)
	}
	owner, _ := cluster.Self(os.Getenv)
	r, err := cluster.Begin(set, cluster.Attempt{Command: "work", Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	if w := waste(); !strings.Contains(w, "kept: it may belong to a running attempt") || len(srv.Uploads()) != 1 {
		t.Errorf("an attempt is at work: %s", w)
	}
	r.End(cluster.Ending{Outcome: cluster.OutcomeFailed})
	if w := waste(); strings.Contains(w, "kept") || len(srv.Uploads()) != 0 {
		t.Errorf("it has ended: %s", w)
	}
	if r, err = cluster.Begin(set, cluster.Attempt{Command: "work", Owner: owner}); err != nil {
		t.Fatal(err)
	}
	defer r.End(cluster.Ending{})
	begin()
	srv.Age(25 * time.Hour)
	if w := waste(); strings.Contains(w, "kept") || len(srv.Uploads()) != 0 {
		t.Errorf("it is a day old: %s", w)
	}
}

// TestManyWriters: two to four writers make one set. Some of them stop halfway, and some have
// another plan. The result is one set.
func TestManyWriters(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	rounds := 8
	if long() {
		rounds = 1000
	}
	list := conversions(t)
	r := rand.New(rand.NewPCG(3, 4))
	ended, refused, lost := 0, 0, 0
	for round := range rounds {
		c := list[round%len(list)]
		srv.Clear()
		var mu sync.Mutex
		faults := rand.New(rand.NewPCG(uint64(round), 5))
		srv.SetFault(func(int, *http.Request) s3test.Fault {
			mu.Lock()
			defer mu.Unlock()
			if faults.IntN(10) > 0 {
				return s3test.None
			}
			lost++
			return s3test.Lose
		})
		fresh(t)
		other := round%3 == 2 // of two plans one wins
		var wg sync.WaitGroup
		n := 2 + r.IntN(3)
		errs := make([]error, n)
		for i := range n {
			ctx, cancel := context.WithCancelCause(t.Context())
			if i > 0 && r.IntN(3) == 0 {
				time.AfterFunc(time.Duration(r.IntN(60))*time.Millisecond, func() { cancel(errEnd) })
			}
			wg.Go(func() {
				defer cancel(nil)
				s := c.to("s3://bucket/set")
				if other && i%2 == 1 {
					s.ShardSamples = 90
				}
				_, errs[i] = pipeline.Convert(ctx, s)
			})
		}
		wg.Wait()
		for i, err := range errs {
			switch {
			case err == nil:
			case errors.Is(err, errEnd) || errors.Is(err, context.Canceled):
				ended++
			case other && errors.Is(err, shardify.ErrExists):
				refused++
			default:
				t.Errorf("round %d, %s, writer %d of %d: %v", round, c.name, i, n, err)
			}
		}
		srv.SetFault(nil)
		if other { // those of the plan that won may have ended
			second := c.to("s3://bucket/set")
			second.ShardSamples = 90
			_, err1 := pipeline.Convert(t.Context(), c.to("s3://bucket/set"))
			_, err2 := pipeline.Convert(t.Context(), second)
			if a, b := errors.Is(err1, shardify.ErrExists), errors.Is(err2, shardify.ErrExists); a == b || err1 != nil && !a || err2 != nil && !b {
				t.Errorf("round %d, %s: of two plans: %v; %v", round, c.name, err1, err2)
			}
		} else {
			compare(t, fmt.Sprintf("round %d, %s", round, c.name), readers(srv.Objects("/bucket/set/")), c.want)
		}
		v, err := verify.Run(t.Context(), verify.Options{Dir: "s3://bucket/set"})
		if err != nil || v.Err() != nil {
			t.Errorf("round %d, %s: verify: %v", round, c.name, err)
		}
		w, err := pipeline.Waste(t.Context(), "s3://bucket/set")
		if err == nil {
			_, _, err = w.Remove(t.Context())
		}
		if left := srv.Uploads(); err != nil || len(left) > 0 {
			t.Errorf("round %d: after gc %v, %v", round, left, err)
		}
	}
	t.Logf("%d rounds, %d writers ended in the middle, %d refused, %d answers lost", rounds, ended, refused, lost)
}

var errEnd = errors.New("end")
