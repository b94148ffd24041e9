package parttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
)

// bound is what a plan, and a task of it, may have resident.
const bound = 200 << 20

func long(t *testing.T) {
	t.Helper()
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("SHARDIFY_LONG is not set")
	}
}

// scale is a number of inputs that the environment may change.
func scale(t *testing.T, name string, n int64) int64 {
	t.Helper()
	if v := os.Getenv(name); v != "" {
		var err error
		if n, err = strconv.ParseInt(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// roomy is a folder with so much free space: that of the tests, or a sparse file system.
func roomy(t *testing.T, bytes int64) string {
	t.Helper()
	dir := t.TempDir()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err == nil && int64(st.Bavail)*st.Bsize > bytes {
		return dir
	}
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	write(t, image, "")
	if err := os.Truncate(image, 12<<40); err != nil {
		t.Skip("no room, and no sparse file: ", err)
	}
	if err := os.Mkdir(mnt, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"mkfs.xfs", "-q", "-l", "size=64m", image}, {"mount", "-o", "loop", image, mnt}} {
		if b, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no room, and %s: %v %s", c[0], err, b)
		}
	}
	t.Cleanup(func() {
		if b, err := exec.Command("umount", mnt).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, b)
		}
	})
	return mnt
}

func binary(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shardify")
	c := exec.Command("go", "build", "-o", name, "../../cmd/shardify")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v %s", err, b)
	}
	return name
}

// run runs a command and returns how it ended and its most resident memory.
func run(t *testing.T, what string, stdin io.Reader, code int, command string, args ...string) (peak int64) {
	t.Helper()
	c := exec.Command(command, args...)
	c.Stdin = stdin
	start := time.Now()
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	peak = c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	t.Logf("%s: %.1f s, %.1f s of processor time, peak %s", what, time.Since(start).Seconds(), took.Seconds(), shardify.FormatSize(peak))
	if got := c.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s: exit code %d, want %d: %s", what, got, code, out)
	}
	return peak
}

func within(t *testing.T, what string, peak, most int64) {
	t.Helper()
	if peak > most {
		t.Errorf("%s: peak %s, at most %s", what, shardify.FormatSize(peak), shardify.FormatSize(most))
	}
}

// TestLongListOfNames plans names that come through a pipe, 10^9 of them.
func TestLongListOfNames(t *testing.T) {
	long(t)
	n := scale(t, "SHARDIFY_NAMES", 1_000_000_000)
	program, out := binary(t), filepath.Join(roomy(t, n*6000), "out")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { writeNames(w, n); w.Close() }()
	peak := run(t, fmt.Sprintf("plan of %d names", n), r, 0, program, "plan", "--files-from", "-", "--assume-size", "4096", "-o", out)
	within(t, "plan", peak, bound)
	st, err := os.Stat(filepath.Join(out, plan.FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the plan has %s", shardify.FormatSize(st.Size()))
	// The files are not there: a task has its part open when it finds out.
	within(t, "task", run(t, "one task of 1000", nil, 1, program, "work", out, "--task", "500", "--tasks", "1000", "--memory", "64MiB"), bound)
	within(t, "merge", run(t, "merge", nil, 3, program, "merge", out), bound)
}

// TestLongFolder plans files that are there, 10^7 links, and does a task.
func TestLongFolder(t *testing.T) {
	long(t)
	n := scale(t, "SHARDIFY_FILES", 10_000_000)
	dir := roomy(t, n*6000)
	in, out := filepath.Join(dir, "photos"), filepath.Join(dir, "out")
	links(t, in, int(n), 10_000)
	program := binary(t)
	within(t, "plan", run(t, fmt.Sprintf("plan of %d files", n), nil, 0, program, "plan", in, "-o", out), bound)
	tasks := max(int(n)/readers.PartFiles, 1) // of a part or so
	within(t, "task", run(t, fmt.Sprintf("one task of %d", tasks), nil, 0, program, "work", out,
		"--task", strconv.Itoa(tasks/2), "--tasks", strconv.Itoa(tasks), "--memory", "64MiB"), bound)
}

// links makes n names of few files, since inodes may be short.
func links(t *testing.T, dir string, n, perFolder int) {
	t.Helper()
	const most = 60_000 // names that a file may have
	file := ""
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%06d", i/perFolder))
		if i%perFolder == 0 {
			if err := os.MkdirAll(sub, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("%s/img_%010d.jpg", sub, i)
		if i%most == 0 {
			file = name
			write(t, name, "a small image")
		} else if err := syscall.Link(file, name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLongConversion converts 10^6 small files with little memory.
func TestLongConversion(t *testing.T) {
	long(t)
	const memory = 256 << 20
	n := int(scale(t, "SHARDIFY_SMALL", 1_000_000))
	dir := roomy(t, int64(n)*8000)
	in, out := filepath.Join(dir, "photos"), filepath.Join(dir, "out")
	text := make([]byte, 900)
	for i := range n {
		sub := filepath.Join(in, fmt.Sprintf("class%04d", i/1000))
		if i%1000 == 0 {
			if err := os.MkdirAll(sub, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		for k := range text {
			text[k] = byte(i >> (k % 24))
		}
		if err := os.WriteFile(fmt.Sprintf("%s/img_%07d.jpg", sub, i), text[:100+i%800], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	peak := run(t, fmt.Sprintf("%d files converted with --memory %s", n, shardify.FormatSize(memory)), nil, 0, binary(t), "convert", in, "-o", out, "--memory", strconv.Itoa(memory))
	within(t, "convert", peak, memory)
}
