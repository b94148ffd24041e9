package load

import (
	"sync"
	"sync/atomic"
)

// Crew is the goroutines that a Loader's work may use beside those that ask for
// it.
type Crew struct {
	tokens chan struct{}
	cores  []int // that its work is done on; nil is all
}

// NewCrew is a crew of so many helpers.
func NewCrew(helpers int) *Crew {
	c := &Crew{tokens: make(chan struct{}, max(helpers, 0))}
	for range cap(c.tokens) {
		c.tokens <- struct{}{}
	}
	return c
}

// helpers is how many there are.
func (c *Crew) helpers() int {
	if c == nil {
		return 0
	}
	return cap(c.tokens)
}

// Near has the crew's work done on some cores, as far as this process may use them, and
// returns how many these are. If it may use no core of them, or has no other, nothing
// changes.
func (c *Crew) Near(cores []int) int {
	some := allowed(cores)
	if len(some) == 0 || len(some) == CoresAllowed() {
		return 0
	}
	c.cores = some
	return len(some)
}

// Bind keeps the calling goroutine on the crew's cores until the returned function is called.
func (c *Crew) Bind() (unbind func()) {
	if c == nil || c.cores == nil {
		return func() {}
	}
	return bindThread(c.cores)
}

// Each calls f for 0 to n-1, on this goroutine and on free helpers, and returns
// the error of the lowest i that was seen to fail. After an error no further call
// begins.
func (c *Crew) Each(n int, f func(i int) error) error {
	if n == 1 || c.helpers() == 0 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	w := work{n: int64(n), f: f, at: -1}
	var wg sync.WaitGroup
	for range min(n-1, cap(c.tokens)) {
		select {
		case <-c.tokens:
			wg.Go(func() {
				defer c.Bind()()
				w.run()
				c.tokens <- struct{}{}
			})
			continue
		default:
		}
		break
	}
	w.run()
	wg.Wait()
	return w.err
}

type work struct {
	n    int64
	f    func(int) error
	next atomic.Int64
	mu   sync.Mutex
	at   int64 // of err
	err  error
}

func (w *work) run() {
	for {
		i := w.next.Add(1) - 1
		if i >= w.n {
			return
		}
		if err := w.f(int(i)); err != nil {
			w.mu.Lock()
			if w.err == nil || i < w.at {
				w.at, w.err = i, err
			}
			w.mu.Unlock()
			w.next.Store(w.n)
			return
		}
	}
}
