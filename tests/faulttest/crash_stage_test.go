//go:build linux && amd64

package faulttest

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
	NeedsTrace(t)
	step := 61
	if Long() {
		step = 1
	}
	folder, array := input(t)
	dir := t.TempDir()
	old, source := filepath.Join(dir, "old"), filepath.Join(dir, "source")
	for out, in := range map[string]string{old: array, source: folder} {
		if code, text := Run(t, "shardify", "convert", in, "-o", out, "--format", "wds", "--shard-samples", "5", "--quiet", "--sync", "none"); code != 0 {
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
	want, _ := Tree(t, source)
	before, _ := Tree(t, old)
	base := Fast(t)
	for n := 1; ; n += step {
		parent := filepath.Join(base, fmt.Sprint(n))
		if err := os.Mkdir(parent, 0o777); err != nil {
			t.Fatal(err)
		}
		dest := filepath.Join(parent, "copy")
		args := []string{"stage", source, dest, "--jobs", "1", "--quiet"}
		if fresh {
			if code, text := Run(t, "shardify", "stage", old, dest, "--quiet", "--sync", "none"); code != 0 {
				t.Fatalf("exit %d\n%s", code, text)
			}
			args = append(args, "--fresh")
		}
		_, text := Run(t, append([]string{"crashat", "-n", fmt.Sprint(n), "-what", what, Program("shardify")}, args...)...)
		hit := !strings.Contains(text, " nohit ")
		if list, err := os.ReadDir(dest); err == nil && len(list) > 0 {
			got, _ := Tree(t, dest)
			if !maps.Equal(want, got) && !(fresh && maps.Equal(before, got)) {
				t.Fatalf("point %d (%s): half a copy: %v", n, what, slices.Sorted(maps.Keys(got)))
			}
		}
		if code, text := Run(t, append([]string{"shardify"}, args...)...); code != 0 {
			t.Fatalf("point %d (%s): the next run exits %d\n%s", n, what, code, text)
		}
		got, temps := Tree(t, dest)
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
