package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardify/shardify/gpuload"
)

// lease counts the holders of a lent batch or a detached tensor. A tensor without holders
// goes into list. It is C's memory, since the deleters of DLPack, which must not enter Go,
// count in it: lease in dlpack.c.
type lease struct {
	held int64
	list *uintptr // nil: of a batch
	next *lease
}

var (
	newLease  func() *lease
	freeLease func(*lease)
)

// away is the tensors that the caller has, with memory of their own.
type away struct {
	list *lease // its next is the first that came back

	mu       sync.Mutex
	all      map[*lease]*gpuload.Detached
	closed   bool // only a goroutine sweeps:
	watching bool
}

func newAway() *away {
	a := &away{list: newLease(), all: map[*lease]*gpuload.Detached{}}
	runtime.AddCleanup(a, freeLease, a.list)
	return a
}

// add returns the address of a lease that the caller holds.
func (a *away) add(d *gpuload.Detached) int64 {
	l := newLease()
	l.list = (*uintptr)(unsafe.Pointer(&a.list.next))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[l] = d
	a.watch()
	return int64(uintptr(unsafe.Pointer(l)))
}

// sweep frees what came back.
func (a *away) sweep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := (*lease)(atomic.SwapPointer((*unsafe.Pointer)(unsafe.Pointer(&a.list.next)), nil))
	for l != nil {
		next := l.next
		a.all[l].Free()
		delete(a.all, l)
		freeLease(l)
		l = next
	}
}

func (a *away) close() {
	a.sweep()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.watch()
}

// watch sweeps on its own goroutine what remains after close. Tensors may be kept for ever,
// so it looks less and less often. The caller holds mu.
func (a *away) watch() {
	if !a.closed || a.watching || len(a.all) == 0 {
		return
	}
	a.watching = true
	go func() {
		for wait := orphansEvery; ; wait = min(2*wait, time.Minute) {
			time.Sleep(wait)
			a.sweep()
			a.mu.Lock()
			a.watching = len(a.all) > 0
			on := a.watching
			a.mu.Unlock()
			if !on {
				return
			}
		}
	}()
}

// patience is a context that ends some time after it was first waited for. Most calls
// never wait, and a timer takes as long as to make a small batch.
type patience struct {
	wait  time.Duration
	done  chan struct{}
	timer *time.Timer
}

func (p *patience) Done() <-chan struct{} {
	if p.done == nil {
		p.done = make(chan struct{})
		p.timer = time.AfterFunc(p.wait, func() { close(p.done) })
	}
	return p.done
}

func (p *patience) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (p *patience) Deadline() (time.Time, bool) { return time.Time{}, false }

func (p *patience) Value(any) any { return nil }

func (p *patience) end() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
