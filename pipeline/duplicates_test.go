package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/verify"
)

// TestDropDuplicates drops texts that are there twice, over all inputs and in front of what is
// done to them: in one process and in tasks; with splits and shuffles; by a field that is no
// longer there in the end.
func TestDropDuplicates(t *testing.T) {
	dir := t.TempDir()
	var in []string
	for k := range 3 {
		var lines strings.Builder
		for i := range 500 {
			fmt.Fprintf(&lines, `{"n":%d,"text":"text %d"}`+"\n", k*500+i, (i*i+k)%701)
		}
		at := filepath.Join(dir, fmt.Sprintf("%d.jsonl", k))
		if err := os.WriteFile(at, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		in = append(in, at)
	}
	unique := map[int]bool{}
	for i := range 1500 {
		unique[(i%500*(i%500)+i/500)%701] = true
	}
	convert := func(change func(*Settings)) (string, *Result) {
		t.Helper()
		s := Settings{Inputs: in, Output: filepath.Join(t.TempDir(), "out"), Jobs: 2, Sync: "none", ShardSize: 4096, DropDuplicates: []string{"text"}}
		change(&s)
		r, err := Convert(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if report, err := Verify(t.Context(), []string{s.Output}, verify.Options{}, Hooks{}); err != nil || report.Err() != nil {
			t.Fatal(err, report)
		}
		return s.Output, r
	}
	one, r := convert(func(*Settings) {})
	if r.Manifest.Samples != int64(len(unique)) || r.Manifest.Dropped != int64(1500-len(unique)) {
		t.Errorf("%d samples and %d dropped, want %d", r.Manifest.Samples, r.Manifest.Dropped, len(unique))
	}
	want := fmt.Sprintf("[{duplicates by text %d of 1500 samples}]", 1500-len(unique))
	if got := fmt.Sprint(r.Manifest.Surveys); got != want {
		t.Errorf("the manifest says %s, want %s", got, want)
	}
	for _, change := range []func(*Settings){
		func(s *Settings) { s.Columns = []string{"n"} },
		func(s *Settings) { s.Split = "train=0.5,val=0.5" },
		func(s *Settings) { s.Shuffle = "global" },
	} {
		if _, r := convert(change); r.Manifest.Samples != int64(len(unique)) {
			t.Errorf("%d samples, want %d", r.Manifest.Samples, len(unique))
		}
	}
	tasks := Settings{Inputs: in, Output: filepath.Join(t.TempDir(), "out"), Jobs: 1, Sync: "none", ShardSize: 4096, DropDuplicates: []string{"text"}}
	p, err := Plan(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, i := range []int{2, 0, 1} {
		if _, err := Work(t.Context(), tasks.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Merge(t.Context(), tasks.Output, Settings{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, one, tasks.Output)
	more := tasks
	more.Inputs, more.Output = in[:1], ""
	if _, err := Extend(t.Context(), one, more, false); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("a set of unknown duplicates is extended: %v", err)
	}
}
