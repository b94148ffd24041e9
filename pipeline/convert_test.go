package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
)

// synth is settings of samples that need no files.
func synth(out string, change func(*Settings)) Settings {
	s := Settings{From: "synth", Output: out, Options: map[string]string{"samples": "200", "schema": "x:f32[4],y:i64"}, ShardSamples: 50, Jobs: 2, Memory: 256 << 20, Sync: "none"}
	if change != nil {
		change(&s)
	}
	return s
}

func TestSettingsDecideThePlan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings)
		want   Facts
	}{
		"plain":   {nil, Facts{Output: "mmap", Samples: 200, Shards: 4, Units: 4, Shuffle: "none"}},
		"limit":   {func(s *Settings) { s.Limit = 60 }, Facts{Output: "mmap", Samples: 60, Shards: 2, Units: 2, Shuffle: "none"}},
		"range":   {func(s *Settings) { s.Range = Range{Lo: 150} }, Facts{Output: "mmap", Samples: 50, Shards: 1, Units: 1, Shuffle: "none"}},
		"format":  {func(s *Settings) { s.Format = "wds" }, Facts{Output: "wds", Samples: 200, Shards: 4, Units: 4, Shuffle: "none"}},
		"shuffle": {func(s *Settings) { s.Shuffle = "block" }, Facts{Output: "mmap", Samples: 200, Shards: 4, Units: 4, Shuffle: "block"}},
		"split": {func(s *Settings) { s.Split = "train=0.5, val=0.5" },
			Facts{Output: "mmap", Samples: 200, Shards: 8, Units: 4, Shuffle: "none", Splits: []string{"train", "val"}}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		p, err := Prepare(t.Context(), synth(out, c.change))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := p.Facts()
		got := Facts{Output: f.Output, Samples: f.Samples, Shards: f.Shards, Units: f.Units, Shuffle: f.Shuffle, Splits: f.Splits}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		p.Close()
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a plan has written something", name)
		}
	}
}

func TestWrongSettingsAreUsage(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"no input":                         func(s *Settings) { s.From = "" },
		"no output folder":                 func(s *Settings) { s.Output = "" },
		"--shard-size and --shard-samples": func(s *Settings) { s.ShardSize = 1 << 20 },
		`--shuffle "some": want one of`:    func(s *Settings) { s.Shuffle = "some" },
		`--sync "later": want one of`:      func(s *Settings) { s.Sync = "later" },
		"--limit -3: want":                 func(s *Settings) { s.Limit = -3 },
		"--copies 70000: want":             func(s *Settings) { s.Copies = 70000 },
		"--split and --split-from exclude": func(s *Settings) { s.Split, s.SplitFrom = "a=1", "dirs" },
		"--stratify goes with --split":     func(s *Settings) { s.Stratify = "y" },
		`--format "lance": want one of`:    func(s *Settings) { s.Format = "lance" },
		"--labels is an option of":         func(s *Settings) { s.Options["labels"] = "folder" },
		"--where: z > 1: no field z":       func(s *Settings) { s.Where = []string{"z > 1"} },
		"try --where 'y > 1'":              func(s *Settings) { s.Where = []string{"yy > 1"} },
		"try --where 'y > 1 and y < 9'":    func(s *Settings) { s.Where = []string{"yy > 1 and y1 < 9"} },
	} {
		_, err := Convert(t.Context(), synth(filepath.Join(t.TempDir(), "out"), change))
		text := ""
		if err != nil {
			text = err.Error() + "\n" + strings.Join(shardify.Hints(err), "\n")
		}
		if !strings.Contains(text, want) || !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// files are those of a data set that readers see.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := filepath.Glob(filepath.Join(dir, "s*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(b)
	}
	return out
}

// TestOneProcessOrManyTasks make the same data set, and so does one that was stopped.
func TestOneProcessOrManyTasks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	told := 0
	r, err := Convert(WithHooks(t.Context(), Hooks{Progress: func(Progress) { told++ }}), synth(at("a"), nil))
	if err != nil || r.Manifest.Samples != 200 || r.Shards() != 4 || r.Already || told == 0 || r.Incomplete() != nil {
		t.Fatalf("%+v, %v, %d progress reports", r, err, told)
	}
	want := files(t, at("a"))
	if r, err = Convert(t.Context(), synth(at("a"), nil)); err != nil || !r.Already {
		t.Errorf("again: %+v, %v", r, err)
	}
	if _, err := Convert(t.Context(), synth(at("a"), func(s *Settings) { s.Limit = 9 })); !errors.Is(err, shardify.ErrExists) || len(shardify.Hints(err)) != 2 {
		t.Errorf("another one in its place: %v, %q", err, shardify.Hints(err))
	}
	p, err := Plan(t.Context(), synth(at("b"), nil))
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	run := Settings{Jobs: 1, Memory: 256 << 20, Sync: "none"}
	if _, err := Merge(t.Context(), at("b"), run); err == nil || !strings.Contains(strings.Join(shardify.Hints(err), "\n"), "shardify work ") {
		t.Errorf("merge of nothing: %v, %q", err, shardify.Hints(err))
	}
	for i := range 2 {
		if w, err := Work(t.Context(), at("b"), Task{Task: i, Tasks: 2}, run); err != nil || w.Units != 2 {
			t.Fatalf("task %d: %+v, %v", i, w, err)
		}
	}
	if _, err := Work(t.Context(), at("b"), Task{Task: 2, Tasks: 2}, run); !errors.Is(err, shardify.ErrUsage) {
		t.Errorf("task 2 of 2: %v", err)
	}
	if r, err := Merge(t.Context(), at("b"), run); err != nil || r.Manifest.Samples != 200 {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := Hooks{Begin: func(*Prepared, []int) func() { cancel(convert.ErrStopped); return func() {} }}
	if _, err := Convert(WithHooks(ctx, stop), synth(at("c"), nil)); !errors.Is(err, convert.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := Convert(t.Context(), synth(at("c"), nil)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		if !reflect.DeepEqual(files(t, at(name)), want) {
			t.Errorf("%s has other bytes", name)
		}
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	planned := 0
	r, err := Convert(WithHooks(t.Context(), Hooks{Planned: func(*Prepared) { planned++ }}), synth(out, func(s *Settings) { s.Dry = true }))
	if _, e := os.Stat(out); err != nil || r.Manifest != nil || planned != 1 || e == nil {
		t.Errorf("%+v, %v, planned %d times", r, err, planned)
	}
}

// TestProgressCountsWhatThePlanNames: the shards of every split, in every order, and of a task
// its own alone.
func TestProgressCountsWhatThePlanNames(t *testing.T) {
	for _, shuffle := range []string{"none", "global"} {
		var last Progress
		s := Settings{
			From: "synth", Options: map[string]string{"samples": "8000", "schema": "x:f32[64]"}, ShardSamples: 1000, Output: filepath.Join(t.TempDir(), "set"), Shuffle: shuffle, Split: "train=0.5,val=0.5",
		}
		var planned int64
		ctx := WithHooks(context.Background(), Hooks{Progress: func(p Progress) { last = p }, Planned: func(p *Prepared) { planned = p.Facts().Shards }})
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(err)
		}
		if planned < 16 || last.AllShards != planned || last.AllSamples != 8000 || (last.AllPortions > 0) != (shuffle == "global") {
			t.Errorf("%s: %+v, the plan has %d shards", shuffle, last, planned)
		}
		s.Output += "2"
		p, err := Plan(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		stage := StageAll
		if shuffle == "global" {
			stage = StageScatter
		}
		if _, err := Work(ctx, s.Output, Task{Task: 0, Tasks: 4, Stage: stage}, Settings{}); err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{"none": planned / 4, "global": 0}[shuffle]; last.AllShards != want || last.AllSamples == 0 {
			t.Errorf("%s: a task of four: %+v, of %d shards", shuffle, last, planned)
		}
	}
}
