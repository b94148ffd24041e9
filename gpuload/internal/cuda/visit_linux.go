package cuda

import (
	"context"
	"errors"
	"runtime"
)

// bracket runs f on this operating system thread with the device's context current and a
// relaxed capture mode, so that a capture elsewhere in the process is not broken, and gives
// the thread its own back. A thread's context is a stack, so the caller's stays as it is.
func (d *Device) bracket(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.drv.pushContext(d.ctx); err != nil {
		return err
	}
	mode, err := d.drv.captureMode(captureRelaxed)
	if err == nil {
		err = f()
		if _, e := d.drv.captureMode(mode); e != nil {
			err = errors.Join(err, e)
		}
	}
	if e := d.drv.popContext(); e != nil {
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
		return ErrClosed
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
	d.order.Lock()
	err := d.lost
	if d.ended {
		err = ErrClosed
	}
	for _, e := range events {
		if e.recorded > 0 {
			handles = append(handles, e.handle)
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
	if err != nil {
		d.order.Lock()
		defer d.order.Unlock()
		err = d.noted(err)
	}
	return err
}
