package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// under runs the program in dir, below a command line that sets limits or watches it,
// and returns its exit code and what it said.
func under(t *testing.T, dir, before string, args ...string) (int, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "shardify") // by its name the program knows what it is
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", append([]string{"-c", before + ` "$0" "$@"`, name}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GORACE="+quickExit)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// says checks an exit code and words of the output.
func says(t *testing.T, code int, text string, want int, words ...string) {
	t.Helper()
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q", w)
		}
	}
	if t.Failed() {
		t.Fatal(text)
	}
}

// blobs makes n files of a size.
func blobs(t *testing.T, dir string, n, size int) string {
	t.Helper()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("%04d.bin", i)), bytes.Repeat([]byte{byte(i)}, size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// TestADiskThatFillsUp: the error names the limit, what was written and how to go on, 75 is
// the code if that is wanted, and the same command then completes the set.
func TestADiskThatFillsUp(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		fill    func(dir string)
		want    string
	}{
		"bytes": {"size=24m", func(dir string) { os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 22<<20), 0o666) }, "is full"},
		"inodes": {"size=24m,nr_inodes=64", func(dir string) {
			for i := range 64 {
				os.WriteFile(filepath.Join(dir, fmt.Sprint("fill", i)), nil, 0o666)
			}
		}, "no inodes left"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			blobs(t, dir, 8, 1<<20)
			out := filepath.Join(dir, "out")
			os.Mkdir(out, 0o777)
			if err := syscall.Mount("shardify-test", out, "tmpfs", 0, c.options); err != nil {
				t.Skip("mount needs rights that are not there: ", err)
			}
			defer syscall.Unmount(out, 0)
			code, text := under(t, dir, "exec", "plan", "in", "-o", "out/set", "--shard-samples", "2")
			says(t, code, text, 0)
			c.fill(out)
			code, text = under(t, dir, "exec", "work", "out/set")
			says(t, code, text, 1, "no space left on device", "out/set", c.want, "then continue with: ", " work out/set\n")
			code, text = under(t, dir, "exec", "work", "out/set", "--retry-full")
			says(t, code, text, 75, "no space left on device")
			fills, _ := filepath.Glob(filepath.Join(out, "fill*"))
			for _, f := range fills {
				os.Remove(f)
			}
			code, text = under(t, dir, "exec", "work", "out/set")
			says(t, code, text, 0)
			code, text = under(t, dir, "exec", "merge", "out/set")
			says(t, code, text, 0, "done: 8 samples in 4 shards")
		})
	}
}

// TestLimitsOfTheProcess are named by the command that sets them.
func TestLimitsOfTheProcess(t *testing.T) {
	dir := t.TempDir()
	blobs(t, dir, 4, 1<<20)
	code, text := under(t, dir, "ulimit -f 2048; exec", "convert", "in", "-o", "a")
	says(t, code, text, 1, "file too large", "1 MiB (ulimit -f)", "--shard-size")
	// Files that the caller of the tests left open are not to count.
	code, text = under(t, dir, "exec 3<&- 4<&- 5<&- 6<&- 7<&-; ulimit -n 8; exec", "convert", "in", "-o", "b")
	says(t, code, text, 1, "too many open files", "8 files open (ulimit -n)")
}

// stalled runs a command while calls on a file are held, and returns what it says when it
// notices. A tracer holds a call for all of its time, even that of a process that has ended;
// on a busy machine so short a time may pass unnoticed, then it is a longer one. Each attempt
// has names of its own: args gets its number.
func stalled(t *testing.T, dir, calls string, args func(n string) (file string, list []string)) string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace to hold a call with")
	}
	for n, seconds := range []int{2, 8, 30} {
		file, list := args(strconv.Itoa(n))
		hold := fmt.Sprintf("exec strace -f --seccomp-bpf -qq -o /dev/null -P %s -P %s -e trace=%s -e inject=%[3]s:delay_enter=%d", filepath.Join(dir, file), file, calls, seconds*1e6)
		code, text := under(t, dir, hold, append(list, "--stall", "500ms")...)
		if strings.Contains(text, "ptrace") {
			t.Skip("no right to trace: ", text)
		}
		if code == 0 {
			continue
		}
		says(t, code, text, 75, "nothing was read or written for 500ms", "the same command continues from there")
		code, more := under(t, dir, "exec", append(list, "--stall", "500ms")...)
		says(t, code, more, 0)
		return text
	}
	t.Fatal("30 s without progress were not noticed")
	return ""
}

// TestStallEndsTheProcess: a read that does not come back is named, and 75 the code.
func TestStallEndsTheProcess(t *testing.T) {
	dir := t.TempDir()
	blobs(t, dir, 4, 1<<20)
	text := stalled(t, dir, "read", func(n string) (string, []string) {
		return "in/0002.bin", []string{"convert", "in", "-o", "out" + n}
	})
	says(t, 75, text, 75, "  reading files of in from 0002.bin on, samples [2, 3), for ", "the storage does not answer")
}

// TestStallsOfFinishedSets: copying, merging, and publishing an extension end as a conversion does,
// and name the file; waiting for another process that copies is not a stall.
func TestStallsOfFinishedSets(t *testing.T) {
	dir := t.TempDir()
	set := func(name string) {
		if err := makeNPZ([]string{filepath.Join(dir, name+".npz"), "300"}); err != nil {
			t.Fatal(err)
		}
		code, text := under(t, dir, "exec", "convert", name+".npz", "-o", name, "--sync", "none")
		says(t, code, text, 0)
	}
	set("a")
	set("b")
	const shard = "/shard-000000.safetensors"
	text := stalled(t, dir, "pread64", func(n string) (string, []string) {
		return "a" + shard, []string{"stage", "a", "copy" + n}
	})
	says(t, 75, text, 75, "  copying "+dir+"/a"+shard)
	text = stalled(t, dir, "copy_file_range", func(n string) (string, []string) {
		return "b" + shard, []string{"merge-sets", "a", "b", "-o", "both" + n, "--unchecked"}
	})
	says(t, 75, text, 75, "  bringing b"+shard+" to shard-000001")
	text = stalled(t, dir, "linkat", func(n string) (string, []string) {
		set("c" + n)
		return "c" + n + "/shard-000001.safetensors", []string{"extend", "c" + n, "b.npz"}
	})
	says(t, 75, text, 75, "  bringing c", "/.shardify/extend/work"+shard)
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock to hold a lock with")
	}
	const release = "(for i in $(seq 600); do grep -q waiting said && break; sleep 0.1; done; rm .copy2.stage-lock)" // this process is slow
	code, text := under(t, dir, "exec 9>.copy2.stage-lock 2>said; flock 9; "+release+" & exec", "stage", "a", "copy2", "--stall", "500ms")
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	says(t, code, text+string(said), 0, "waiting for another process")
}

// TestInputsThatChange since the plan are refused, unless it is their time alone and the
// user says that it does not count.
func TestInputsThatChange(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.npz", "b.npz"} {
		if err := makeNPZ([]string{filepath.Join(dir, name), "300"}); err != nil {
			t.Fatal(err)
		}
	}
	code, text := under(t, dir, "exec", "plan", "a.npz", "b.npz", "-o", "out", "--shard-samples", "100")
	says(t, code, text, 0)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "b.npz"), later, later); err != nil {
		t.Fatal(err)
	}
	code, text = under(t, dir, "exec", "work", "out")
	says(t, code, text, 1, "b.npz: changed since the plan: it was modified ", "--ignore-times", "--fresh")
	code, text = under(t, dir, "exec", "convert", "a.npz", "b.npz", "-o", "out", "--shard-samples", "100")
	says(t, code, text, 1, "b.npz: changed since the plan: it was modified ", "--ignore-times")
	code, text = under(t, dir, "exec", "work", "out", "--ignore-times")
	says(t, code, text, 0)
}

// TestScratchGivesTheSameShards: and leaves nothing where they were made.
func TestScratchGivesTheSameShards(t *testing.T) {
	dir := t.TempDir()
	blobs(t, dir, 6, 300<<10)
	os.Mkdir(filepath.Join(dir, "tmp"), 0o777)
	for _, args := range [][]string{{"-o", "plain"}, {"-o", "local", "--scratch", "tmp"}} {
		code, text := under(t, dir, "exec", append([]string{"convert", "in", "--shard-samples", "2"}, args...)...)
		says(t, code, text, 0)
	}
	code, text := under(t, dir, "exec", "plan", "in", "--shard-samples", "2", "-o", "tasks")
	says(t, code, text, 0)
	code, text = under(t, dir, "exec", "work", "tasks", "--scratch", "tmp")
	says(t, code, text, 0)
	code, text = under(t, dir, "exec", "merge", "tasks")
	says(t, code, text, 0)
	for _, other := range []string{"local", "tasks"} {
		if out, err := exec.Command("diff", "-r", "-x", ".shardify", filepath.Join(dir, "plain"), filepath.Join(dir, other)).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp/*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestOpenFilesStayFew: however many inputs there are, no more than 64, and some for each
// worker, are open at a time.
func TestOpenFilesStayFew(t *testing.T) {
	for name, file := range map[string]string{
		"npz": "testdata/demo/digits.npz", "hdf5": "testdata/demo/digits.h5", "root": "readers/root/testdata/order.root", "files": "testdata/demo/README.md",
	} {
		if testing.Short() && name != "files" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, "in")
			os.Mkdir(in, 0o777)
			b, err := os.ReadFile("../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 150 {
				if err := os.WriteFile(filepath.Join(in, fmt.Sprint(i)+filepath.Ext(file)), b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			code, text := under(t, dir, "ulimit -n 96; exec", "convert", "in", "-o", "out", "--jobs", "4", "--sync", "none")
			says(t, code, text, 0)
		})
	}
}

// TestAStoppedProcessIsNoStall: the time in which it was stopped does not count.
func TestAStoppedProcessIsNoStall(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	samples := "400000"
	if testing.Short() {
		samples = "100000"
	}
	p := start(t, "convert", "--from", "synth", "--samples", samples, "--schema", "x:f32[64]", "-o", out, "--stall", "1s", "--sync", "none", "--shard-samples", "20000")
	time.Sleep(50 * time.Millisecond)
	for range 2 {
		p.Process.Signal(syscall.SIGSTOP)
		time.Sleep(1500 * time.Millisecond)
		p.Process.Signal(syscall.SIGCONT)
		time.Sleep(20 * time.Millisecond)
	}
	wait(t, p, 0)
}
