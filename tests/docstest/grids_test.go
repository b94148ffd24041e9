package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestGridsTrain runs the commands of docs/tutorials/recipe-grids.md unchanged. Where networks can be
// trained, they take a step; with SHARDIFY_LONG=1 they take some more, and learn.
func TestGridsTrain(t *testing.T) {
	root, python, work, run := example(t)
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(work, "examples")); err != nil {
		t.Fatal(err)
	}
	steps, least := "1", 1.0
	if os.Getenv("SHARDIFY_LONG") != "" {
		steps, least = "12", 0.7
	}
	t.Setenv("OMP_NUM_THREADS", "1") // threads that wait for each other cost the time of all
	outcome := regexp.MustCompile(steps + ` steps, loss ([0-9.]+) to ([0-9.]+)\n`)
	why := untrained(python)
	trained := 0
	for _, b := range blocks(t, filepath.Join(root, "docs/tutorials/recipe-grids.md")) {
		if b.lang != "sh" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSpace(b.text), "\n") {
			line = strings.Replace(line, "python3", python, 1)
			train := strings.Contains(line, "train.py")
			if train && why != "" {
				continue
			}
			if train {
				line += " " + steps
			}
			out := run("sh", "-c", line)
			if !train {
				continue
			}
			m := outcome.FindStringSubmatch(out)
			if m == nil {
				t.Fatalf("%s: %s", line, out)
			}
			first, _ := strconv.ParseFloat(m[1], 64)
			last, _ := strconv.ParseFloat(m[2], 64)
			if trained++; !(first > 0.2 && last <= least*first) {
				t.Errorf("%s: the loss goes from %v to %v", line, first, last)
			}
		}
	}
	if out := run("./shardify", "inspect", "era5"); !strings.Contains(out, "238 windows of 1+1 rows") {
		t.Errorf("a pair crosses the step that is missing:\n%s", out)
	}
	if out := run("./shardify", "inspect", "patches"); !strings.Contains(out, "162 samples") {
		t.Errorf("patches of 6 volumes:\n%s", out)
	}
	if why != "" {
		t.Skip(why)
	}
	if trained != 2 {
		t.Errorf("%d networks were trained", trained)
	}
}
