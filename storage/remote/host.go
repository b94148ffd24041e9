package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Kind says what to do about an error of a request.
type Kind uint8

const (
	// Final errors stay: what is absent, changed or forbidden.
	Final Kind = iota
	// Broken connections are tried again at once, from the byte that was reached.
	Broken
	// Busy servers are asked again later, and by fewer requests at a time.
	Busy
)

// Error is an error of a request that may be tried again. Other errors are final.
type Error struct {
	Err   error
	Kind  Kind
	After time.Duration // the server said how long to wait; 0 if it did not
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e *Error) Unwrap() error { return e.Err }

// The bounds of what is asked of one server.
const (
	startRequests = 32 // at a time
	mostRequests  = 64
	goodToRaise   = 16 // answers after which one more is allowed
	tries         = 10 // of one request
	patience      = 5 * time.Minute
	firstPause    = 100 * time.Millisecond
	longestPause  = 20 * time.Second
	reserve       = 64 // tries beyond the first, over all requests; an answer gives half of one back
)

// Host is one server.
type Host struct {
	mu       sync.Mutex
	free     sync.Cond
	limit    int // requests at a time
	running  int
	good     int // answers since the limit was changed
	tries    float64
	requests int64

	// Pause waits between two tries. Tests replace it, before the first request.
	Pause func(context.Context, time.Duration) error
}

// NewHost is a server that was not asked yet.
func NewHost() *Host {
	h := &Host{limit: startRequests, tries: reserve, Pause: sleep}
	h.free.L = &h.mu
	return h
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Hosts are servers by their addresses.
type Hosts struct {
	// Pause is that of each Host, unless it is nil.
	Pause func(context.Context, time.Duration) error

	mu  sync.Mutex
	all map[string]*Host
}

// Host is the server of an address.
func (s *Hosts) Host(address string) *Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.all[address]
	if h == nil {
		if h = NewHost(); s.Pause != nil {
			h.Pause = s.Pause
		}
		if s.all == nil {
			s.all = map[string]*Host{}
		}
		s.all[address] = h
	}
	return h
}

// Requests is how many requests were made to all of them, tries included.
func (s *Hosts) Requests() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all {
		n += h.Requests()
	}
	return n
}

// Requests is how many requests were made, tries included.
func (h *Host) Requests() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests
}

// Do makes a request, up to ten times within five minutes. An error says how often.
func (h *Host) Do(ctx context.Context, request func(context.Context) error) error {
	start, wait := time.Now(), firstPause
	for try := 1; ; try++ {
		err := h.once(ctx, request)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind == Final {
			return after(try, err)
		}
		pause := time.Duration(0)
		if e.Kind == Busy || try > 1 {
			pause = rand.N(wait)
			wait = min(2*wait, longestPause)
		}
		pause = max(pause, e.After)
		if try == tries || time.Since(start)+pause > patience {
			return after(try, err)
		}
		if !h.spend() {
			return fmt.Errorf("%w; so many requests to this server fail that no more are tried again", after(try, err))
		}
		if err := h.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

func after(try int, err error) error {
	if try == 1 {
		return err
	}
	return fmt.Errorf("%w (attempt %d)", err, try)
}

// once makes a request as soon as there is room for it.
func (h *Host) once(ctx context.Context, request func(context.Context) error) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	err := request(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	var e *Error
	switch {
	case err == nil:
		h.tries = min(h.tries+0.5, reserve)
		if h.good++; h.good >= goodToRaise && h.limit < mostRequests {
			h.limit, h.good = h.limit+1, 0
		}
	case errors.As(err, &e) && e.Kind == Busy:
		h.limit, h.good = max(h.limit/2, 1), 0
	}
	h.free.Broadcast()
	return err
}

func (h *Host) enter(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.free.Broadcast()
	})
	defer stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.running >= h.limit && ctx.Err() == nil {
		h.free.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h.running++
	h.requests++
	return nil
}

// spend takes one of the tries that requests have in common.
func (h *Host) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tries < 1 {
		return false
	}
	h.tries--
	return true
}
