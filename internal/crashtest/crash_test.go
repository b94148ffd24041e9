//go:build linux && amd64

package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// programs are built once: the tool and what it breaks.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "crashtest-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", programs+string(filepath.Separator),
		"./cmd/shardify", "./cmd/verify", "./internal/crashtest/crashat")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// run returns the exit code and the combined output.
func run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, args[0]), args[1:]...)
	out, err := cmd.CombinedOutput()
	var e *exec.ExitError
	if ctx.Err() != nil {
		t.Fatalf("%v: hangs\n%s", args, out)
	}
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// tree is the content of every file below dir; the private folder only as names
// of temporary files.
func tree(t *testing.T, dir string) (files map[string]string, temps []string) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case strings.HasPrefix(rel, ".shardify/tmp/"), strings.HasPrefix(rel, ".shardify/scratch/"):
			temps = append(temps, rel)
		case !strings.HasPrefix(rel, ".shardify/"):
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			files[rel] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, temps
}

// input makes a small folder of files and an NPZ-like array file by hand.
func input(t *testing.T) (folder, array string) {
	t.Helper()
	dir := t.TempDir()
	folder = filepath.Join(dir, "tree")
	for i := range 12 {
		p := filepath.Join(folder, fmt.Sprintf("c%d", i%2), fmt.Sprintf("%03d.bin", i))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, bytes.Repeat([]byte{byte(i)}, 100+i*37), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	array = filepath.Join(dir, "a.npy")
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 5), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00\x76\x00"), head...)
	for i := range 12 * 5 * 4 {
		b = append(b, byte(i*7))
	}
	if err := os.WriteFile(array, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return folder, array
}

// TestCrashAtEveryCall: kill a conversion right after, and right before, its
// n-th state-changing system call. No shard that stands there may be damaged, and
// the same command again must give the bytes of an unbroken run and leave no
// temporary file. The short form takes every 23rd point.
func TestCrashAtEveryCall(t *testing.T) {
	build(t)
	folder, array := input(t)
	step := 23
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	if code, out := run(t, "crashat", "-n", "0", "true"); code != 0 {
		t.Skipf("skipped: tracing is not permitted here: %s", out)
	}
	total := 0
	shuffle := []string{"--shuffle", "global", "--split", "train=0.6,val=0.4"}
	for _, c := range []struct {
		name, in, format string
		flags            []string
	}{
		{"files-wds", folder, "wds", nil}, {"files-mmap", folder, "mmap", nil}, {"npy-wds", array, "wds", nil}, {"npy-mmap", array, "mmap", nil},
		{"files-wds-shuffled", folder, "wds", shuffle}, {"npy-mmap-shuffled", array, "mmap", append(shuffle, "--scratch", filepath.Join(t.TempDir(), "scratch"))},
		{"npy-mmap-block", array, "mmap", []string{"--shuffle", "block", "--provenance"}},
	} {
		t.Run(c.name, func(t *testing.T) { total += sweep(t, c.in, c.format, step, c.flags) })
	}
	t.Logf("%d kill points, none torn, all resumed to equal bytes", total)
}

func sweep(t *testing.T, in, format string, step int, flags []string) (points int) {
	dir := t.TempDir()
	args := func(out string) []string {
		return append([]string{"shardify", "convert", in, "-o", out, "--format", format, "--shard-samples", "5", "--jobs", "1", "--quiet"}, flags...)
	}
	clean := filepath.Join(dir, "clean")
	if code, out := run(t, args(clean)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	want, _ := tree(t, clean)
	for _, what := range []string{"kill", "before"} {
		for n := 1 + points%step; ; n += step {
			out := filepath.Join(dir, fmt.Sprintf("%s-%d", what, n))
			a := args(out)
			a[0] = filepath.Join(programs, "shardify")
			_, text := run(t, append([]string{"crashat", "-n", fmt.Sprint(n), "-what", what}, a...)...)
			hit := !strings.Contains(text, " nohit ")
			check(t, out, n)
			if code, text := run(t, args(out)...); code != 0 {
				t.Fatalf("point %d (%s): the next run exits %d\n%s", n, what, code, text)
			}
			got, temps := tree(t, out)
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
	code, text := run(t, "verify", out, "--json")
	if code != 0 && code != 3 {
		t.Fatalf("point %d: verify exits %d\n%s", n, code, text)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"type":"problem"`) && !strings.Contains(line, "unfinished") && !strings.Contains(line, "unacknowledged") {
			t.Fatalf("point %d: verify finds damage: %s", n, line)
		}
	}
}
