package shardify

import (
	"context"
	"errors"
	"testing"
	"time"
)

// granted is a grant that must not wait.
func granted(t *testing.T, p *Pool, bytes int64) *Arena {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	a, err := p.Grant(ctx, bytes)
	if err != nil {
		t.Fatalf("grant of %d: %v", bytes, err)
	}
	return a
}

// waits reports whether f still runs after a while, and what it returned in the end.
func waits(f func() error) (waited bool, done chan error) {
	done = make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		done <- err
		return false, done
	case <-time.After(20 * time.Millisecond):
		return true, done
	}
}

// TestScratchCountsAgainstTheLimit: what readers hold and what is granted are at most the limit,
// unless it is for the oldest span, for which no release makes room.
func TestScratchCountsAgainstTheLimit(t *testing.T) {
	ctx := context.Background()
	p := NewPool(100)
	first, second := granted(t, p, 30), granted(t, p, 30)
	var a, b Scratch
	if err := a.Hold(ctx, second, 40); err != nil {
		t.Fatal(err)
	}
	waited, done := waits(func() error { return a.Hold(ctx, second, 60) })
	if !waited {
		t.Error("60 of scratch fit beside grants of 60 in 100")
	}
	if err := b.Hold(ctx, first, 70); err != nil {
		t.Fatal(err)
	}
	b.Close()
	first.Release() // the second is the oldest now
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	waited, more := waits(func() error { x, err := p.Grant(ctx, 30); x.Release(); return err })
	if !waited {
		t.Error("30 were granted beside 30 and 60 of scratch in 100")
	}
	if err := a.Hold(ctx, second, 10); err != nil {
		t.Fatal(err)
	}
	if err := <-more; err != nil {
		t.Error(err)
	}
	second.Release()
	a.Close()
	if p.scratch != 0 || p.readers != 0 || p.granted != 0 || p.live.Len() != 0 {
		t.Errorf("left: %d of scratch of %d readers, %d granted to %d", p.scratch, p.readers, p.granted, p.live.Len())
	}
}

// TestScratchForARepairDoesNotWait: its span's own memory is held meanwhile.
func TestScratchForARepairDoesNotWait(t *testing.T) {
	p := NewPool(100)
	defer granted(t, p, 90).Release()
	var s Scratch
	defer s.Close()
	if waited, _ := waits(func() error { return s.Hold(context.Background(), p.Overdraft(), 50) }); waited {
		t.Error("it waits")
	}
}

func TestCancelledScratchIsNotHeld(t *testing.T) {
	p := NewPool(100)
	first, second := granted(t, p, 50), granted(t, p, 50)
	ctx, cancel := context.WithCancelCause(context.Background())
	var s Scratch
	waited, done := waits(func() error { return s.Hold(ctx, second, 20) })
	why := errors.New("enough")
	cancel(why)
	if err := <-done; !waited || !errors.Is(err, why) {
		t.Errorf("waited %v, then %v", waited, err)
	}
	s.Close()
	first.Release()
	second.Release()
	granted(t, p, 100).Release()
	if p.scratch != 0 {
		t.Errorf("%d of scratch are left", p.scratch)
	}
}

func TestReadersShareAQuarterOfThePool(t *testing.T) {
	p := NewPool(800)
	mem := granted(t, p, 1)
	defer mem.Release()
	var a, b Scratch
	if n := a.Share(); n != 0 {
		t.Errorf("of no pool: %d", n)
	}
	a.Hold(context.Background(), mem, 0)
	if n := a.Share(); n != 200 {
		t.Errorf("alone: %d", n)
	}
	b.Hold(context.Background(), mem, 0)
	if n := a.Share(); n != 100 {
		t.Errorf("one of two: %d", n)
	}
	b.Close()
	if n := a.Share(); n != 200 {
		t.Errorf("alone again: %d", n)
	}
	a.Close()
}
