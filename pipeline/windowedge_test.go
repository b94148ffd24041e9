package pipeline

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/window"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// TestARowWithoutATimeIsInNoWindow: the value that fills its place is not a time.
func TestARowWithoutATimeIsInNoWindow(t *testing.T) {
	in := t.TempDir()
	if err := os.WriteFile(filepath.Join(in, "a.csv"), []byte("time,v\n,1\n1,2\n2,3\n3,4\n,5\n5,6\n6,7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "set")
	if _, err := Convert(t.Context(), Settings{Inputs: []string{in}, Output: out, Format: "mmap", ShardSamples: 2, Window: []string{"time=1+1"}, Sync: "none", Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	m, _ := manifestOf(t, out)
	if got := anchors(m.Windows["window"]); !slices.Equal(got, []int64{1, 2, 5}) {
		t.Error(got)
	}
}

// TestAnExtensionKeepsTheWindows, even where one row alone does not show the distance of rows.
func TestAnExtensionKeepsTheWindows(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "set")
	hours(t, in, "a.csv", sixHourly(10))
	hours(t, in, "one.csv", []int{600})
	hours(t, in, "c.csv", sixHourly(6))
	s := Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Output: out, Format: "mmap", Window: []string{"time=2+1,step=2"}, Sync: "none", Jobs: 1}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one.csv", "c.csv"} {
		if _, err := Extend(t.Context(), out, Settings{Inputs: []string{filepath.Join(in, name)}, Jobs: 1, Sync: "none"}, false); err != nil {
			t.Fatal(name, err)
		}
	}
	m, _ := manifestOf(t, out)
	if got := anchors(m.Windows["window"]); !slices.Equal(got, []int64{2, 3, 4, 5, 6, 7, 13, 14}) {
		t.Error(got)
	}
}

func TestWindowsByNumberWantAllRows(t *testing.T) {
	in := t.TempDir()
	if err := os.WriteFile(filepath.Join(in, "a.csv"), []byte("time,v\n0,0.5\n1,nan\n2,0.5\n3,0.25\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Convert(t.Context(), Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "set"), Format: "mmap", NaN: []string{"v=drop"}, Window: []string{"1+1"}, Sync: "none", Jobs: 1})
	if err == nil || !strings.Contains(err.Error(), "nan drop") {
		t.Error(err)
	}
}

func TestWindowsOfCopiesAreRefused(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(10))
	_, err := Convert(t.Context(), Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "set"), Format: "mmap", Copies: 2, Window: []string{"time=1+1"}, Sync: "none", Jobs: 1})
	if err == nil || !strings.Contains(err.Error(), "--copies") {
		t.Error(err)
	}
}

// opens counts the files that are opened in a store.
type opens struct {
	storage.Store
	n int
}

func (o *opens) Open(name string) (storage.Blob, error) {
	o.n++
	return o.Store.Open(name)
}

// TestAnAxisOfSeveralWindowsIsReadOnce: it may be in many shards.
func TestAnAxisOfSeveralWindowsIsReadOnce(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "set")
	hours(t, in, "a.csv", sixHourly(20))
	specs := []string{"time=1+1", "time=2+1,name=two", "time=3+2,stride=2,name=three"}
	if _, err := Convert(t.Context(), Settings{Inputs: []string{in}, Output: out, Format: "mmap", ShardSamples: 7, Window: specs, Sync: "none", Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	m, _ := manifestOf(t, out)
	want := m.Windows
	store := &opens{Store: local.NewDir(out, local.SyncNone)}
	if err := window.Views(&plan.Plan{Recipe: map[string]string{window.Key: strings.Join(specs, "\n")}}, store, m); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Windows, want) || store.n != len(m.Shards) {
		t.Errorf("%d shards, %d opened", len(m.Shards), store.n)
	}
}

// TestMergedSetsTellWhichWindowsTheyLeaveOut: some sets have them, or have others.
func TestMergedSetsTellWhichWindowsTheyLeaveOut(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	hours(t, in, "a.csv", sixHourly(10))
	var dirs []string
	for i, windows := range [][]string{{"time=1+1", "time=2+1,name=two"}, {"time=1+1", "time=2+2,name=two", "time=3+1,name=three"}} {
		dirs = append(dirs, filepath.Join(out, string(rune('a'+i))))
		if _, err := Convert(t.Context(), Settings{Inputs: []string{in}, Output: dirs[i], Format: "mmap", Window: windows, Sync: "none", Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var lost []string
	s := MergeSettings{Inputs: dirs, Output: filepath.Join(out, "ab"), Jobs: 1, Sync: "none", Planned: func(p SetsPlan) { lost = p.Windows }}
	if _, err := MergeSets(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	m, _ := manifestOf(t, s.Output)
	if _, ok := m.Windows["window"]; !ok || len(m.Windows) != 1 || !slices.Equal(lost, []string{"three", "two"}) {
		t.Errorf("%v, left out %v", m.Windows, lost)
	}
}
