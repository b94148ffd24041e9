package cuda

import (
	"context"
	"errors"
)

// event is a point in a stream. It is used inside visits, like all that follows.
type event struct {
	handle uintptr
	// recorded counts how often it was: a wait for an event never recorded would
	// wait for nothing.
	recorded uint64
	// number is that of its newest record among those in the stream of the gathers; 0: it was
	// recorded elsewhere.
	number uint64
}

var errNeverRecorded = errors.New("cuda: wait for an event that was never recorded")

func (d *Device) newEvent(flags uint32) (event, error) {
	h, err := d.drv.eventCreate(flags)
	return event{handle: h}, err
}

// record marks where the work of a stream ends. Work whose end cannot be marked is waited for: what
// it reads and writes may be used again without an event.
func (d *Device) record(e *event, stream uintptr) error {
	if err := d.drv.eventRecord(e.handle, stream); err != nil {
		return errors.Join(err, d.settle())
	}
	e.recorded++
	if e.number = 0; stream == d.gathers && stream != 0 {
		d.gathered++
		d.newest, e.number = e, d.gathered
	}
	return nil
}

// wait makes a stream wait for the newest record of e.
func (d *Device) wait(stream uintptr, e *event) error {
	if e.recorded == 0 {
		return errNeverRecorded
	}
	return d.drv.streamWait(stream, e.handle)
}

func (d *Device) destroyEvents(list ...*event) error {
	var all []error
	for _, e := range list {
		if e.handle != 0 {
			all = append(all, d.drv.eventDestroy(e.handle))
			*e = event{}
		}
	}
	return errors.Join(all...)
}

// buffer is device memory.
type buffer struct {
	at   uint64
	size int64
}

func (d *Device) newBuffer(n int64) (buffer, error) {
	if n <= 0 {
		return buffer{}, nil
	}
	// 16 bytes more, as for host memory.
	at, err := d.drv.memAlloc(roundUp(n+16, 256))
	return buffer{at, n}, err
}

func (d *Device) freeBuffer(b *buffer) error {
	if b.at == 0 {
		return nil
	}
	err := d.drv.memFree(b.at)
	*b = buffer{}
	return err
}

// inside reports whether n bytes from at on are in b.
func (b buffer) inside(at uint64, n int64) bool {
	return at >= b.at && n >= 0 && n <= b.size && at-b.at <= uint64(b.size-n)
}

// Fetch copies device memory to pinned memory and waits for it.
func (d *Device) Fetch(ctx context.Context, dst []byte, src uint64) error {
	if len(dst) == 0 {
		return nil
	}
	p := d.find(addressOf(dst), int64(len(dst)))
	if p == nil {
		return errors.New("cuda: target of a copy is not pinned memory of this device")
	}
	err := d.do(func() error {
		to := addressOf(dst)
		for n := int64(len(dst)); n > 0; {
			m := min(n, int64(p.base+((to-p.base)/p.chunk+1)*p.chunk-to))
			if err := d.drv.copyToHost(to, src, m, d.gathers); err != nil {
				return err
			}
			to, src, n = to+uint64(m), src+uint64(m), n-m
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.Drain(ctx)
}

// settle waits for the device's streams. That a lost context says so
// again is no news; but until it says so, copies may be on their way.
func (d *Device) settle() error {
	lost := d.lost != nil
	var all []error
	for _, stream := range []uintptr{d.copies, d.gathers} {
		if stream == 0 {
			continue
		}
		err := d.noted(d.drv.streamSynchronize(stream))
		if err == nil && stream == d.gathers {
			d.reached = d.gathered
		}
		if err != nil && !lost {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
