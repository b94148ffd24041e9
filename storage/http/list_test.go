package http

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
)

// TestWhoWaitsForAListingMayStop while another asks for it.
func TestWhoWaitsForAListingMayStop(t *testing.T) {
	var l listings
	asked, answer, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = l.get(context.Background(), "a/", func() ([]storage.Entry, error) {
			close(asked)
			<-answer
			return nil, nil
		})
	}()
	<-asked
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.get(ctx, "a/", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(answer)
	<-done
	if _, err := l.get(context.Background(), "a/", nil); err != nil {
		t.Error(err)
	}
}
