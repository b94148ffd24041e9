package cuda

import (
	"runtime"
	"sync"
)

// thread runs functions on one operating system thread.
type thread struct {
	jobs chan *job
	quit chan struct{}
	once sync.Once
	done chan struct{}
}

type job struct {
	f      func() error
	result chan error
}

var jobs = sync.Pool{New: func() any { return &job{result: make(chan error, 1)} }}

func newThread() *thread {
	t := &thread{jobs: make(chan *job), quit: make(chan struct{}), done: make(chan struct{})}
	go t.run()
	return t
}

// run never unlocks the thread: it ends with the goroutine, and with it what the
// driver keeps for it.
func (t *thread) run() {
	runtime.LockOSThread()
	defer close(t.done)
	for {
		select {
		case j := <-t.jobs:
			j.result <- j.f()
		case <-t.quit:
			return
		}
	}
}

// do runs f on the thread and returns what it returns. Calls run one after the
// other. After stop it is ErrClosed.
func (t *thread) do(f func() error) error {
	j := jobs.Get().(*job)
	j.f = f
	select {
	case t.jobs <- j:
		err := <-j.result
		j.f = nil
		jobs.Put(j)
		return err
	case <-t.done:
		return ErrClosed
	}
}

// stop ends the thread after the call at work.
func (t *thread) stop() {
	t.once.Do(func() { close(t.quit) })
	<-t.done
}
