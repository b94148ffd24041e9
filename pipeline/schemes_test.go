package pipeline_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/pipeline/internal/sets"
	"github.com/shardify/shardify/storage/storagetest"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/verify"
)

// TestInputsMayBeAddresses: a storage is a line of the table, and inputs, patterns, lists
// and objects in files are named by its addresses.
func TestInputsMayBeAddresses(t *testing.T) {
	ctx := context.Background()
	m := storagetest.Scheme(t, "mem")
	b, err := os.ReadFile("../readers/root/testdata/events-0.root")
	if err != nil {
		t.Fatal(err)
	}
	local := t.TempDir()
	for _, name := range []string{"a/one.root", "a/b/two.root"} {
		m.Set("data/"+name, b)
		os.MkdirAll(filepath.Dir(filepath.Join(local, name)), 0o777)
		os.WriteFile(filepath.Join(local, name), b, 0o666)
	}
	digest := func(inputs ...string) string {
		t.Helper()
		r, err := pipeline.Convert(ctx, pipeline.Settings{Inputs: inputs, Options: map[string]string{"object": "Events"}, Jobs: 1, Output: filepath.Join(t.TempDir(), "out")})
		if err != nil {
			t.Fatal(err)
		}
		return r.Manifest.Digest
	}
	for _, c := range []struct{ addresses, paths []string }{
		{[]string{"mem://data"}, []string{local}},
		{[]string{"mem://data/"}, []string{local}},
		{[]string{"mem://data/**/*.root"}, []string{local + "/**/*.root"}},
		{[]string{"mem://data/a/one.root", "mem://data/a/b/two.root"}, []string{local + "/a/one.root", local + "/a/b/two.root"}},
		{[]string{"file://" + local}, []string{local}},
	} {
		if got, want := digest(c.addresses...), digest(c.paths...); got != want {
			t.Errorf("%s: %s, %s: %s", c.addresses, got, c.paths, want)
		}
	}
	for _, s := range []pipeline.Settings{{Inputs: []string{"s3a://bucket/x"}}} {
		if s.Output == "" {
			s.Output = t.TempDir()
		}
		_, err := pipeline.Convert(ctx, s)
		if err == nil || !strings.Contains(err.Error(), "no storage has the scheme s3a://: there is file://, http://") || !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%+v: %v", s.Inputs, err)
		}
	}
}

// TestOutputsMayBeAddresses: a data set in another storage is made, gone on with, replaced,
// checked and read like one in a folder.
func TestOutputsMayBeAddresses(t *testing.T) {
	ctx := context.Background()
	m := storagetest.Scheme(t, "mem")
	for _, format := range []string{"mmap", "wds", "mds", "megatron", "tfrecord", "parquet", "arrow", "arrayrecord"} {
		for _, shuffle := range []string{"none", "global"} {
			name := format + " " + shuffle
			schema := "x:f32[4],y:i64"
			if format == "megatron" {
				schema = "tokens:i32*"
			}
			s := pipeline.Settings{From: "synth", Output: "mem://sets/" + format + "-" + shuffle, Format: format, Shuffle: shuffle, ShardSamples: 50, Jobs: 2,
				Options: map[string]string{"samples": "200", "schema": schema}}
			there, err := pipeline.Convert(ctx, s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			here := s
			here.Output = filepath.Join(t.TempDir(), "out")
			want, err := pipeline.Convert(ctx, here)
			if err != nil {
				t.Fatal(err)
			}
			if there.Manifest.Digest != want.Manifest.Digest {
				t.Errorf("%s: %s, in a folder %s", name, there.Manifest.Digest, want.Manifest.Digest)
			}
			for file, b := range m.Clone().Files() {
				rel, ok := strings.CutPrefix(file, "sets/"+format+"-"+shuffle+"/")
				if !ok || strings.HasPrefix(rel, ".shardify/") {
					continue
				}
				if have, err := os.ReadFile(filepath.Join(here.Output, rel)); err != nil || string(have) != string(b) {
					t.Errorf("%s: %s differs from that in a folder: %v", name, rel, err)
				}
			}
			if r, err := pipeline.Convert(ctx, s); err != nil || !r.Already {
				t.Errorf("%s again: %v, %v", name, r, err)
			}
			other := s
			other.ShardSamples = 40
			if _, err := pipeline.Convert(ctx, other); !errors.Is(err, shardify.ErrExists) {
				t.Errorf("%s, another plan: %v", name, err)
			}
			if format == "mmap" || format == "wds" {
				if a, b := loaded(t, s.Output), loaded(t, here.Output); a != b {
					t.Errorf("%s: the loader gives %s, of a folder %s", name, a, b)
				}
				back := pipeline.Settings{Inputs: []string{s.Output}, Output: "mem://back/" + format + "-" + shuffle, Format: format, ShardSamples: 50}
				if r, err := pipeline.Convert(ctx, back); err != nil || len(r.Manifest.Shards) != 4 || r.Manifest.Shards[3].Digest != there.Manifest.Shards[3].Digest {
					t.Errorf("%s, read back: %v, %v", name, r, err)
				}
				if _, err := pipeline.Stage(ctx, pipeline.StageSettings{Source: s.Output, Dest: filepath.Join(t.TempDir(), "copy")}); err != nil {
					t.Errorf("stage %s: %v", name, err)
				}
				for _, in := range []string{s.Output, s.Output + "/shardify.json"} {
					r, err := pipeline.InspectRequest(ctx, pipeline.Settings{}, []string{in}, false)
					if err != nil || r.Format.Name != format {
						t.Errorf("inspect %s: %v, %v", in, r.Format.Name, err)
					} else if _, err := pipeline.Sample(ctx, r, 150); err != nil {
						t.Errorf("inspect %s --sample: %v", in, err)
					}
				}
			}
			s = other
			s.Fresh = true
			if _, err := pipeline.Convert(ctx, s); err != nil {
				t.Errorf("%s --fresh: %v", name, err)
			}
			r, err := verify.Run(ctx, verify.Options{Dir: s.Output, Against: true, Compile: transform.Compile})
			if err != nil || r.Err() != nil {
				t.Errorf("verify %s: %v, %v %v", name, err, r.Err(), r.Problems)
			}
		}
	}
	m.Set("foreign/file", []byte("x"))
	s := pipeline.Settings{From: "synth", Output: "mem://foreign", Options: map[string]string{"samples": "20", "schema": "y:i64"}}
	if _, err := pipeline.Convert(ctx, s); !errors.Is(err, shardify.ErrExists) || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("a folder of another program: %v", err)
	}
	s.Output = "az://bucket/set"
	if _, err := pipeline.Convert(ctx, s); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "no storage has the scheme az://: there is file://, http://") {
		t.Errorf("another scheme: %v", err)
	}
}

// loaded is the bytes of a field in an epoch of a loader, in the order of the shuffle.
func loaded(t *testing.T, set string) string {
	t.Helper()
	d, err := gpuload.Open(context.Background(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := d.Loader(gpuload.Config{Batch: 30, Shuffle: gpuload.Global, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all []byte
	for {
		b, err := l.Next(context.Background())
		if err == io.EOF {
			return index.DigestOf(all)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Host("x")...)
		b.Release()
	}
}

// TestTasksAndStatusInAnotherStorage: tasks of a plan leave records there, status reads them, gc
// removes what is no longer needed, and Slurm's scripts are in a folder.
func TestTasksAndStatusInAnotherStorage(t *testing.T) {
	storagetest.Scheme(t, "mem")
	t.Chdir(t.TempDir())
	ctx, set := t.Context(), "mem://set"
	for _, shuffle := range []string{"none", "global"} {
		set := set + "/" + shuffle
		s := pipeline.Settings{From: "synth", Output: set, Shuffle: shuffle, ShardSamples: 20, Jobs: 1, Options: map[string]string{"samples": "100", "schema": "y:i64"}}
		p, err := pipeline.Plan(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if _, err := pipeline.Submit(ctx, pipeline.SubmitSettings{Folder: set, Elements: 2}); err == nil || !strings.Contains(err.Error(), "Slurm reads scripts") {
			t.Errorf("submit: %v", err)
		}
		out, err := pipeline.Submit(ctx, pipeline.SubmitSettings{Folder: set, Elements: 2, Scripts: "scripts", Program: "/bin/shardify"})
		if err != nil || !strings.Contains(out.Scripts[0].Text, "/bin/shardify work "+set) || !strings.Contains(out.Scripts[0].Text, "/scripts/logs/") {
			t.Errorf("submit: %v", err)
		}
		owner, _ := cluster.Self(os.Getenv)
		for task := range 2 {
			r, err := cluster.Begin(set, cluster.Attempt{Command: "work", Task: task, Tasks: 2, Plan: p.Plan.Digest(), Owner: owner})
			if err != nil {
				t.Fatal(err)
			}
			if w, err := pipeline.Waste(ctx, set); err != nil || len(w.Running) != 1 {
				t.Errorf("%v attempts at work: %v", len(w.Running), err)
			}
			_, err = pipeline.Work(ctx, set, pipeline.Task{Task: task, Tasks: 2}, pipeline.Settings{Jobs: 1})
			var waits *convert.Waiting
			if err != nil && !errors.As(err, &waits) {
				t.Fatal(err)
			}
			r.End(cluster.Ending{Outcome: cluster.OutcomeDone})
			if st, err := pipeline.Status(ctx, set, pipeline.StatusOptions{Deep: true}); err != nil || st.Attempts != task+1 || st.State != cluster.StatusPartial && st.State != cluster.StatusUnmerged {
				t.Errorf("status after task %d: %+v, %v", task, st, err)
			}
		}
		if _, err := pipeline.Work(ctx, set, pipeline.Task{Task: 0, Tasks: 1}, pipeline.Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := pipeline.Merge(ctx, set, pipeline.Settings{}); err != nil {
			t.Fatal(err)
		}
		if st, err := pipeline.Status(ctx, set, pipeline.StatusOptions{Deep: true}); err != nil || st.State != cluster.StatusComplete {
			t.Errorf("status: %+v, %v", st, err)
		}
		if w, err := pipeline.Waste(ctx, set); err != nil || w.Removable() != 0 {
			t.Errorf("waste: %v, %v", w, err)
		}
	}
}

// TestFoldersOfThisMachine: what works on them alone refuses an address, and makes no
// folder with its name.
func TestFoldersOfThisMachine(t *testing.T) {
	storagetest.Scheme(t, "mem")
	t.Chdir(t.TempDir())
	if _, err := sets.PlanMerge(t.Context(), sets.MergeOptions{Output: "mem://set"}); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("merge-sets: %v", err)
	}
	if _, err := pipeline.Extend(t.Context(), "mem://set", pipeline.Settings{}, false); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("extend: %v", err)
	}
	if list, _ := os.ReadDir("."); len(list) > 0 {
		t.Errorf("%v was made", list[0])
	}
}
