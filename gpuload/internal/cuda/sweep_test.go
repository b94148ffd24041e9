//go:build linux

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/fakecuda"
)

// journey is everything a Loader does with a device. It compares what arrives.
func journey(ctx context.Context, path string) (err error) {
	d, err := Open(Options{Library: path, Chunk: 8192, NoCalibration: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.speed.EngineRow = 4096
	h, err := d.Alloc(20_000, 100)
	if err != nil {
		return err
	}
	back, err := d.Alloc(20_000, 0)
	if err != nil {
		return err
	}
	rowsOf(h)
	w, err := d.NewWindow(20_000)
	if err != nil {
		return err
	}
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{12_000, 20_000, 20_000, 100}, Rows: 4, Casts: []*Cast{nil, nil, nil, {From: castSources[0], To: castTargets[2], Scale: []float32{2}, Shift: []float32{1}}}})
	if err != nil {
		return err
	}
	if err := travel(ctx, d, w, s, h, back); err != nil {
		return err
	}
	return errors.Join(s.Close(), w.Close(), d.Free(back), d.Free(h))
}

func travel(ctx context.Context, d *Device, w *Window, s *Slot, h, back []byte) error {
	ids := []int64{3, 0, -1}
	for b := range 3 {
		if err := s.Reuse(ctx); err != nil {
			return err
		}
		for _, f := range []func() error{
			func() error { return w.Load(0, h) },
			func() error { return s.Send(0, h[:10_000+b*5000]) },
			func() error { return move(s, 1, ids, 4096, Source{Window: w, Rows: 4}) },
			func() error { return move(s, 2, ids, 4096, Source{Host: h, Rows: 4}) },
			func() error { return move(s, 3, ids, 5, Source{Host: h, Rows: 4}) },
			func() error { return s.Done(fmt.Sprint("batch ", b)) },
			func() error { return s.Ready(0) },
			func() error { return s.Wait(ctx) },
			func() error { return w.Wait(ctx) },
			func() error { return d.Fetch(ctx, back[:8192], s.Ptr(1+b%2)) },
			func() error { return s.Release(0) },
		} {
			if err := f(); err != nil {
				return err
			}
		}
		if !bytes.Equal(back[:4096], h[3*4096:4*4096]) || !bytes.Equal(back[4096:8192], h[:4096]) {
			return fmt.Errorf("batch %d holds other bytes", b)
		}
	}
	_, _, err := d.MemoryInfo()
	return err
}

// TestEveryFailureIsAnErrorAndLosesNothing fails the n-th call of every function of
// the driver, in two ways.
func TestEveryFailureIsAnErrorAndLosesNothing(t *testing.T) {
	f := newFake(t, fakecuda.Batch13)
	ctx := within(t, 5*time.Minute)
	check(t, journey(ctx, f.Path))
	f.End(t)
	all := f.Calls()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) < 35 {
		t.Errorf("only %d functions are used: %v", len(names), names)
	}
	runs, most := 0, 4
	if os.Getenv("SHARDIFY_LONG") != "" {
		most = 1 << 20
	}
	for _, name := range names {
		for n := 1; n <= min(all[name], most); n++ {
			for _, number := range []int{2, 719} {
				runs++
				sweep(t, f, ctx, name, n, number)
			}
		}
	}
	t.Logf("%d functions, %d failures", len(names), runs)
}

func sweep(t *testing.T, f *fake, ctx context.Context, name string, n, number int) {
	f.Reset()
	before := f.Text("alive")
	f.Configure(fakecuda.Fail, fmt.Sprintf("%s:%d:%d", name, n, number))
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // which ends with this goroutine, and what a failed call left of it
		done <- journey(ctx, f.Path)
	}()
	var err error
	select {
	case err = <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s, call %d, error %d: it hangs", name, n, number)
	}
	// A registration that is refused, or whose visit fails, is made otherwise, an attribute that is not
	// known is not there, and an error while everything is given back after the
	// context was lost was reported before.
	// How often the driver is asked whether something is ready is up to time.
	fallback := f.Calls()[name] < n || strings.Contains(name, "Current") || name == "cuThreadExchangeStreamCaptureMode" || name == "cuMemHostRegister_v2" || name == "cuMemHostGetDevicePointer_v2" || name == "cuDeviceGetUuid_v2" || name == "cuModuleLoadDataEx" && n == 1
	want := fmt.Sprintf("%s: CUDA error %d", name, number)
	if (err == nil && !fallback) || (err != nil && !strings.Contains(err.Error(), want)) {
		t.Errorf("%s, call %d, error %d: %v", name, n, number, err)
	}
	if s := f.Text("report"); s != "" {
		t.Errorf("%s, call %d, error %d: the driver was misused:\n%s", name, n, number, s)
	}
	// What the driver refuses to take back stays with it, one thing a refusal.
	giving := strings.Contains(name, "Destroy") || strings.Contains(name, "Free") || strings.Contains(name, "Unregister") || strings.Contains(name, "Release") || strings.Contains(name, "Current") || strings.Contains(name, "CaptureMode") || strings.Contains(name, "Unload")
	if after := f.Text("alive"); after != before && !giving {
		t.Errorf("%s, call %d, error %d: left behind: %s; before: %s", name, n, number, after, before)
	}
}
