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

// TestCrashAtEveryCallOfIndex: the index of tars of others is killed, or fails, at each system call that changes
// something beside them. The tars are a set at every moment, with the old index, the new one or none; the same
// command again gives the bytes of an unbroken run and leaves nothing else.
func TestCrashAtEveryCallOfIndex(t *testing.T) {
	NeedsTrace(t)
	folder, _ := input(t)
	dir := Fast(t)
	made, tars := filepath.Join(dir, "made"), filepath.Join(dir, "tars")
	if code, text := Run(t, "shardify", "convert", folder, "-o", made, "--format", "wds", "--shard-samples", "5", "--quiet", "--sync", "none"); code != 0 {
		t.Fatalf("exit %d\n%s", code, text)
	}
	list, err := filepath.Glob(filepath.Join(made, "*.tar"))
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	if err := os.Mkdir(tars, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if err := os.Rename(name, filepath.Join(tars, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	kept, points, step := filepath.Join(tars, "shardify.tars"), 0, 4
	if Long() {
		step = 1
	}
	run := []string{"shardify", "index", tars, "--quiet"}
	if code, text := Run(t, run...); code != 0 {
		t.Fatalf("exit %d\n%s", code, text)
	}
	want, _ := Tree(t, tars)
	for _, what := range []string{"kill", "before", "ENOSPC", "EIO"} {
		for _, old := range []bool{false, true} {
			for n := 1; ; n += step {
				if !old {
					os.Remove(kept)
				}
				_, text := Run(t, "crashat", "-n", fmt.Sprint(n), "-what", what, "-under", tars, Program("shardify"), "index", tars, "--quiet")
				if code, text := Run(t, "shardify", "verify", tars, "--quiet"); code != 0 {
					t.Fatalf("point %d (%s): verify exits %d\n%s", n, what, code, text)
				}
				if code, text := Run(t, run...); code != 0 {
					t.Fatalf("point %d (%s): the next run exits %d\n%s", n, what, code, text)
				}
				got, temps := Tree(t, tars)
				if !maps.Equal(want, got) || len(temps) > 0 {
					t.Fatalf("point %d (%s): the next run gives %v %v, want %v", n, what, slices.Sorted(maps.Keys(got)), temps, slices.Sorted(maps.Keys(want)))
				}
				if strings.Contains(text, " nohit ") {
					break
				}
				points++
			}
		}
	}
	if points < 8 {
		t.Errorf("only %d points", points)
	}
	t.Logf("%d points, no index torn", points)
}
