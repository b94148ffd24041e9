package cuda

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// threads is what operating system threads are bound to, by number.
var threads = struct {
	sync.Mutex
	bound map[int]contextKey
}{bound: map[int]contextKey{}}

// contextKey is a context of a driver.
type contextKey struct {
	library string
	ctx     uintptr
}

// binding is what bind changed, for unbind.
type binding struct {
	thread  int
	before  contextKey
	nothing bool // it was so already
	pushed  bool
	mode    int32
}

// bind keeps the calling goroutine on its thread, with the device's context current there and
// a relaxed capture mode, so that a capture elsewhere in the process is not broken. Where that
// is so already, the driver is not asked. unbind gives the thread its own back.
func (d *Device) bind() (b binding, err error) {
	runtime.LockOSThread()
	b.thread = unix.Gettid()
	key := contextKey{d.drv.path, d.ctx}
	threads.Lock()
	b.before = threads.bound[b.thread]
	b.nothing = b.before == key
	threads.Unlock()
	if b.nothing {
		return b, nil
	}
	ctx, err := d.drv.currentContext()
	if err == nil && ctx != d.ctx {
		// A thread's context is a stack, so the caller's stays as it is.
		err = d.drv.pushContext(d.ctx)
		b.pushed = err == nil
	}
	if err == nil {
		b.mode, err = d.drv.captureMode(captureRelaxed)
	}
	if err != nil {
		if b.pushed {
			err = errors.Join(err, d.drv.popContext())
		}
		runtime.UnlockOSThread()
		return b, err
	}
	threads.Lock()
	defer threads.Unlock()
	threads.bound[b.thread] = key
	return b, nil
}

func (d *Device) unbind(b *binding) (err error) {
	defer runtime.UnlockOSThread()
	if b.nothing {
		return nil
	}
	threads.Lock()
	if b.before == (contextKey{}) {
		delete(threads.bound, b.thread)
	} else {
		threads.bound[b.thread] = b.before
	}
	threads.Unlock()
	if b.mode != captureRelaxed {
		_, err = d.drv.captureMode(b.mode)
	}
	if b.pushed {
		if e := d.drv.popContext(); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Bind makes the calling thread ready for the device until the returned function is called, by the
// same goroutine: calls in between cost the driver nothing for that. What the thread has besides,
// a context of another device say, is to be as it was whenever the device is called.
func (d *Device) Bind() (unbind func() error) {
	b, err := d.bind()
	if err != nil { // the next call says so, too
		return func() error { return nil }
	}
	return func() error { return d.unbind(&b) }
}

// bracket runs f on a thread that is bound.
func (d *Device) bracket(f func() error) error {
	b, err := d.bind()
	if err != nil {
		return err
	}
	err = f()
	if e := d.unbind(&b); e != nil {
		err = errors.Join(err, e)
	}
	return err
}

// visit is a bracket that no other is inside of: what it gives to the device's streams
// stays together, and it may use what belongs to the order of calls. After Close it is
// ErrClosed.
func (d *Device) visit(f func() error) error {
	d.order.Lock()
	defer d.order.Unlock()
	if d.ended {
		return errClosed
	}
	return d.noted(d.bracket(f))
}

// do is visit, unless the context is lost.
func (d *Device) do(f func() error) error {
	return d.visit(func() error {
		if d.lost != nil {
			return d.lost
		}
		return f()
	})
}

// await sleeps in the driver until the newest records of events were reached; one that was
// never recorded is. Others call the driver meanwhile.
func (d *Device) await(ctx context.Context, events ...*event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var handles []uintptr
	number := uint64(0)
	d.order.Lock()
	err := d.lost
	if d.ended {
		err = errClosed
	}
	for _, e := range events {
		if e.recorded > 0 && (e.number == 0 || e.number > d.reached) {
			handles = append(handles, e.handle)
			number = max(number, e.number)
		}
	}
	d.order.Unlock()
	if err != nil || len(handles) == 0 {
		return err
	}
	err = d.bracket(func() error {
		for _, h := range handles {
			if err := d.drv.eventSynchronize(h); err != nil {
				return err
			}
		}
		return nil
	})
	d.order.Lock()
	defer d.order.Unlock()
	if err != nil {
		return d.noted(err)
	}
	d.reached = max(d.reached, number)
	return nil
}

// behind is an event in the stream of the gathers that is behind e, or e. It is the newest, so
// that one wait of the host is enough for the batches that were made since e, too.
func (d *Device) behind(e *event) *event {
	d.order.Lock()
	defer d.order.Unlock()
	if e.number > d.reached && d.newest.number > e.number {
		return d.newest
	}
	return e
}
