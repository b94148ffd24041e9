package openfiles

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/shardify/shardify/tests/race"
)

const most = 64

var errBroken = errors.New("broken")

// counted is an open file that reports whether it is used after it was closed.
type counted struct {
	bench  *bench
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.Swap(true) {
		c.bench.t.Error("closed twice")
	}
	c.bench.open.Add(-1)
	return nil
}

// bench is a cache of files that count.
type bench struct {
	t      *testing.T
	files  *Cache[int, *counted]
	opened atomic.Int64
	open   atomic.Int64
	fail   atomic.Bool
	before func(ctx context.Context) error
}

func newBench(t *testing.T) *bench { return &bench{t: t, files: New[int, *counted](most)} }

func (b *bench) try(ctx context.Context, i int) (*Handle[int, *counted], error) {
	return b.files.Acquire(ctx, i, func(ctx context.Context) (*counted, error) {
		if b.before != nil {
			if err := b.before(ctx); err != nil {
				return nil, err
			}
		}
		if b.fail.Load() {
			return nil, errBroken
		}
		b.opened.Add(1)
		b.open.Add(1)
		return &counted{bench: b}, nil
	})
}

func (b *bench) acquire(i int) *Handle[int, *counted] {
	b.t.Helper()
	h, err := b.try(context.Background(), i)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func TestTheLeastRecentlyUsedIsClosed(t *testing.T) {
	b := newBench(t)
	for i := range most {
		b.acquire(i).Release()
	}
	b.acquire(0).Release() // now 1 is the oldest
	b.acquire(most).Release()
	if n := b.open.Load(); n != most {
		t.Errorf("%d files are open", n)
	}
	before := b.opened.Load()
	b.acquire(0).Release()
	if b.opened.Load() != before {
		t.Error("the one used last was closed")
	}
	b.acquire(1).Release()
	if b.opened.Load() != before+1 {
		t.Error("the oldest was kept")
	}
	for range 2 {
		if err := b.files.Close(); err != nil || b.open.Load() != 0 {
			t.Errorf("after Close %d are open, error %v", b.open.Load(), err)
		}
	}
	if _, err := b.try(context.Background(), 0); err == nil {
		t.Error("a closed cache opens files")
	}
}

func TestMoreFilesInUseThanFitAreAllOpenAndThenClosed(t *testing.T) {
	b := newBench(t)
	var all []*Handle[int, *counted]
	for i := range 2 * most {
		all = append(all, b.acquire(i))
	}
	for i, h := range all {
		if h.Value.closed.Load() {
			t.Fatalf("file %d was closed in use", i)
		}
		h.Release()
	}
	if n := b.open.Load(); n != most {
		t.Errorf("%d files are open", n)
	}
	last := b.acquire(0)
	b.files.Close()
	if n := b.open.Load(); n != 1 {
		t.Errorf("after Close, with one in use, %d are open", n)
	}
	if last.Release(); b.open.Load() != 0 {
		t.Error("released after Close it stays open")
	}
}

func TestOneFileIsOpenedOnceForAll(t *testing.T) {
	b := newBench(t)
	started := make(chan struct{})
	b.before = func(context.Context) error { <-started; return nil }
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { b.acquire(0).Release() })
	}
	close(started)
	wg.Wait()
	if n := b.opened.Load(); n != 1 {
		t.Errorf("opened %d times", n)
	}
}

func TestErrorsOfOpeningAreNotKept(t *testing.T) {
	b := newBench(t)
	b.fail.Store(true)
	if _, err := b.try(context.Background(), 0); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	b.fail.Store(false)
	b.acquire(0).Release()
	b.fail.Store(true)
	b.acquire(0).Release() // open still
	b.files.Close()
}

// TestCancelOfWhoOpensIsNoErrorForWhoWaits: the next one opens the file itself.
func TestCancelOfWhoOpensIsNoErrorForWhoWaits(t *testing.T) {
	b := newBench(t)
	inside := make(chan struct{})
	var once sync.Once
	b.before = func(ctx context.Context) error {
		var err error
		once.Do(func() {
			close(inside)
			<-ctx.Done()
			err = ctx.Err()
		})
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := b.try(ctx, 0)
		first <- err
	}()
	<-inside
	second := make(chan error)
	go func() {
		h, err := b.try(context.Background(), 0)
		if err == nil {
			h.Release()
		}
		second <- err
	}()
	for waiting := false; !waiting; runtime.Gosched() {
		b.files.mu.Lock()
		waiting = b.files.files[0].users == 2
		b.files.mu.Unlock()
	}
	// A waiter that is cancelled returns at once.
	gone, cancelGone := context.WithCancel(context.Background())
	cancelGone()
	if _, err := b.try(gone, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the other: %v", err)
	}
	b.files.Close()
	if b.open.Load() != 0 {
		t.Error("a file stays open")
	}
}

// TestManyReaders mixes everything, for the race detector and for the
// invariants: nothing is used after it is closed, nothing stays open.
func TestManyReaders(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var held []*Handle[int, *counted]
			for k := range 2000 {
				if g == 0 && k%50 == 0 {
					b.fail.Store(k%100 == 0)
				}
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(20) == 0 {
					cancel()
				}
				h, err := b.try(ctx, rng.IntN(3*most))
				cancel()
				if err == nil {
					held = append(held, h)
				}
				for _, x := range held {
					if x.Value.closed.Load() {
						t.Error("closed in use")
					}
				}
				if len(held) > 12 || err != nil {
					for _, x := range held {
						x.Release()
					}
					held = held[:0]
				}
			}
			for _, x := range held {
				x.Release()
			}
		})
	}
	wg.Wait()
	if n := b.open.Load(); n > most {
		t.Errorf("%d files are open", n)
	}
	b.files.Close()
	if n := b.open.Load(); n != 0 || len(b.files.files) != 0 {
		t.Errorf("%d files stay open", n)
	}
}

// TestReopenLeavesNoOldFileInTheCache: those in use are closed by their last user.
func TestReopenLeavesNoOldFileInTheCache(t *testing.T) {
	b := newBench(t)
	b.acquire(0).Release()
	used := b.acquire(1)
	b.files.Reopen()
	if n := b.open.Load(); n != 1 {
		t.Errorf("%d files are open, want the one in use", n)
	}
	again := b.acquire(1)
	if again.Value == used.Value || b.opened.Load() != 3 {
		t.Error("an old file was handed out")
	}
	used.Release()
	if n := b.open.Load(); n != 1 || !used.Value.closed.Load() || again.Value.closed.Load() {
		t.Errorf("%d files are open, want the new one", n)
	}
	again.Release()
	b.acquire(1).Release()
	if err := b.files.Close(); err != nil || b.opened.Load() != 3 || b.open.Load() != 0 {
		t.Errorf("%v, %d opened, %d open", err, b.opened.Load(), b.open.Load())
	}
}
