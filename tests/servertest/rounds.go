package servertest

import (
	"net/http"
	"sync"
	"time"

	"github.com/shardify/shardify/tests/busy"
)

// Rounds is a server that answers its requests together, once no more arrive and this process
// waits for their answers, so that it counts how often a client of this process waits.
type Rounds struct {
	http.Handler

	mu       sync.Mutex
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
		s.next = make(chan struct{})
		go s.round(s.next)
	}
	next := s.next
	s.mu.Unlock()
	<-next
}

// quiet is without a request, and without anything else that this process does.
const quiet = 20 * time.Millisecond

func (s *Rounds) round(next chan struct{}) {
	seen := 0
	busy.Quiet(quiet, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		before := seen
		seen = s.requests
		return seen > before
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	s.next = nil
	close(next)
}

// Count is how many requests came, in how many rounds. Later ones are answered at once.
func (s *Rounds) Count() (requests, rounds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	return s.requests, s.rounds
}
