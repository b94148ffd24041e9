package cuda

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unknown is the stream of a consumer that does not say which it is.
const unknown = ^uintptr(0)

// handover is what a slot knows of its consumer: between Done and Release it is the
// consumer's, and afterwards its streams have to leave it. It is used inside visits.
type handover struct {
	handed  bool // to a consumer that has not released it
	users   []user
	unknown bool // it is used on a stream that is not known
	// left is recorded where streams leave, in turn; leaves is how often. The next batch waits
	// for behind.
	left   [4]event
	leaves int
}

func (h *handover) behind() []event { return h.left[:min(h.leaves, len(h.left))] }

// user is a stream that works on the batch.
type user struct {
	stream uintptr
	thread int // of streamPerThread: the thread whose stream it is
}

// userOf is a stream as the calling thread means it.
func userOf(stream uintptr) user {
	switch stream {
	case streamLegacy:
		stream = 0
	case streamPerThread:
		return user{stream, unix.Gettid()}
	}
	return user{stream, 0}
}

// handle is how the calling thread names the stream. The default stream of another thread
// has no name here, but that of the context waits for what all of them have got to do.
func (u user) handle() uintptr {
	if u.stream == streamPerThread && u.thread != unix.Gettid() {
		return 0
	}
	return u.stream
}

func (h *handover) add(stream uintptr) {
	h.handed = true
	if stream == unknown {
		h.unknown = true
		return
	}
	u := userOf(stream)
	h.forget(u)
	h.users = append(h.users, u)
}

func (h *handover) forget(u user) {
	if i := slices.Index(h.users, u); i >= 0 {
		h.users = slices.Delete(h.users, i, i+1)
	}
}

// captured refuses a stream that is being captured: what was given to it would become
// part of a graph, and our streams with it.
func (d *Device) captured(stream uintptr) error {
	yes, err := d.drv.streamCapturing(stream)
	if yes {
		return ErrCapture
	}
	return err
}

var errNotDone = errors.New("cuda: slot is not done")

// Ready makes a stream wait for the batch and notes that it uses it. 0 and 1 are the
// legacy default stream, 2 is that of the calling thread.
func (s *Slot) Ready(stream uintptr) error {
	return s.d.do(func() error { return s.ready(stream) })
}

func (s *Slot) ready(stream uintptr) error {
	if !s.done {
		return errNotDone
	}
	if err := s.d.captured(stream); err != nil {
		return err
	}
	s.add(stream)
	if s.sends {
		if err := s.d.wait(stream, &s.sent); err != nil {
			return err
		}
	}
	if s.gathers {
		return s.d.wait(stream, &s.gathered)
	}
	return nil
}

// ofNumbers is the tensor of an Out of the batch's samples: Slot.Numbers.
const ofNumbers = -1

// Out is memory of the consumer on the device, for the first bytes of a tensor.
type Out struct {
	Tensor int
	To     uint64
	Bytes  int64
}

// CopyOut copies tensors to memory of the consumer, in order of its stream: several by one
// launch. The stream then leaves the slot, which may be released at once.
func (s *Slot) CopyOut(stream uintptr, list []Out) error {
	return s.d.do(func() error {
		if err := s.ready(stream); err != nil {
			return err
		}
		l := &s.launch
		*l = launch{tile: 1, slices: 1}
		total := int64(0)
		for _, o := range list {
			from := s.numbers
			if o.Tensor != ofNumbers {
				from = s.tensors[o.Tensor]
			}
			if o.Bytes > from.size {
				return fmt.Errorf("copy of %d bytes of a tensor of %d", o.Bytes, from.size)
			}
			if o.Bytes == 0 {
				continue
			}
			if o.To%16 != 0 { // the kernel moves whole words
				if err := s.d.drv.copyOnDevice(o.To, from.at, o.Bytes, stream); err != nil {
					return err
				}
				continue
			}
			l.column[l.sent] = column{dst: o.To, src: [2]uint64{from.at}, units: uint64(o.Bytes)}
			total += o.Bytes
			if l.sent++; l.sent == maxColumns {
				if err := s.copySent(stream, total); err != nil {
					return err
				}
				total = 0
			}
		}
		if err := s.copySent(stream, total); err != nil {
			return err
		}
		s.forget(userOf(stream))
		return s.leave(stream)
	})
}

// copySent copies what the launch has, which is on the device.
func (s *Slot) copySent(stream uintptr, total int64) (err error) {
	l := &s.launch
	switch c := &l.column[0]; l.sent {
	case 0:
	case 1:
		err = s.d.drv.copyOnDevice(c.dst, c.src[0], total, stream)
	default:
		blocks := min((total+sentBytes-1)/sentBytes, int64(s.d.wide))
		err = s.d.drv.launchStruct(s.d.kernels["batch"], uint32(blocks), blockThreads, stream, unsafe.Pointer(l))
	}
	l.sent = 0
	return err
}

// Place checks that an address is in memory of this device.
func (d *Device) Place(at uint64) error {
	return d.do(func() error {
		kind, err := d.drv.pointer(attrMemoryType, at)
		if err == nil && kind != memoryDevice {
			return fmt.Errorf("address %#x is not in the memory of a GPU", at)
		}
		if err != nil {
			return err
		}
		n, err := d.drv.pointer(attrMemoryOrdinal, at)
		if err == nil && int(n) != d.info.Ordinal {
			return fmt.Errorf("address %#x is in the memory of cuda:%d, want %s", at, n, d)
		}
		return err
	})
}

// Use notes a stream that uses the batch and need not be made to wait for it. With Unknown
// the consumer does not say which stream.
func (s *Slot) Use(stream uintptr) error {
	return s.d.do(func() error {
		if !s.done {
			return errNotDone
		}
		s.add(stream)
		return nil
	})
}

// Leave notes that all that a stream has to do with the batch was given to it: the stream
// may be destroyed afterwards. A consumer that was Unknown is on this one.
func (s *Slot) Leave(stream uintptr) error {
	return s.d.do(func() error {
		if !s.done {
			return errNotDone
		}
		if err := s.d.captured(stream); err != nil {
			return err
		}
		s.forget(userOf(stream))
		s.unknown = false
		return s.leave(stream)
	})
}

// leave records where a stream leaves the slot. Where that needs an event more than there
// are, the host waits for the oldest one. (To wait for the stream would not do: that of the
// context waits for others at its next operation only.)
func (s *Slot) leave(stream uintptr) error {
	e := &s.left[s.leaves%len(s.left)]
	if s.leaves >= len(s.left) {
		if err := s.d.drv.eventSynchronize(e.handle); err != nil {
			return err
		}
	}
	if err := s.d.record(e, stream); err != nil {
		return err
	}
	s.leaves++
	return nil
}

// Release frees the slot as soon as all streams that use the batch, and those given here,
// have done what they have got to do by now. Without any given, a consumer that is Unknown is
// waited for on the host. After ErrCapture the slot is not released.
func (s *Slot) Release(streams ...uintptr) error {
	if len(streams) == 0 && s.idle() {
		return nil
	}
	unknown := false
	err := s.d.do(func() error {
		for _, stream := range streams {
			s.add(stream)
		}
		for _, u := range s.users {
			if err := s.d.captured(u.handle()); err != nil {
				return err
			}
		}
		for _, u := range s.users {
			if err := s.leave(u.handle()); err != nil {
				return err
			}
		}
		unknown = s.unknown && len(streams) == 0
		s.users, s.handed = s.users[:0], unknown
		return nil
	})
	if err != nil || !unknown {
		return err
	}
	// Others call the driver meanwhile.
	if err := s.d.bracket(s.d.drv.synchronize); err != nil {
		return s.d.visit(func() error { return err })
	}
	s.d.order.Lock()
	defer s.d.order.Unlock()
	s.handed = false
	return nil
}

// idle releases a slot that no stream uses, of which the driver need not know.
func (s *Slot) idle() bool {
	s.d.order.Lock()
	defer s.d.order.Unlock()
	if len(s.users) > 0 || s.unknown || s.d.ended || s.d.lost != nil {
		return false
	}
	s.handed = false
	return true
}
