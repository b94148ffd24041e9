package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/programs"
)

// TestResultsThatCannotBeWrittenAreAFailure: of every command that has results.
func TestResultsThatCannotBeWrittenAreAFailure(t *testing.T) {
	full, _ := programs.LostStreams(t)
	dir := t.TempDir()
	in, set, planned := filepath.Join(dir, "in.npz"), filepath.Join(dir, "set"), filepath.Join(dir, "planned")
	try(makeNPZ([]string{in, "20"}))
	wait(t, start(t, "convert", in, "-o", set, "--sync", "none"), 0)
	wait(t, start(t, "plan", in, "-o", planned), 0)
	for _, args := range [][]string{
		{"--help"}, {"help", "convert"}, {"formats"}, {"version"}, {"--version"}, {"completion", "bash"},
		{"inspect", in}, {"inspect", in, "--json"}, {"inspect", in, "--stats"}, {"inspect", set}, {"inspect", set, "--sample", "0"}, {"verify", set}, {"verify", set, "--json"},
		{"convert", in, "-o", set}, {"convert", in, "-o", filepath.Join(dir, "new"), "--sync", "none"}, {"convert", in, "-o", filepath.Join(dir, "dry"), "--dry-run"},
		{"plan", in, "-o", planned}, {"status", planned}, {"status", planned, "--json"}, {"gc", planned}, {"work", planned}, {"merge", planned},
		{"submit", "slurm", filepath.Join(dir, "planned")}, {"stage", set, filepath.Join(dir, "staged")},
	} {
		c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify"}, args...)}
		var said strings.Builder
		c.Stdout, c.Stderr = full, &said
		c.Run()
		if c.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "standard output: write /dev/stdout: no space left on device") {
			t.Errorf("%v: exit code %d: %s", args, c.ProcessState.ExitCode(), said.String())
		}
	}
}

// TestCommandsEndQuietlyWhenNobodyReads: with the code of SIGPIPE, and the current step done or not
// started: nothing is half published, and status knows that it ended.
func TestCommandsEndQuietlyWhenNobodyReads(t *testing.T) {
	dir := t.TempDir()
	in, set, planned := filepath.Join(dir, "in.npz"), filepath.Join(dir, "set"), filepath.Join(dir, "planned")
	try(makeNPZ([]string{in, "20"}))
	wait(t, start(t, "plan", in, "-o", planned), 0)
	run := func(both bool, args ...string) (code int, said string) {
		r, w, err := os.Pipe()
		try(err)
		r.Close()
		defer w.Close()
		var b strings.Builder
		c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify"}, args...), Stdout: w, Stderr: &b}
		if both {
			c.Stderr = w
		}
		c.Run()
		return c.ProcessState.ExitCode(), b.String()
	}
	for _, args := range [][]string{{"--help"}, {"formats"}, {"inspect", in}, {"inspect", in, "--json"}, {"inspect", in, "--stats"}, {"convert", in, "-o", set}, {"verify", set}, {"work", planned}} {
		if code, said := run(false, args...); code != 141 || strings.Contains(said, "shardify:") || strings.Contains(said, "pipe") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
	for _, dir := range []string{set, planned} {
		wait(t, start(t, "verify", dir), map[string]int{set: 0, planned: 3}[dir])
	}
	wait(t, start(t, "merge", planned), 0)
	if code, _ := run(false, "convert", in, "-o", set, "--columns", "z"); code != 2 {
		t.Errorf("wrong usage: exit code %d", code)
	}
	broken := filepath.Join(dir, "broken")
	if code, _ := run(true, "convert", in, "-o", broken); code != 141 {
		t.Errorf("without anybody for the notes either: exit code %d", code)
	}
	wait(t, start(t, "convert", in, "-o", broken, "-q"), 0)
	if fmt.Sprint(tree(broken)) != fmt.Sprint(tree(set)) {
		t.Errorf("after a broken run %v, else %v", names(tree(broken)), names(tree(set)))
	}
}

// TestNothingFromAnInputReachesTheTerminalRaw: names of files, of fields, of classes.
func TestNothingFromAnInputReachesTheTerminalRaw(t *testing.T) {
	const evil = "a\x1b]0;owned\x07\nhint: rm -rf x\u202e\x9b2J"
	dir := t.TempDir()
	photos := filepath.Join(dir, evil)
	for _, class := range []string{"one" + evil, "two" + evil} {
		d := filepath.Join(photos, class)
		try(os.MkdirAll(d, 0o777))
		for _, name := range []string{"x" + evil + ".jpg", "x" + evil + ".txt", "y.weird" + evil} {
			try(os.WriteFile(filepath.Join(d, name), []byte("text"), 0o666))
		}
	}
	npz := filepath.Join(dir, "n"+evil+".npz")
	try(makeNPZ([]string{npz, "9"}))
	set := filepath.Join(dir, "out"+evil)
	for _, args := range [][]string{
		{"inspect", photos}, {"inspect", npz}, {"convert", photos, "-o", set}, {"verify", set}, {"inspect", set}, {"inspect", set, "--sample", "0"}, {"status", set}, {"gc", set},
		{"inspect", set, "--stats"}, {"inspect", filepath.Join(dir, "no"+evil)}, {"convert", npz, "-o", set}, {"convert", npz, "-o", filepath.Join(dir, "x"), "--columns", evil}, {evil}, {"convert", "--" + evil},
		{"convert", npz, "-o", filepath.Join(dir, "x"), "--where", evil}, {"submit", "slurm", set}, {"stage", set, filepath.Join(dir, "staged"+evil)},
	} {
		for _, flag := range []string{"", "--json"} {
			if testing.Short() && args[0] != "convert" {
				continue
			}
			if flag != "" {
				args = append(args, flag)
			}
			c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify"}, args...)}
			var out, said strings.Builder
			c.Stdout, c.Stderr = &out, &said
			c.Run()
			raw := said.String()
			if flag == "" {
				raw += out.String()
			}
			for _, bad := range []string{"\x1b", "\x07", "\nhint: rm", "\u202e", "\x9b"} {
				if strings.Contains(raw, bad) {
					t.Errorf("%q: %q is in %q", args, bad, raw)
				}
			}
			for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
				if flag != "" && line != "" && !json.Valid([]byte(line)) {
					t.Errorf("%q: not JSON: %q", args, line)
				}
			}
		}
	}
}

// TestWhatIsNoRegularFileIsRefusedAtOnce: in place of any file of a data set, by every
// command that reads one.
func TestWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.npz")
	try(makeNPZ([]string{in, "20"}))
	kinds := map[string]func(name, real string) error{
		"a named pipe":    func(name, _ string) error { return syscall.Mkfifo(name, 0o666) },
		"a symbolic link": func(name, real string) error { return os.Symlink(real, name) },
		"a folder":        func(name, _ string) error { return os.Mkdir(name, 0o777) },
	}
	for _, format := range []string{"mmap", "wds"} {
		set := filepath.Join(dir, format)
		wait(t, start(t, "convert", in, "-o", set, "--format", format, "--sync", "none"), 0)
		sound := filepath.Join(dir, "sound-"+format)
		wait(t, start(t, "convert", in, "-o", sound, "--format", format, "--sync", "none"), 0)
		for _, name := range names(tree(set)) {
			if strings.HasPrefix(name, ".") || name == "index.json" {
				continue
			}
			for kind, replace := range kinds {
				if testing.Short() && kind != "a named pipe" {
					continue
				}
				file, real := filepath.Join(set, name), filepath.Join(dir, "real")
				try(os.Rename(file, real))
				try(replace(file, real))
				for _, args := range [][]string{
					{"verify", set}, {"stage", set, filepath.Join(dir, "staged"+name+kind)}, {"inspect", set, "--sample", "0"}, {"convert", set, "-o", filepath.Join(dir, "again")},
					{"merge-sets", set, sound, "-o", filepath.Join(dir, "merged")}, {"bench", set, "--epochs", "1"},
				} {
					began := time.Now()
					c := start(t, args...)
					c.Wait()
					said := fmt.Sprint(c.Stderr)
					if code := c.ProcessState.ExitCode(); code != 1 && code != 3 && !(code == 0 && args[0] == "inspect") || time.Since(began) > 30*time.Second {
						t.Errorf("%v with %s as %s: exit code %d: %s", args, name, kind, code, said)
					}
				}
				try(os.Remove(file))
				try(os.Rename(real, file))
			}
		}
		link := filepath.Join(dir, "link-"+format) // a folder may be one
		try(os.Symlink(set, link))
		wait(t, start(t, "verify", link), 0)
		wait(t, start(t, "stage", link, filepath.Join(dir, "staged-"+format)), 0)
	}
}
