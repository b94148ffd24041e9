//go:build linux && amd64

package crashtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCrashAtEveryCallOfStage: kill a copy right after, and right before, its n-th
// state-changing system call, and let each of them fail. Where the copy should be
// there may be nothing, or a whole data set; the same command again completes it and
// leaves nothing beside it.
func TestCrashAtEveryCallOfStage(t *testing.T) {
	build(t)
	if code, out := run(t, "crashat", "-n", "0", "true"); code != 0 {
		t.Skipf("skipped: tracing is not permitted here: %s", out)
	}
	step := 61
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	folder, array := input(t)
	dir := t.TempDir()
	old, source := filepath.Join(dir, "old"), filepath.Join(dir, "source")
	for out, in := range map[string]string{old: array, source: folder} {
		if code, text := run(t, "shardify", "convert", in, "-o", out, "--format", "wds", "--shard-samples", "5", "--quiet", "--sync", "none"); code != 0 {
			t.Fatalf("exit %d\n%s", code, text)
		}
	}
	points := 0
	for _, what := range []string{"kill", "before", "ENOSPC", "EIO"} {
		for _, fresh := range []bool{false, true} {
			points += stageSweep(t, old, source, what, fresh, step)
		}
	}
	t.Logf("%d points, no copy torn, all completed", points)
}

func stageSweep(t *testing.T, old, source, what string, fresh bool, step int) (points int) {
	want, _ := tree(t, source)
	before, _ := tree(t, old)
	for n := 1; ; n += step {
		parent := t.TempDir()
		dest := filepath.Join(parent, "copy")
		args := []string{"stage", source, dest, "--jobs", "1", "--quiet"}
		if fresh {
			if code, text := run(t, "shardify", "stage", old, dest, "--quiet", "--sync", "none"); code != 0 {
				t.Fatalf("exit %d\n%s", code, text)
			}
			args = append(args, "--fresh")
		}
		_, text := run(t, append([]string{"crashat", "-n", fmt.Sprint(n), "-what", what, filepath.Join(programs, "shardify")}, args...)...)
		hit := !strings.Contains(text, " nohit ")
		if list, err := os.ReadDir(dest); err == nil && len(list) > 0 {
			got, _ := tree(t, dest)
			if !maps.Equal(want, got) && !(fresh && maps.Equal(before, got)) {
				t.Fatalf("point %d (%s): half a copy: %v", n, what, slices.Sorted(maps.Keys(got)))
			}
		}
		if code, text := run(t, append([]string{"shardify"}, args...)...); code != 0 {
			t.Fatalf("point %d (%s): the next run exits %d\n%s", n, what, code, text)
		}
		got, temps := tree(t, dest)
		if !maps.Equal(want, got) || len(temps) > 0 {
			t.Fatalf("point %d (%s): the next run gives %v %v, want %v", n, what, slices.Sorted(maps.Keys(got)), temps, slices.Sorted(maps.Keys(want)))
		}
		if beside, _ := filepath.Glob(filepath.Join(parent, ".*")); len(beside) > 0 {
			t.Errorf("point %d (%s): left beside the copy: %v", n, what, beside)
		}
		os.RemoveAll(parent)
		if !hit {
			return points
		}
		points++
	}
}
