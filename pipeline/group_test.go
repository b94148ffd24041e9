package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/verify"
)

// tableOf is a set with rows of 40 keys, in order or not.
func tableOf(t *testing.T, key string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "table")
	s := synth(dir, func(s *Settings) {
		s.Options["samples"] = "3000"
		s.Define = []string{"k:i64=" + key, "z:f32=sum(x)"}
	})
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return dir
}

// samplesOf40 is a table of 45 samples, of which 5 have no rows: their keys, and which of 3,000
// rows they have.
func samplesOf40() string {
	text := "kk,w,first,end\n"
	for i := range 45 {
		lo, hi := i*75, min(i*75+75, 3000)
		text += fmt.Sprintf("%d,w%d,%d,%d\n", i*7%45, i, min(lo, hi), hi)
	}
	return text
}

// bytesOf is the shards and the manifest of a set, without how it was made.
func bytesOf(t *testing.T, dir string) string {
	t.Helper()
	all := ""
	files, err := filepath.Glob(filepath.Join(dir, "shard-*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no shards", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += filepath.Base(f) + string(b)
	}
	return all
}

// alike makes a set in other ways (one job in little memory, three tasks, a run that is stopped again and again), and compares
// what of reads of it. settings are those of a set of a name.
func alike(t *testing.T, want string, of func(t *testing.T, dir string) string, settings func(name string) Settings) {
	t.Helper()
	small := settings("small")
	small.Jobs, small.Memory = 1, 16<<20
	if _, err := Convert(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	if of(t, small.Output) != want {
		t.Error("one job in little memory makes other bytes")
	}

	tasks := settings("tasks")
	global := tasks.Shuffle == "global"
	p, err := Plan(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, stage := range []string{StageScatter, StageGather} {
		for i := range 3 {
			if !global && stage == StageGather {
				continue
			}
			if !global {
				stage = ""
			}
			if _, err := Work(t.Context(), tasks.Output, Task{Task: i, Tasks: 3, Stage: stage}, Settings{Jobs: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Merge(t.Context(), tasks.Output, Settings{}); err != nil {
		t.Fatal(err)
	}
	if of(t, tasks.Output) != want {
		t.Error("three tasks make other bytes")
	}

	stopped := settings("stopped")
	stopped.Jobs = 1
	for i := 0; ; i++ {
		ctx, cancel := context.WithCancel(t.Context())
		hooked := WithHooks(ctx, Hooks{Planned: func(p *Prepared) {
			go func() {
				for p.Job.Progress.Made.Load() == 0 && ctx.Err() == nil {
				}
				cancel()
			}()
		}})
		_, err := Convert(hooked, stopped)
		cancel()
		if err == nil {
			break
		}
		if i > 40 {
			t.Fatal(err)
		}
	}
	if of(t, stopped.Output) != want {
		t.Error("a run that was stopped again and again makes other bytes")
	}
	if list, _ := filepath.Glob(filepath.Join(stopped.Output, ".shardify", "scratch", "*")); len(list) > 0 {
		t.Errorf("scratch files stay: %v", list)
	}
}

// TestGroupedBytesDoNotDependOnWhoMakesThem: jobs, memory, tasks, and runs that are stopped.
func TestGroupedBytesDoNotDependOnWhoMakesThem(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"plain":   func(*Settings) {},
		"named":   func(s *Settings) { s.GroupRows, s.Sort, s.Pad = "hits=k", []string{"hits=-z"}, []string{"z=20"} },
		"samples": func(s *Settings) { s.SamplesFrom = "TABLE on=kk take=w" },
		"index":   func(s *Settings) { s.GroupRows, s.GroupIndex, s.SamplesFrom = "", "first,end=end", "TABLE take=w,kk" },
		"shuffle": func(s *Settings) { s.Shuffle, s.Define = "global", []string{"n:i64=len(z)"} },
		"survey":  func(s *Settings) { s.Augment = []string{"normalise=z"}; s.Where = []string{"len(z) > 5"} },
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "plain" {
				t.Skip("long")
			}
			dir := tableOf(t, "abs(y) % 40")
			listing := filepath.Join(t.TempDir(), "samples.csv")
			if err := os.WriteFile(listing, []byte(samplesOf40()), 0o644); err != nil {
				t.Fatal(err)
			}
			settings := func(out string) Settings {
				s := Settings{Inputs: []string{dir}, Output: filepath.Join(t.TempDir(), out), GroupRows: "k", ShardSamples: 7, Jobs: 2, Memory: 256 << 20, Sync: "none"}
				change(&s)
				s.SamplesFrom = strings.Replace(s.SamplesFrom, "TABLE", listing, 1)
				return s
			}
			one := settings("one")
			r, err := Convert(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(40); r.Manifest.Samples != n+int64(5*min(len(one.SamplesFrom), 1)) {
				t.Errorf("%d samples of 40 keys", r.Manifest.Samples)
			}
			if v, err := Verify(t.Context(), []string{one.Output}, verify.Options{Against: true, Seed: 1}, Hooks{}); err != nil || v.Err() != nil || v.Uncompared != "" {
				t.Errorf("compared with its inputs: %v %+v", err, v)
			}
			want := bytesOf(t, one.Output)

			if one.SamplesFrom != "" { // in scratch files
				ask.TableShare = ask.PoolLimit(one.Memory) / 1000
				file := settings("file")
				_, err := Convert(t.Context(), file)
				if ask.TableShare = 4; err != nil {
					t.Fatal(err)
				}
				if bytesOf(t, file.Output) != want {
					t.Error("a table of samples beyond memory makes other bytes")
				}
			}

			alike(t, want, bytesOf, settings)
		})
	}
}

func TestGroupedSettings(t *testing.T) {
	dir := tableOf(t, "y")
	few := filepath.Join(t.TempDir(), "few.csv")
	if err := os.WriteFile(few, []byte("kk,x,z2\n1,2,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Settings){
		"goes with --group-rows":     func(s *Settings) { s.GroupRows, s.Once = "", []string{"z"} },
		"want fields":                func(s *Settings) { s.GroupRows = "=k" },
		"there is no field kk":       func(s *Settings) { s.GroupRows = "kk" },
		"goes with --samples-from":   func(s *Settings) { s.GroupRows, s.GroupIndex = "", "first,last" },
		"exclude each other":         func(s *Settings) { s.GroupIndex = "first,last" },
		"would have no value":        func(s *Settings) { s.SamplesFrom, s.Once = "t.csv", []string{"z"} },
		"has no row in":              func(s *Settings) { s.SamplesFrom = few + " on=kk take=z2" },
		"there is a field x already": func(s *Settings) { s.SamplesFrom = few + " on=kk" },
		"are of one sample and":      func(s *Settings) { s.Inputs, s.Once = []string{tableOf(t, "1")}, []string{"z"} },
	} {
		s := Settings{Inputs: []string{dir}, Output: filepath.Join(t.TempDir(), "out"), GroupRows: "k", Sync: "none"}
		change(&s)
		if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
