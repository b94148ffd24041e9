//go:build linux

package cuda

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// A batch takes a visit each to wait for its memory, to be made, to be handed over and to be
// given back, and none of them asks the driver again and again or goes to another thread.
func TestABatchTakesFourVisits(t *testing.T) {
	const batches = 1000
	f := newFake(t)
	d := f.open(t, Options{})
	h := alloc(t, d, 4096)
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{4096, 4096}, Rows: 16})
	check(t, err)
	w, err := d.NewWindow(4096, false)
	check(t, err)
	check(t, w.Load(0, h))
	consumer, ids := stream(t, d), scatter(16)
	before := f.Calls()
	for range batches {
		check(t, s.Reuse(t.Context()))
		check(t, s.Fill("batch", []Send{{Tensor: 0, From: h}}, &Batch{Size: 16, Rows: 16, Split: 16, IDs: ids, Columns: []Column{{Tensor: 1, Row: 256, From: [2]Source{{Window: w, Rows: 16}}}}}))
		check(t, s.Ready(consumer))
		check(t, s.Release(consumer))
	}
	after := f.Calls()
	for name, most := range map[string]int{
		"cuCtxPushCurrent_v2": 4, "cuCtxPopCurrent_v2": 4, "cuThreadExchangeStreamCaptureMode": 8, "cuEventSynchronize": 2,
		"cuMemcpyHtoDAsync_v2": 1, "cuLaunchKernel": 1, "cuEventRecord": 4, "cuStreamWaitEvent": 5, "cuEventQuery": 0, "cuStreamQuery": 0,
	} {
		if n := after[name] - before[name]; n > most*batches {
			t.Errorf("%s: %d calls for %d batches, want %d each", name, n, batches, most)
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
