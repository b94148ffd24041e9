package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/verify"
)

// hours writes a table of rows at these hours; v is unique.
func hours(t *testing.T, dir, name string, at []int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("time,v\n")
	for _, h := range at {
		fmt.Fprintf(&b, "%d,%d\n", h, 1000+h)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func manifestOf(t *testing.T, dir string) (*index.Manifest, []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, index.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}

func anchors(v index.View) (list []int64) {
	for _, a := range v.Anchors {
		for r := a.Lo; r < a.Hi; r += a.Step {
			list = append(list, r)
		}
	}
	return list
}

func sixHourly(n int, without ...int) (list []int) {
	for i := range n {
		if !slices.Contains(without, i) {
			list = append(list, 6*i)
		}
	}
	return list
}

// TestWindowsDoNotDependOnWhoMadeTheShards: borders of shards and tasks do not end windows, gaps
// do.
func TestWindowsDoNotDependOnWhoMadeTheShards(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(40, 10, 11))
	var first []byte
	for _, tasks := range []int{0, 1, 3} {
		out := filepath.Join(t.TempDir(), "set")
		s := Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Output: out, Format: "mmap", ShardSamples: 7, Window: []string{"time=1+1", "time=2+1,lead=4,stride=2,name=day"}, Sync: "none", Jobs: 2}
		if tasks == 0 {
			if _, err := Convert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		} else {
			p, err := Plan(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			p.Close()
			for k := range tasks {
				if _, err := Work(t.Context(), out, Task{Task: k, Tasks: tasks}, s); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Merge(t.Context(), out, s); err != nil {
				t.Fatal(err)
			}
		}
		m, b := manifestOf(t, out)
		if first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Errorf("%d tasks: another manifest", tasks)
		}
		v := m.Windows["window"]
		if !reflect.DeepEqual(v.Anchors, []index.Anchors{{Lo: 0, Hi: 9, Step: 1}, {Lo: 10, Hi: 37, Step: 1}}) || !slices.Equal(v.In, []int64{0}) || !slices.Equal(v.Out, []int64{1}) {
			t.Errorf("%+v", v)
		}
		if got := anchors(m.Windows["day"]); !slices.Equal(got, []int64{1, 3, 5, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33}) {
			t.Errorf("%v", got)
		}
	}
}

// TestNoRowOfAValWindowIsInATrainWindow: rows are split by input, in any order of times.
func TestNoRowOfAValWindowIsInATrainWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		in, out := t.TempDir(), filepath.Join(t.TempDir(), "set")
		all := sixHourly(60, r.IntN(60), r.IntN(60))
		a, b := 10+r.IntN(20), 35+r.IntN(15)
		hours(t, in, "train-1.csv", all[:a])
		hours(t, in, "val.csv", all[a:b])
		hours(t, in, "train-2.csv", all[b:])
		s := Settings{Inputs: []string{in}, Output: out, Format: "mmap", ShardSamples: 9, Window: []string{"time=2+2"}, SplitFrom: "train=train*,val=val*", Sync: "none", Jobs: 2}
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		rows := map[string][]int{"train": append(slices.Clone(all[:a]), all[b:]...), "val": all[a:b]}
		used := map[string]map[int]bool{}
		for split, at := range rows {
			m, _ := manifestOf(t, filepath.Join(out, split))
			used[split] = map[int]bool{}
			for _, x := range anchors(m.Windows["window"]) {
				for o := -1; o <= 2; o++ {
					if o > -1 && at[int(x)+o]-at[int(x)+o-1] != 6 {
						t.Fatalf("%s: a window around hour %d has rows at a distance of %d hours", split, at[x], at[int(x)+o]-at[int(x)+o-1])
					}
					used[split][at[int(x)+o]] = true
				}
			}
		}
		for h := range used["val"] {
			if used["train"][h] {
				t.Errorf("hour %d is in both", h)
			}
		}
		if len(used["val"]) == 0 || len(used["train"]) == 0 {
			t.Error("no windows")
		}
	}
}

// TestWindowsByNumberEndWhereInputsDo, and those of merged and extended sets where their parts do.
func TestWindowsByNumberEndWhereInputsDo(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	hours(t, in, "a.csv", sixHourly(10))
	hours(t, in, "b.csv", sixHourly(5))
	hours(t, in, "c.csv", sixHourly(6))
	set := func(name string, files ...string) string {
		s := Settings{Output: filepath.Join(out, name), Format: "mmap", ShardSamples: 4, Window: []string{"2+1"}, Sync: "none", Jobs: 1}
		for _, f := range files {
			s.Inputs = append(s.Inputs, filepath.Join(in, f))
		}
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s.Output
	}
	ab, c := set("ab", "a.csv", "b.csv"), set("c", "c.csv")
	want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13}
	m, _ := manifestOf(t, ab)
	if got := anchors(m.Windows["window"]); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if _, err := MergeSets(t.Context(), MergeSettings{Inputs: []string{ab, c}, Output: filepath.Join(out, "abc"), Jobs: 1, Sync: "none"}); err != nil {
		t.Fatal(err)
	}
	more := append(want, 16, 17, 18, 19)
	m, _ = manifestOf(t, filepath.Join(out, "abc"))
	if got := anchors(m.Windows["window"]); !slices.Equal(got, more) {
		t.Errorf("merged: %v", got)
	}
	if _, err := Extend(t.Context(), ab, Settings{Inputs: []string{filepath.Join(in, "c.csv")}, Jobs: 1, Sync: "none"}, false); err != nil {
		t.Fatal(err)
	}
	m, _ = manifestOf(t, ab)
	if got := anchors(m.Windows["window"]); !slices.Equal(got, more) || m.Samples != 21 {
		t.Errorf("extended: %v", got)
	}
}

func TestWindowsThatOtherSettingsExclude(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(10))
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Window: []string{"time=1+1"}, Shuffle: "global"}, "--shuffle"},
		{Settings{Window: []string{"time=1+1"}, Split: "train=0.5,val=0.5"}, "--split"},
		{Settings{Window: []string{"1+1"}, Where: []string{"v > 3"}}, "--where"},
		{Settings{Window: []string{"1+1"}, OnError: "skip"}, "--on-error skip"},
		// Of several settings the first of the list is named, each time.
		{Settings{Window: []string{"1+1"}, Where: []string{"v > 3"}, Fraction: []string{"0.5"}, OnError: "skip", GroupRows: "v"}, "--group-rows"},
		{Settings{Window: []string{"1+1"}, SplitFrom: "train=a.zarr/*,val=b.zarr/*", Where: []string{"v > 3"}, OnError: "skip"}, "--split"},
		{Settings{Window: []string{"time=1+1", "time=2+1"}}, "both named window"},
		{Settings{Window: []string{"name"}}, "IN+OUT"},
		{Settings{Window: []string{"t=1+1"}}, "no field t"},
		{Settings{Window: []string{"time=1+1,lead=6h"}}, "are not times"},
	} {
		s := c.s
		s.Inputs, s.Output, s.Sync, s.Jobs = []string{filepath.Join(in, "a.csv")}, filepath.Join(t.TempDir(), "set"), "none", 1
		if s.Format == "" {
			s.Format = "mmap"
		}
		if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%v: %v", c.s.Window, err)
		}
	}
}

// TestPlansSayHowManyWindowsThereAre: by position there are more, which cross gaps.
func TestPlansSayHowManyWindowsThereAre(t *testing.T) {
	in := t.TempDir()
	store := maskedStore(t, filepath.Join(in, "a.zarr"), 0, 40, make([]float32, 6))
	later := maskedStore(t, filepath.Join(in, "b.zarr"), 45, 10, make([]float32, 6))
	hours(t, in, "a.csv", sixHourly(40, 10, 11))
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Inputs: []string{store}, Format: "mmap", Window: []string{"time=1+1"}}, "39 windows of time=1+1: none crosses a gap of time"},
		{Settings{Inputs: []string{store, later}, Format: "mmap", Window: []string{"time=1+1"}}, "48 windows of time=1+1: of 49 by position 1 crosses a gap of time"},
		{Settings{Inputs: []string{store, later}, Format: "mmap", Window: []string{"time=2+2"}}, "44 windows of time=2+2: of 47 by position 3 cross gaps of time"},
		{Settings{Inputs: []string{store, later}, Format: "mmap", Window: []string{"time=2+2"}, SplitFrom: "train=a.zarr/*,val=b.zarr/*"}, "44 windows of time=2+2: none crosses a gap of time"},
		{Settings{Inputs: []string{store, later}, Format: "wds", Window: []string{"time=2+2"}}, "44 windows of 4 rows each are copied from 50 rows: 3.52 times the bytes; as a view of mmap shards rows are stored once"},
		{Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Format: "mds", Window: []string{"time=1+1"}}, "36 windows of time=1+1: of 37 by position 1 crosses a gap of time"},
	} {
		var notes []string
		c.s.Output, c.s.Sync, c.s.Jobs, c.s.Dry = filepath.Join(t.TempDir(), "set"), "none", 1, true
		if _, err := Convert(WithHooks(t.Context(), Hooks{Planned: func(p *Prepared) { notes = p.Facts().Notes }}), c.s); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(notes, c.want) {
			t.Errorf("%v of %v: %q, want %q", c.s.Window, c.s.Inputs, notes, c.want)
		}
	}
}

// TestVerifyFindsWrongAnchors by the values of the axis, of sets that were merged and extended,
// too.
func TestVerifyFindsWrongAnchors(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	hours(t, in, "a.csv", sixHourly(40, 10, 11))
	hours(t, in, "b.csv", sixHourly(20, 7))
	var sets []string
	for _, name := range []string{"a", "b"} {
		s := Settings{Inputs: []string{filepath.Join(in, name+".csv")}, Output: filepath.Join(out, name), Format: "mmap", ShardSamples: 7, Window: []string{"time=2+1,lead=2,stride=3", "3,name=three"}, Sync: "none", Jobs: 1}
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s.Output)
	}
	if _, err := MergeSets(t.Context(), MergeSettings{Inputs: sets, Output: filepath.Join(out, "ab"), Jobs: 1, Sync: "none"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Extend(t.Context(), sets[1], Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Jobs: 1, Sync: "none"}, false); err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(sets, filepath.Join(out, "ab")) {
		problems := func() []string {
			r, err := Verify(t.Context(), []string{dir}, verify.Options{}, Hooks{})
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, p := range r.Problems {
				list = append(list, p.What)
			}
			return list
		}
		if list := problems(); list != nil {
			t.Errorf("%s: %q", filepath.Base(dir), list)
		}
		whole, _ := manifestOf(t, dir)
		for what, change := range map[string]func(v *index.View){
			"is left out":                 func(v *index.View) { v.Anchors = v.Anchors[1:] },
			"there is no window":          func(v *index.View) { v.Anchors[0].Hi += 3 },
			"from the anchor":             func(v *index.View) { v.Out = []int64{1} },
			"by the values of time there": func(v *index.View) { v.Anchors[len(v.Anchors)-1].Step = 1 },
		} {
			m := *whole
			v := m.Windows["window"]
			v.Anchors = slices.Clone(v.Anchors)
			change(&v)
			m.Windows = map[string]index.View{"window": v, "three": m.Windows["three"]}
			b, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, index.ManifestName), b, 0o666); err != nil {
				t.Fatal(err)
			}
			if list := problems(); len(list) != 1 || !strings.Contains(list[0], what) || !strings.HasPrefix(list[0], "window window: ") {
				t.Errorf("%s: want %q, is %q", filepath.Base(dir), what, list)
			}
		}
	}
}
