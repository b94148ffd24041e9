//go:build linux

package cuda

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

// The tests run against testdata/fakecuda, a driver made of threads, which a C
// compiler builds when they start.

var built struct {
	sync.Mutex
	dir  string
	list map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// library builds a variant of the fake driver.
func library(t testing.TB, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the fake driver with")
	}
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		if built.dir, err = os.MkdirTemp("", "fakecuda"); err != nil {
			t.Fatal(err)
		}
		built.list = map[string]string{}
	}
	key := strings.Join(flags, " ")
	if path := built.list[key]; path != "" {
		return path
	}
	path := filepath.Join(built.dir, fmt.Sprintf("libcuda%d.so.1", len(built.list)))
	args := append([]string{"-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-o", path, "testdata/fakecuda/fakecuda.c", "-lpthread", "-lm"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("the C compiler cannot build the fake driver: %v\n%s", err, out)
	}
	built.list[key] = path
	return path
}

// fake is the fake driver's side of a test.
type fake struct {
	path      string
	configure func(key, value string)
	reset     func()
	capture   func(int32)
	batched   func() int32
	texts     map[string]func(out *byte, n uint64)
}

func newFake(t testing.TB, flags ...string) *fake {
	t.Helper()
	f := &fake{path: library(t, flags...), texts: map[string]func(*byte, uint64){}}
	h, err := purego.Dlopen(f.path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		t.Fatal(err)
	}
	bind := func(to any, name string) {
		a, err := purego.Dlsym(h, name)
		if err != nil {
			t.Fatal(err)
		}
		purego.RegisterFunc(to, a)
	}
	bind(&f.configure, "fakecuda_configure")
	bind(&f.reset, "fakecuda_reset")
	bind(&f.capture, "fakecuda_capture")
	bind(&f.batched, "fakecuda_batched")
	for _, name := range []string{"report", "alive", "calls"} {
		var g func(*byte, uint64)
		bind(&g, "fakecuda_"+name)
		f.texts[name] = g
	}
	f.reset()
	return f
}

func (f *fake) text(name string) string {
	b := make([]byte, 16<<10)
	f.texts[name](&b[0], uint64(len(b)))
	return upToNul(b)
}

const nothingAlive = "registered 0, host 0, device 0, streams 0, events 0, modules 0, contexts 0"

// end checks that the test broke no rule and left nothing behind.
func (f *fake) end(t testing.TB) {
	t.Helper()
	if s := f.text("report"); s != "" {
		t.Errorf("the driver was misused:\n%s", s)
	}
	if s := f.text("alive"); s != nothingAlive {
		t.Errorf("left behind: %s", s)
	}
}

// calls is how often each function was called.
func (f *fake) calls() map[string]int {
	m := map[string]int{}
	for line := range strings.Lines(f.text("calls")) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			m[name] = n
		}
	}
	return m
}

// open opens the fake device without calibration and checks the end of the test.
func (f *fake) open(t testing.TB, o Options) *Device {
	t.Helper()
	o.Library, o.NoCalibration = f.path, true
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		f.end(t)
	})
	return d
}

// within fails a test that hangs instead of letting it.
func within(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// alloc is pinned memory for the length of the test.
func alloc(t testing.TB, d *Device, n int64) []byte {
	t.Helper()
	b, err := d.Alloc(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stream makes a stream as a consumer would.
func stream(t testing.TB, d *Device) uintptr {
	t.Helper()
	var s uintptr
	check(t, d.do(func() (err error) {
		s, err = d.drv.streamCreate(streamNonBlocking, 0)
		return err
	}))
	t.Cleanup(func() { check(t, d.do(func() error { return d.drv.streamDestroy(s) })) })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
