//go:build linux && amd64

package faulttest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// stopCases are conversions of every format that take long enough to be met in the middle.
func stopCases(t *testing.T) []Case {
	demo := func(name string) []string { return []string{filepath.Join(Root(t), "testdata/demo", name)} }
	many := func(n int, flags ...string) []string {
		return append([]string{"--shard-samples", strconv.Itoa(n)}, flags...)
	}
	tree := Folder(t, 120)
	return []Case{
		{Name: "files-wds", In: []string{tree}, Flags: many(2, "--format", "wds")},
		{Name: "files-mmap", In: []string{tree}, Flags: many(2, "--format", "mmap")},
		{Name: "npz", In: demo("digits.npz"), Flags: many(20)},
		{Name: "hdf5", In: demo("digits.h5"), Flags: many(20)},
		{Name: "parquet", In: demo("digits.parquet"), Flags: many(20)},
		{Name: "root", In: demo("HZZ.root"), Flags: many(40)},
		{Name: "synth", Flags: many(20, "--from", "synth", "--samples", "4000")},
		{Name: "npz-global-split", In: demo("digits.npz"), Flags: many(20, "--shuffle", "global", "--split", "train=0.8,val=0.2")},
		{Name: "synth-global", Flags: many(20, "--from", "synth", "--samples", "2000", "--shuffle", "global")},
	}
}

// TestTermEndsAnyCommandInTime: a TERM at a random moment of convert, work or merge, of any
// format, ends it within 5 seconds with code 75, or finds it done; the same command again
// gives the bytes of an unbroken run. The short form tries 10 moments, the long one 200.
func TestTermEndsAnyCommandInTime(t *testing.T) {
	Build(t)
	trials := 10
	if Long() {
		trials = 200
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 2))
	cases := stopCases(t)
	memory, disk := inMemory(t), t.TempDir()
	type unbroken struct {
		want Files
		took map[string]time.Duration // by command
	}
	known := map[string]*unbroken{}
	limit := time.Minute // where other programs use the processors, too
	if Long() {
		limit = 5 * time.Second
	}
	var times []time.Duration
	codes := map[string]int{}
	for i := range trials {
		base := memory // where it is not the disk that takes the time
		if i%4 == 3 && Long() {
			base = disk
		}
		// Every case and command in turn, from a place that differs from run to run.
		n := i + int(seed%1000)
		c, verb := cases[n%len(cases)], []string{"convert", "work", "merge"}[n/len(cases)%3]
		u := known[c.Name]
		if u == nil {
			whole := filepath.Join(base, "unbroken-"+c.Name)
			Must(t, append([]string{"shardify"}, c.Convert(whole, "--sync", "none")...)...)
			u = &unbroken{took: map[string]time.Duration{}}
			u.want, _ = Tree(t, whole)
			os.RemoveAll(whole)
			known[c.Name] = u
		}
		out := filepath.Join(base, "out")
		args := prepare(t, &c, verb, out)
		if u.took[verb] == 0 {
			other := filepath.Join(base, "other")
			begin := prepare(t, &c, verb, other)
			start := time.Now()
			Must(t, append([]string{"shardify"}, begin...)...)
			u.took[verb] = time.Since(start)
			os.RemoveAll(other)
		}
		after := time.Duration(rng.Int64N(int64(u.took[verb])))
		begun := attempts(out)
		took, code := terminate(t, args, after)
		times = append(times, took)
		what := fmt.Sprintf("%s %s, TERM after %v (seed %d)", verb, c.Name, after, seed)
		switch code {
		case 0, 75:
			codes[strconv.Itoa(code)]++
		case -1:
			codes["before it listens"]++
			if attempts(out) > begun {
				t.Errorf("%s: died of the signal in the middle of its work", what)
			}
		default:
			t.Errorf("%s: exit %d", what, code)
		}
		if took >= limit {
			t.Errorf("%s: took %v", what, took)
		}
		Must(t, append([]string{"shardify"}, args...)...)
		if verb == "work" {
			Must(t, "shardify", "merge", out, "--quiet")
		}
		Same(t, u.want, out, what)
		if _, temps := Tree(t, out); len(temps) > 0 {
			t.Errorf("%s: the next run left %v", what, temps)
		}
		os.RemoveAll(out)
		if t.Failed() {
			return
		}
	}
	slices.Sort(times)
	t.Logf("%d moments, exit codes %v: at most %v from TERM to the end, 99 of 100 within %v; bytes equal the unbroken run", trials, codes, times[len(times)-1], times[len(times)*99/100])
}

// attempts counts the runs that have started their work in a folder.
func attempts(out string) (n int) {
	filepath.WalkDir(filepath.Join(out, ".shardify/attempts"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// prepare brings a folder to where a command has all its work to do, and returns the command.
func prepare(t *testing.T, c *Case, verb, out string) []string {
	t.Helper()
	if verb == "convert" {
		return c.Convert(out)
	}
	Must(t, append([]string{"shardify"}, c.Plan(out)...)...)
	if verb == "merge" {
		Must(t, "shardify", "work", out, "--quiet", "--sync", "none")
	}
	return []string{verb, out, "--quiet"}
}

// terminate runs a command, sends it TERM after a while, and returns how long it took from
// there, with its exit code; -1 if it died of the signal.
func terminate(t *testing.T, args []string, after time.Duration) (time.Duration, int) {
	t.Helper()
	cmd := exec.Command(Program("shardify"), args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	start := time.Now()
	cmd.Process.Signal(syscall.SIGTERM)
	end := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer end.Stop()
	err := cmd.Wait()
	took := time.Since(start)
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code > 0 && code != 75 {
		t.Logf("%v: exit %d\n%s", args, code, said.String())
	}
	return took, cmd.ProcessState.ExitCode()
}
