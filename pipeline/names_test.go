package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// TestClassesOfNames: a class is made of the samples' names. All splits have one table of classes in sorted order, for
// any jobs, memory and tasks, and an extension keeps it.
func TestClassesOfNames(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("train/dog_%d.txt", i), fmt.Sprintf("train/ähre_%d.txt", i))
		if i < 5 {
			names = append(names, fmt.Sprintf("val/cat_%d.txt", i))
		}
	}
	s := Settings{Inputs: []string{tree(t, names...)}, Sync: "none", ShardSamples: 7, Define: []string{`cls=regex(key, "([^/]+)_")`}, Encode: []string{"cls"}}
	var first string
	for _, c := range []struct {
		jobs   int
		memory int64
		tasks  int
	}{{1, 0, 0}, {4, 16 << 20, 0}, {2, 0, 3}} {
		s.Output, s.Jobs, s.Memory = filepath.Join(t.TempDir(), "out"), c.jobs, c.memory
		convertBy(t, s, c.tasks)
		all := ""
		for _, split := range []string{"train", "val"} {
			m, text := manifestOf(t, filepath.Join(s.Output, split))
			if labels := labelsOf(m, "cls"); labels != "cat\ndog\nähre" {
				t.Fatalf("%s has the labels %q", split, labels)
			}
			all += bytesOf(t, filepath.Join(s.Output, split)) + string(text)
		}
		if first == "" {
			first = all
		}
		if all != first {
			t.Errorf("%+v makes other bytes", c)
		}
	}
	s.Inputs, s.Output, s.ShardSamples, s.Jobs, s.Memory = []string{filepath.Join(s.Inputs[0], "train")}, filepath.Join(t.TempDir(), "one"), 0, 0, 0
	convertBy(t, s, 0)
	more := func(names ...string) error {
		_, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{tree(t, names...)}, Sync: "none"}, false)
		return err
	}
	if err := more("ähre_100.txt", "ähre_101.txt"); err != nil {
		t.Fatal(err)
	}
	if m, _ := manifestOf(t, s.Output); m.Samples != 62 || labelsOf(m, "cls") != "dog\nähre" {
		t.Errorf("%d samples of %q", m.Samples, labelsOf(m, "cls"))
	}
	if err := more("owl_1.txt", "dog_200.txt"); err == nil || !strings.Contains(err.Error(), `the value "owl" of cls was not there`) {
		t.Error(err)
	}
}

// convertBy converts, in one process or by tasks.
func convertBy(t *testing.T, s Settings, tasks int) {
	t.Helper()
	if tasks == 0 {
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := Plan(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		if _, err := Work(t.Context(), s.Output, Task{Task: i, Tasks: tasks}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Merge(t.Context(), s.Output, Settings{}); err != nil {
		t.Fatal(err)
	}
}

func labelsOf(m *index.Manifest, field string) string {
	if k := shardify.FieldIndex(m.Schema, field); k >= 0 {
		return m.Schema[k].Attrs["labels"]
	}
	return ""
}

// TestNamesThatRowsLack: rows have no names of their own, nor have sequences; a field key is one like others.
func TestNamesThatRowsLack(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(csv, []byte("key,v\nA1,1\nB2,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in     string
		change func(*Settings)
		want   string
	}{
		{csv, func(s *Settings) { s.Define = []string{"cls=path(0)"} }, "these samples have none"},
		{csv, func(s *Settings) { s.Where = []string{"key() == 'a'"} }, "these samples have none"},
		{csv, func(s *Settings) { s.Define = []string{"cls=lower(key)"} }, `write field("key") or key()`},
		{csv, func(s *Settings) { s.Set = []string{"cls=lower(key)"} }, "--define 'cls=lower(key)' does so"},
		{csv, func(s *Settings) { s.Define = []string{"cls:i8=lower(field('key'))"} }, "--encode cls makes codes of it"},
		{csv, func(s *Settings) { s.Where = []string{"lower(field('key'))"} }, "is a text, not a condition"},
		{csv, func(s *Settings) { s.Define, s.Set = []string{"cls=lower(field('key'))"}, []string{`x="lower(key)"`} }, ""},
		{csv, func(s *Settings) { s.Define, s.Columns = []string{"cls=lower(field('key'))"}, []string{"v"} }, ""},
		{tree(t, "a/b.txt"), func(s *Settings) { s.Define, s.Columns = []string{"cls=lower(key)"}, []string{"txt"} }, ""},
		{tree(t, "a/b.txt"), func(s *Settings) { s.Where = []string{"path(0) == 'a' && len(key()) == 3"} }, ""},
	} {
		s := Settings{Inputs: []string{c.in}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none"}
		c.change(&s)
		if _, err := Convert(t.Context(), s); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v %+v: %v, want %s", s.Define, s.Where, err, c.want)
		}
	}
}
