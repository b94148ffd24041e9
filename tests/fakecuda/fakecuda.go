// Package fakecuda builds a stand-in for libcuda.so.1, for tests on machines without a
// GPU. driver/fakecuda.c answers as the driver does, keeps streams as queues that run
// when CUDA permits it and a seed wants it, and notes what a correct program never
// does. With python3 it launches the PTX that ships, translated to C by ptxcpu and
// checked at every access of memory; without, their source compiled for the processor.
package fakecuda

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// Settings of Configure.
const (
	Order = "FAKECUDA_ORDER" // prompt, late, or a seed: when streams run what is queued
	Fail  = "FAKECUDA_FAIL"  // name:n:code: the n-th call of a function fails
	Mode  = "FAKECUDA_MODE"
	Walk  = "PTXCPU_ORDER" // of blocks and threads: 0 ascending, 1 descending, 2 random
)

// Variants of the driver.
const (
	PTX     = "-DFAKECUDA_PTX" // runs kernels.ptx; without it, kernels.cu compiled for the processor
	Batch12 = "-DFAKECUDA_BATCH=1"
	Batch13 = "-DFAKECUDA_BATCH=2"
)

// device is the package that has the kernels.
var device = filepath.Join("..", "..", "gpuload", "internal", "cuda")

// Driver is the test's side of a stand-in that this process has loaded.
type Driver struct {
	Path      string
	Configure func(key, value string)
	Reset     func()
	Capture   func(on int32)
	CaptureOn func(stream uintptr)                               // until Capture(0)
	Batched   func() int32                                       // copies started in batches
	Link      func() uint64                                      // bytes of host memory that the device has read
	Stream    func(flags uint32) uintptr                         // a consumer's: 1 non-blocking
	Touch     func(stream uintptr, at, n uint64, w int32) int32  // a consumer's kernel
	Read      func(stream uintptr, at, n uint64, to *byte) int32 // another, which copies to memory that is not Go's
	Drop      func(stream uintptr)                               // of a consumer
	Finish    func()                                             // all streams
	texts     map[string]func(out *byte, n uint64)
}

var build struct {
	sync.Mutex
	tested bool
	ptx    string // the object of the kernels
	why    error
}

// Load builds a variant and loads it. A test without a C compiler is skipped, as is one
// that asks for PTX without python3.
func Load(t testing.TB, flags ...string) *Driver {
	t.Helper()
	path, err := Build(flags...)
	if errors.Is(err, fs.ErrNotExist) { // of the sources
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		t.Fatal(err)
	}
	d := &Driver{Path: path, texts: map[string]func(*byte, uint64){}}
	purego.RegisterLibFunc(&d.Configure, h, "fakecuda_configure")
	purego.RegisterLibFunc(&d.Reset, h, "fakecuda_reset")
	purego.RegisterLibFunc(&d.Capture, h, "fakecuda_capture")
	purego.RegisterLibFunc(&d.CaptureOn, h, "fakecuda_capture_on")
	purego.RegisterLibFunc(&d.Batched, h, "fakecuda_batched")
	purego.RegisterLibFunc(&d.Link, h, "fakecuda_link")
	purego.RegisterLibFunc(&d.Stream, h, "fakecuda_stream")
	purego.RegisterLibFunc(&d.Touch, h, "fakecuda_touch")
	purego.RegisterLibFunc(&d.Read, h, "fakecuda_read")
	purego.RegisterLibFunc(&d.Drop, h, "fakecuda_drop")
	purego.RegisterLibFunc(&d.Finish, h, "fakecuda_finish")
	for _, name := range []string{"report", "alive", "calls"} {
		var f func(*byte, uint64)
		purego.RegisterLibFunc(&f, h, "fakecuda_"+name)
		d.texts[name] = f
	}
	d.Reset()
	if order := os.Getenv(Order); order != "" {
		d.Configure(Order, order)
	}
	return d
}

// Default is the variant that tests use without a wish of their own: it runs the PTX
// where that can be had.
func Default() []string {
	if _, err := kernels(); err != nil {
		return []string{Batch13}
	}
	return []string{Batch13, PTX}
}

// Build builds a variant in a folder of the user's cache, once for each state of its
// sources, and returns its path.
func Build(flags ...string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	args := append([]string{"-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-strict-aliasing", "-I" + filepath.Join(dir, "ptxcpu"), "-I" + filepath.Join(dir, device), filepath.Join(dir, "driver", "fakecuda.c"), filepath.Join(dir, "driver", "kernels.cc")}, flags...)
	for _, f := range flags {
		if f == PTX {
			object, err := kernels()
			if err != nil {
				return "", err
			}
			args = append(args, object)
		}
	}
	return cached("libcuda.so.1", []string{"driver", "ptxcpu", filepath.Join(device, "kernels.cu"), filepath.Join(device, "kernels.ptx")}, args, func(to string) *exec.Cmd {
		return exec.Command("cc", append(append([]string{"-o", to}, args...), "-lpthread", "-lm")...)
	})
}

// kernels is kernels.ptx as an object for the processor.
func kernels() (string, error) {
	build.Lock()
	defer build.Unlock()
	if !build.tested {
		build.tested = true
		build.ptx, build.why = translate()
	}
	return build.ptx, build.why
}

func translate() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	tool, ptx := filepath.Join(dir, "ptxcpu", "ptxcpu.py"), filepath.Join(dir, device, "kernels.ptx")
	from := []string{"ptxcpu", filepath.Join(device, "kernels.ptx")}
	c, err := cached("kernels.c", from, nil, func(to string) *exec.Cmd { return exec.Command("python3", tool, ptx, "-o", to) })
	if err != nil {
		return "", err
	}
	// Sums must not be fused, nor roundings moved.
	return cached("kernels.o", from, nil, func(to string) *exec.Cmd {
		return exec.Command("cc", "-c", "-O1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-frounding-math", "-fno-strict-aliasing", "-w", "-o", to, c)
	})
}

// cached runs a command that makes a file, unless one made from the same sources and
// arguments is there.
func cached(name string, sources, args []string, command func(to string) *exec.Cmd) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, name, args)
	for _, s := range sources {
		err := filepath.Walk(filepath.Join(dir, s), func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() || strings.HasSuffix(path, ".pyc") {
				return err
			}
			b, err := os.ReadFile(path)
			fmt.Fprintln(h, filepath.Base(path), len(b))
			h.Write(b)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	to := filepath.Join(cache, "shardify-fakecuda", fmt.Sprintf("%x", h.Sum(nil)[:12]), name)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(to), "new")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, name)
	cmd := command(made)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("no stand-in for the CUDA driver: %s: %w\n%s", cmd.Args[0], err, out)
	}
	return to, os.Rename(made, to)
}

// folder is the folder of this package, found from the module's root.
func folder() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, no := os.Stat(filepath.Join(dir, "go.mod")); no == nil {
			return filepath.Join(dir, "tests", "fakecuda"), nil
		}
		if filepath.Dir(dir) == dir {
			err = errors.New("no go.mod above the working folder")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Text is what the driver says: "report", what a correct program never does; "alive",
// what was not given back; "calls", how often each function was called.
func (d *Driver) Text(name string) string {
	b := make([]byte, 16<<10)
	d.texts[name](&b[0], uint64(len(b)))
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

const nothingAlive = "registered 0, host 0, device 0, streams 0, events 0, modules 0, contexts 0"

// End checks that a test broke no rule and left nothing behind.
func (d *Driver) End(t testing.TB) {
	t.Helper()
	if s := d.Text("report"); s != "" {
		t.Errorf("the driver was misused:\n%s", s)
	}
	if s := d.Left(); s != "" {
		t.Errorf("left behind: %s", s)
	}
}

// Left is what was not given back.
func (d *Driver) Left() string {
	if s := d.Text("alive"); s != nothingAlive {
		return s
	}
	return ""
}

// Calls is how often each function was called.
func (d *Driver) Calls() map[string]int {
	m := map[string]int{}
	for line := range strings.Lines(d.Text("calls")) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			m[name] = n
		}
	}
	return m
}
