//go:build linux && amd64

package faulttest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// input makes a small folder of files and an array file.
func input(t *testing.T) (folder, array string) {
	t.Helper()
	return Folder(t, 12), NPY(t)
}

// TestCrashAtEveryCall: kill a conversion right after, and right before, its n-th state-changing
// system call. No published shard may be damaged, and the same command again must give the bytes of
// an unbroken run and leave no temporary file. The short form takes every 37th point.
func TestCrashAtEveryCall(t *testing.T) {
	NeedsTrace(t)
	folder, array := input(t)
	step := 37
	if Long() {
		step = 1
	}
	total := 0
	shuffle := []string{"--shuffle", "global", "--split", "train=0.6,val=0.4"}
	rows, truth := filepath.Join(t.TempDir(), "rows.csv"), filepath.Join(t.TempDir(), "truth.csv")
	a, b := "k,x\n", "k,e\n"
	for i := range 90 {
		a += fmt.Sprintf("%d,%d.5\n", i*7%31, i)
		b += fmt.Sprintf("%d,%d\n", 89-i, i)
	}
	if err := errors.Join(os.WriteFile(rows, []byte(a), 0o644), os.WriteFile(truth, []byte(b), 0o644)); err != nil {
		t.Fatal(err)
	}
	grid, err := filepath.Abs("../../readers/hdf5/testdata/grid_a.nc")
	if err != nil {
		t.Fatal(err)
	}
	windows := []string{"--columns", "plain,time", "--window", "time=2+1,lead=1d", "--static", "lsm"}
	grouped := []string{"--group-rows", "k", "--join", truth + " on=k"}
	for _, c := range []struct {
		name, in, format string
		flags            []string
	}{
		{"rows-mmap-grouped", rows, "mmap", grouped}, {"rows-wds-listed", rows, "wds", []string{"--group-rows", "k", "--samples-from", truth}},
		{"grid-mmap-windows", grid, "mmap", windows}, {"grid-wds-windows", grid, "wds", append(windows, "--shuffle", "global")}, {"grid-mds-windows", grid, "mds", windows},
		{"files-wds", folder, "wds", nil}, {"files-mmap", folder, "mmap", nil}, {"npy-wds", array, "wds", nil}, {"npy-mmap", array, "mmap", nil},
		{"pairs-wds", pairFolder(t, 12), "wds", []string{"--pair", "image=images,mask=masks.tar:_m"}},
		{"files-wds-shuffled", folder, "wds", shuffle}, {"npy-mmap-shuffled", array, "mmap", append(shuffle, "--scratch", filepath.Join(t.TempDir(), "scratch"))},
		{"rows-parquet-split", rows, "parquet", []string{"--split", "train=0.6,val=0.4"}}, {"rows-tfrecord", rows, "tfrecord", []string{"--cast", "x=f32"}},
		{"rows-arrow", rows, "arrow", []string{"--arrow-form", "stream", "--split", "train=0.6,val=0.4"}}, {"rows-arrayrecord", rows, "arrayrecord", []string{"--cast", "x=f32"}},
		{"npy-mmap-block", array, "mmap", []string{"--shuffle", "block", "--provenance"}},
	} {
		t.Run(c.name, func(t *testing.T) { total += sweep(t, c.in, c.format, step, c.flags) })
	}
	t.Logf("%d kill points, none torn, all resumed to equal bytes", total)
}

func sweep(t *testing.T, in, format string, step int, flags []string) (points int) {
	dir := Fast(t)
	args := func(out string) []string {
		return append([]string{"shardify", "convert", in, "-o", out, "--format", format, "--shard-samples", "5", "--jobs", "1", "--quiet"}, flags...)
	}
	clean := filepath.Join(dir, "clean")
	if code, out := Run(t, args(clean)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	want, _ := Tree(t, clean)
	for _, what := range []string{"kill", "before"} {
		for n := 1 + points%step; ; n += step {
			out := filepath.Join(dir, fmt.Sprintf("%s-%d", what, n))
			a := args(out)
			a[0] = Program("shardify")
			_, text := Run(t, append([]string{"crashat", "-n", fmt.Sprint(n), "-what", what}, a...)...)
			hit := !strings.Contains(text, " nohit ")
			check(t, out, n)
			if code, text := Run(t, args(out)...); code != 0 {
				t.Fatalf("point %d (%s): the next run exits %d\n%s", n, what, code, text)
			}
			got, temps := Tree(t, out)
			if !maps.Equal(want, got) {
				t.Fatalf("point %d (%s): other bytes after the next run: %v, want %v", n, what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
			for i, f := range flags {
				if f == "--scratch" {
					if left, _ := os.ReadDir(flags[i+1]); len(left) > 0 {
						t.Errorf("point %d (%s): left %v in the scratch folder", n, what, left)
					}
				}
			}
			if len(temps) > 0 {
				t.Errorf("point %d (%s): left %v", n, what, temps)
			}
			os.RemoveAll(out)
			if !hit {
				break
			}
			points++
		}
	}
	t.Logf("%s: %d points", format, points)
	return points
}

// check verifies what a crash left: verify may say that the set is unfinished,
// but never that something in it is damaged.
func check(t *testing.T, out string, n int) {
	t.Helper()
	if _, err := os.Stat(out); err != nil {
		return
	}
	code, text := Run(t, "verify", out, "--json")
	if code != 0 && code != 3 {
		t.Fatalf("point %d: verify exits %d\n%s", n, code, text)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"type":"problem"`) && !strings.Contains(line, "unfinished") && !strings.Contains(line, "unacknowledged") {
			t.Fatalf("point %d: verify finds damage: %s", n, line)
		}
	}
}
