//go:build linux

package cuda

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/shardify/shardify/tests/fakecuda"
)

// A maker on a thread that is bound costs its thread nothing. The caller's thread has one bracket
// for a hand-over: a batch is given back and the next one made ready. Where the context is
// current already, it is not pushed, and where the mode is relaxed, it stays so.
func TestAHandOverTakesOneBracket(t *testing.T) {
	const batches = 1000
	for _, caller := range []struct {
		name         string
		pushes, mode int // for each batch
		thread       func(d *Device) error
	}{
		{"a thread without a context", 1, 2, func(d *Device) error { return nil }},
		{"a thread of a framework", 0, 2, func(d *Device) error { return d.drv.pushContext(d.ctx) }},
		{"one in a relaxed mode, too", 0, 1, func(d *Device) error {
			_, err := d.drv.captureMode(captureRelaxed)
			return errors.Join(err, d.drv.pushContext(d.ctx))
		}},
	} {
		t.Run(caller.name, func(t *testing.T) {
			f := newFake(t)
			d := f.open(t, Options{})
			h := alloc(t, d, 4096)
			var s [3]*Slot
			for i := range s {
				var err error
				s[i], err = d.NewSlot(SlotOptions{Tensors: []int64{4096, 4096}, Rows: 16})
				check(t, err)
			}
			w, err := d.NewWindow(4096)
			check(t, err)
			check(t, w.Load(0, h))
			consumer, ids := stream(t, d), scatter(16)
			made, taken := make(chan *Slot), make(chan error)
			go func() {
				unbind := d.Bind()
				for i := range batches {
					s := s[i%len(s)]
					taken <- errors.Join(s.Reuse(bg), s.Fill("batch", []Send{{Tensor: 0, From: h}}, &Batch{Size: 16, Rows: 16, Split: 16, IDs: ids, Columns: []Column{{Tensor: 1, Row: 256, From: [2]Source{{Window: w, Rows: 16}}}}}))
					made <- s
				}
				taken <- unbind()
			}()
			before := f.Calls()
			check(t, elsewhere(func() error {
				err := caller.thread(d)
				var last *Slot
				for range batches {
					err = errors.Join(err, <-taken)
					s := <-made
					unbind := d.Bind()
					if last != nil {
						err = errors.Join(err, last.Release())
					}
					last = s
					err = errors.Join(err, s.Ready(consumer), unbind())
				}
				return errors.Join(err, <-taken, last.Release())
			}))
			after := f.Calls()
			for name, most := range map[string]int{
				"cuCtxGetCurrent": 1, "cuCtxPushCurrent_v2": caller.pushes, "cuCtxPopCurrent_v2": caller.pushes, "cuThreadExchangeStreamCaptureMode": caller.mode, "cuEventSynchronize": 1,
				"cuMemcpyHtoDAsync_v2": 1, "cuLaunchKernel": 1, "cuEventRecord": 2, "cuStreamWaitEvent": 2, "cuEventQuery": 0, "cuStreamQuery": 0,
			} {
				if n := after[name] - before[name]; n > most*batches+8 { // to bind the maker, and to load the window
					t.Errorf("%s: %d calls for %d batches, want %d each", name, n, batches, most)
				}
			}
		})
	}
}

// Two devices on one thread, one inside of the other's bracket: each finds its own context.
func TestBracketsOfDevicesNest(t *testing.T) {
	first, second := newFake(t).open(t, Options{}), newFake(t, fakecuda.Batch12).open(t, Options{})
	unbind := first.Bind()
	for range 2 {
		for _, d := range []*Device{second, first} {
			_, _, err := d.MemoryInfo()
			check(t, err)
		}
	}
	check(t, unbind())
	for _, d := range []*Device{first, second} {
		if err := d.drv.popContext(); code(err) != codeInvalidContext {
			t.Errorf("a context was left current: %v", err)
		}
	}
}

// What the caller's thread has, it has after every call: its context, and its capture mode.
func TestACallLeavesTheThreadAsItWas(t *testing.T) {
	d := newFake(t).open(t, Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const own = 1
	_, err := d.drv.captureMode(own)
	check(t, err)
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{64}})
	check(t, err)
	check(t, errors.Join(s.Done("batch"), s.Ready(0), s.Wait(t.Context()), s.Release(0), d.Drain(t.Context()), s.Close()))
	mode, err := d.drv.captureMode(0)
	if mode != own || err != nil {
		t.Errorf("the thread's capture mode is %d, was %d; %v", mode, own, err)
	}
	if err := d.drv.popContext(); code(err) != codeInvalidContext {
		t.Errorf("a context was left current: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
