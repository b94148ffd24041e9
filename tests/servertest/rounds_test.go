package servertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	_ "github.com/shardify/shardify/tests/race"
)

// TestRoundsAreWhatAClientWaitsFor: requests at the same time are one round, however many they are.
func TestRoundsAreWhatAClientWaitsFor(t *testing.T) {
	r := &Rounds{Handler: http.NotFoundHandler()}
	s := httptest.NewServer(r)
	defer s.Close()
	requests := 0
	for _, together := range []int{1, 20, 3} {
		requests += together
		var wg sync.WaitGroup
		for range together {
			wg.Go(func() {
				a, err := http.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, a.Body)
				a.Body.Close()
			})
		}
		wg.Wait()
	}
	if n, rounds := r.Count(); n != requests || rounds != 3 {
		t.Errorf("%d requests in %d rounds, want %d in 3", n, rounds, requests)
	}
}
