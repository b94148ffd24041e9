package pipeline

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestTablesOfLabelsMakeTheSameBytes whatever the jobs, the memory and the tasks, and the memory is known before tables are read.
func TestTablesOfLabelsMakeTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		t.Fatal(err)
	}
	var boxes, texts strings.Builder
	boxes.WriteString("id,x,kind\n")
	texts.WriteString("file_name,text\n")
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("%03d.jpg", i)), []byte(strings.Repeat("x", 300+i)), 0o666); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&texts, "%03d.jpg,text %d\n", i, i)
		for k := range i % 5 {
			fmt.Fprintf(&boxes, "%03d,%d,cat%d\n", (i*7)%200, i, k)
		}
	}
	for name, text := range map[string]string{"boxes.csv": boxes.String(), "texts.csv": texts.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	value := fmt.Sprintf("boxes=%s on=id rows=many,%s on=file_name in=.", filepath.Join(dir, "boxes.csv"), filepath.Join(dir, "texts.csv"))
	settings := func(jobs int, memory int64) Settings {
		return Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Jobs: jobs, Memory: memory, ShardSize: 16 << 10,
			Format:  "wds",
			Options: format.Options{"labels": value, "missing": "fill"}}
	}
	var want map[string]string
	for _, memory := range []int64{64 << 20, 1 << 30} {
		for _, jobs := range []int{1, 3} {
			s, known := settings(jobs, memory), int64(0)
			if _, err := Convert(WithHooks(t.Context(), Hooks{Chosen: func(m int64) { known = m }}), s); err != nil {
				t.Fatal(err)
			}
			got := files(t, s.Output)
			if want == nil {
				want = got
			}
			if len(got) < 2 || !maps.Equal(got, want) {
				t.Errorf("%d jobs, %d MiB: other bytes, in %d files", jobs, memory>>20, len(got))
			}
			if known != memory {
				t.Errorf("the memory is %d, want %d", known, memory)
			}
		}
	}
	s := settings(1, 0)
	p, err := Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := Work(t.Context(), s.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Merge(t.Context(), s.Output, Settings{}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(files(t, s.Output), want) {
		t.Error("three tasks: other bytes")
	}
}
