package pipeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/questions/ask"
)

// TestJoinedBytesDoNotDependOnMemory: tables in memory and in scratch files, in one process and
// in tasks of both kinds, with the same counts of what has no partner.
func TestJoinedBytesDoNotDependOnMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // others make scratch folders, too
	dir := tableOf(t, "abs(y) % 40")
	tables := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	write := func(name, head string, line func(k int) string, keys []int) string {
		text := head + "\n"
		for _, k := range keys {
			text += line(k) + "\n"
		}
		at := filepath.Join(tables, name)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	rising := make([]int, 60)
	for i := range rising {
		rising[i] = i + 5
	}
	truth := write("truth.csv", "k,e,name", func(k int) string { return fmt.Sprintf("%d,%d.5,n%d", k, k, k) }, rising)
	geo := write("geo.csv", "k,x", func(k int) string { return fmt.Sprintf("%d,%d.25", k, k*k) }, rng.Perm(70))
	two := write("two.csv", "k,m,x", func(k int) string { return fmt.Sprintf("%d,%d,%d.5", k/70, k%70, k) }, rng.Perm(2800))
	twice := write("twice.csv", "k,x", func(k int) string { return fmt.Sprintf("%d,1", k%30) }, rng.Perm(31))
	settings := func(share int64) Settings {
		ask.TableShare = share
		return Settings{Inputs: []string{dir}, Output: filepath.Join(t.TempDir(), "out"), GroupRows: "hits=k", Define: []string{"kk:i64=abs(y) % 40"}, ShardSamples: 7, Jobs: 2, Memory: 256 << 20, Sync: "none",
			Join: []string{"t=" + truth + " on=k missing=fill", "g=" + geo + " on=y=k missing=drop", "two=" + two + " on=k,y=m missing=drop"}}
	}
	defer func() { ask.TableShare = 4 }()
	one := settings(4)
	r, err := Convert(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	want, counts := bytesOf(t, one.Output), fmt.Sprint(r.Manifest.Counts)
	if !slices.Contains(r.Manifest.Counts, shardify.Count{Name: "join truth.csv: rows that nothing used", N: 25}) || !slices.Contains(r.Manifest.Counts, shardify.Count{Name: "join truth.csv: samples without a row", N: 5}) {
		t.Errorf("counts %s", counts)
	}
	file := settings(1 << 30)
	if r, err = Convert(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if bytesOf(t, file.Output) != want || fmt.Sprint(r.Manifest.Counts) != counts {
		t.Errorf("tables in files make other bytes, counts %v, want %s", r.Manifest.Counts, counts)
	}

	tasks := settings(4)
	tasks.Scratch = filepath.Join(t.TempDir(), "scratch")
	if err := os.Mkdir(tasks.Scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Plan(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for i := range 3 {
		if ask.TableShare = 4; i == 1 {
			ask.TableShare = 1 << 30
		}
		if _, err := Work(t.Context(), tasks.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Merge(t.Context(), tasks.Output, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if bytesOf(t, tasks.Output) != want || fmt.Sprint(m.Manifest.Counts) != counts {
		t.Errorf("tasks make other bytes, counts %v, want %s", m.Manifest.Counts, counts)
	}

	for _, share := range []int64{4, 1 << 30} {
		s := settings(share)
		s.Join = []string{twice + " on=y=k missing=drop"}
		if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), "a key must have one row") {
			t.Errorf("a key in two rows: %v", err)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(os.TempDir(), "shardify-join-*")); len(list) > 0 {
		t.Errorf("scratch folders stay: %v", list)
	}
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		if name, _ := os.Readlink(fd); strings.Contains(name, "shardify-join-") {
			t.Errorf("%s is open", name)
		}
	}
}
