//go:build linux

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/tests/fakecuda"
)

// reader is one kind of consumer: it takes a slot, gives work that reads it to a stream, which
// may run much later, and gives it back.
type reader struct {
	name string
	take func(d *Device, s *Slot, own uintptr, read func(stream uintptr) error) error
	own  uint32 // flags of its own stream
}

// elsewhere runs f on another thread.
func elsewhere(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and ends with the thread
		done <- f()
	}()
	return <-done
}

// onThread is a read on the default stream of the calling thread.
func onThread(s *Slot, read func(uintptr) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return errors.Join(s.Ready(streamPerThread), read(streamPerThread))
}

var readers = []reader{
	{"its own non-blocking stream, given to Ready", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(own), read(own), s.Release())
	}, 1},
	{"its own blocking stream", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(own), read(own), s.Release())
	}, 0},
	{"the default stream and another one", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(0), s.Ready(own), read(0), read(own), s.Release())
	}, 1},
	{"a stream given to Release", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(own), read(own), s.Release(own))
	}, 1},
	{"a stream that waits for the one of Ready, and is given to Use", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		err := errors.Join(s.Ready(0), d.do(func() error {
			e, err := d.newEvent(eventDisableTiming)
			if err != nil {
				return err
			}
			return errors.Join(d.record(&e, 0), d.wait(own, &e), d.destroyEvents(&e))
		}))
		return errors.Join(err, s.Use(own), read(own), s.Release())
	}, 1},
	{"the thread's default stream", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(onThread(s, read), s.Release())
	}, 1},
	{"another thread's default stream", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(elsewhere(func() error { return onThread(s, read) }), s.Release())
	}, 1},
	{"a stream that left early", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(own), read(own), s.Leave(own), s.Release())
	}, 1},
	{"a stream that came back", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Ready(own), s.Leave(own), s.Ready(own), read(own), s.Release())
	}, 1},
	{"an unknown stream", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Wait(bg), s.Use(unknown), read(own), s.Release())
	}, 1},
	{"an unknown stream that Release is given", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error {
		return errors.Join(s.Wait(bg), s.Use(unknown), read(own), s.Release(own))
	}, 1},
	{"no reader", func(d *Device, s *Slot, own uintptr, read func(uintptr) error) error { return s.Release() }, 1},
}

// TestASlotIsWrittenBehindItsReaders: a consumer that reads a batch on any stream reads
// that batch, as late as the stream likes, and nothing is ordered by luck.
func TestASlotIsWrittenBehindItsReaders(t *testing.T) {
	f := newFake(t)
	for _, r := range readers {
		t.Run(r.name, func(t *testing.T) { eachOrder(t, f, func(t *testing.T) { readersRead(t, f, r) }) })
	}
}

func readersRead(t *testing.T, f *fake, r reader) {
	const batches, size, depth = 12, 4096, 2
	d := f.open(t, Options{})
	own := f.Stream(r.own)
	defer func() { check(t, d.do(func() error { return d.drv.streamDestroy(own) })) }()
	var slots [depth]*Slot
	var host [depth][]byte
	for i := range slots {
		var err error
		slots[i], err = d.NewSlot(SlotOptions{Tensors: []int64{size}})
		check(t, err)
		host[i] = alloc(t, d, size)
	}
	out, reads := alloc(t, d, 2*batches*size), 0
	var batch []int // of each read
	for b := range batches {
		s, h := slots[b%depth], host[b%depth]
		check(t, s.Reuse(t.Context()))
		fill(h, b)
		check(t, s.Fill(fmt.Sprint("batch ", b), []Send{{From: h}}, &Batch{}))
		check(t, r.take(d, s, own, func(stream uintptr) error {
			at := addressOf(out[reads*size:])
			reads, batch = reads+1, append(batch, b)
			return d.do(func() error { return d.drv.copyToHost(at, s.Ptr(0), size, stream) })
		}))
	}
	check(t, d.bracket(d.drv.synchronize))
	want := make([]byte, size)
	for k, b := range batch {
		fill(want, b)
		if !bytes.Equal(out[k*size:][:size], want) {
			t.Fatalf("a read of batch %d gave other bytes", b)
		}
	}
}

// More streams than a slot has events: the host waits for the rest.
func TestASlotMayHaveManyReaders(t *testing.T) {
	const size, many = 4096, 7
	f := newFake(t)
	eachOrder(t, f, func(t *testing.T) {
		d := f.open(t, Options{})
		h, out := alloc(t, d, size), alloc(t, d, (many+1)*size)
		s, err := d.NewSlot(SlotOptions{Tensors: []int64{size}})
		check(t, err)
		var streams [many]uintptr
		for i := range streams {
			streams[i] = stream(t, d)
		}
		for b := range 3 {
			check(t, s.Reuse(t.Context()))
			fill(h, b)
			check(t, s.Fill("batch", []Send{{From: h}}, &Batch{}))
			for i, c := range streams {
				check(t, s.Ready(c))
				check(t, d.do(func() error { return d.drv.copyToHost(addressOf(out[i*size:]), s.Ptr(0), size, c) }))
			}
			check(t, elsewhere(func() error {
				return onThread(s, func(c uintptr) error {
					return d.do(func() error { return d.drv.copyToHost(addressOf(out[many*size:]), s.Ptr(0), size, c) })
				})
			}))
			check(t, s.Release())
		}
		check(t, d.bracket(d.drv.synchronize))
		for i := range many + 1 {
			if !bytes.Equal(out[i*size:][:size], h) {
				t.Errorf("reader %d read other bytes", i)
			}
		}
	})
}

// A stream that is being captured gets nothing, and the slot stays as it was.
func TestNothingIsGivenToAStreamThatIsCaptured(t *testing.T) {
	f := newFake(t)
	d := f.open(t, Options{})
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{64}})
	check(t, err)
	h, c := alloc(t, d, 64), stream(t, d)
	check(t, s.Fill("batch", []Send{{From: h}}, &Batch{}))
	f.CaptureOn(c)
	if err := s.Ready(c); !errors.Is(err, ErrCapture) {
		t.Errorf("Ready: %v", err)
	}
	f.Capture(0)
	check(t, s.Ready(c))
	f.CaptureOn(c)
	for _, err := range []error{s.Release(), s.Leave(c), s.Release(c)} {
		if !errors.Is(err, ErrCapture) {
			t.Errorf("Release: %v", err)
		}
	}
	// A blocking stream's capture closes the default stream, too.
	blocking := f.Stream(0)
	f.CaptureOn(blocking)
	if err := s.Ready(0); !errors.Is(err, ErrCapture) {
		t.Errorf("Ready of the default stream: %v", err)
	}
	f.Capture(0)
	check(t, d.do(func() error { return d.drv.streamDestroy(blocking) }))
	if err := s.Send(0, h); err == nil {
		t.Error("a slot that was not released was written")
	}
	check(t, s.Release())
	check(t, s.Reuse(t.Context()))
	check(t, s.Send(0, h))
}

// Copies for the consumer are one launch, however many tensors there are; the slot may be written
// again behind them, and the consumer's memory behind the consumer.
func TestCopiesForTheConsumerAreOneLaunch(t *testing.T) {
	f := newFake(t)
	eachOrder(t, f, func(t *testing.T) {
		d := f.open(t, Options{})
		const tensors, size = 50, 1000
		sizes, sends := make([]int64, tensors), make([]Send, tensors)
		h, out := alloc(t, d, tensors*1024), alloc(t, d, tensors*1024)
		for i := range sizes {
			sizes[i], sends[i] = int64(size-i), Send{i, h[i*1024:][:size-i]}
		}
		s, err := d.NewSlot(SlotOptions{Tensors: sizes, Numbers: 8})
		check(t, err)
		w, err := d.NewWindow(tensors*1024 + 64)
		check(t, err)
		c, to := stream(t, d), w.mem.at
		for _, v := range []struct{ tensors, shift, launches, copies int }{{tensors, 0, 2, 0}, {16, 0, 1, 0}, {1, 0, 0, 1}, {3, 8, 0, 3}, {2, 0, 1, 0}} {
			check(t, s.Reuse(t.Context()))
			fill(h, v.tensors)
			check(t, s.Fill("batch", sends, &Batch{Size: 8, Formula: &order.Formula{}}))
			list := make([]Out, v.tensors)
			for i := range list {
				list[i] = Out{i, to + uint64(i*1024+v.shift), sizes[i]}
			}
			list = append(list, Out{Tensor: 3, To: to}) // nothing of it
			if v.tensors == 2 {
				list = append(list, Out{ofNumbers, to + 2048, 64})
			}
			before := f.Calls()
			check(t, errors.Join(s.CopyOut(c, list), s.Release()))
			after := f.Calls()
			for name, want := range map[string]int{"cuLaunchKernel": v.launches, "cuMemcpyDtoDAsync_v2": v.copies, "cuStreamIsCapturing": 1, "cuEventRecord": 1, "cuCtxGetCurrent": 1} {
				if n := after[name] - before[name]; n != want {
					t.Errorf("%d tensors: %d calls of %s, want %d", v.tensors, n, name, want)
				}
			}
			check(t, d.do(func() error { return d.drv.copyToHost(addressOf(out), to, tensors*1024, c) }))
			check(t, d.bracket(d.drv.synchronize))
			for i := range v.tensors {
				if at := i*1024 + v.shift; !bytes.Equal(out[at:][:sizes[i]], sends[i].From) {
					t.Errorf("tensor %d of %d has other bytes", i, v.tensors)
				}
			}
			if v.tensors == 2 && !bytes.Equal(out[2048:][:64], bytes.Repeat([]byte{0xff}, 64)) {
				t.Errorf("numbers %v", out[2048:][:64])
			}
		}
		check(t, s.Reuse(t.Context()))
		check(t, s.Fill("batch", sends, &Batch{}))
		if err := s.CopyOut(c, []Out{{0, to, size + 1}}); err == nil {
			t.Error("more was copied than a tensor has")
		}
		check(t, errors.Join(s.Release(), s.Close(), w.Close()))
	})
}

// A slot is closed behind its readers: freeing its memory does not wait for them.
func TestASlotIsClosedBehindItsReaders(t *testing.T) {
	f := newFake(t)
	f.Configure(fakecuda.Order, "late")
	d := f.open(t, Options{})
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{64}})
	check(t, err)
	c := stream(t, d)
	check(t, errors.Join(s.Fill("batch", []Send{{From: alloc(t, d, 64)}}, &Batch{}), s.Ready(c)))
	if code := f.Touch(c, s.Ptr(0), 64, 0); code != 0 {
		t.Fatal(code)
	}
	check(t, errors.Join(s.Release(), s.Close()))
}
