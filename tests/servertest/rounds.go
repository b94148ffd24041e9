package servertest

import (
	"net/http"
	"sync"
	"time"
)

// Rounds is a server that answers its requests together, once no more arrive, so that it counts how
// often a client waits. On a busy machine one round may be taken for two: repeat a check that
// counts too many with a longer Quiet.
type Rounds struct {
	http.Handler
	Quiet time.Duration // without a request

	mu       sync.Mutex
	timer    *time.Timer
	next     chan struct{} // closed when the round ends
	off      bool
	rounds   int
	requests int
}

// ServeHTTP implements http.Handler.
func (s *Rounds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.wait()
	s.Handler.ServeHTTP(w, r)
}

func (s *Rounds) wait() {
	s.mu.Lock()
	if s.off {
		s.mu.Unlock()
		return
	}
	s.requests++
	if s.next == nil {
		next := make(chan struct{})
		s.next = next
		s.timer = time.AfterFunc(s.Quiet, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.next != next {
				return // the timer was set again when it had fired
			}
			s.rounds++
			s.next = nil
			close(next)
		})
	} else {
		s.timer.Reset(s.Quiet)
	}
	next := s.next
	s.mu.Unlock()
	<-next
}

// Count is how many requests came, in how many rounds. Later ones are answered at once.
func (s *Rounds) Count() (requests, rounds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	return s.requests, s.rounds
}
