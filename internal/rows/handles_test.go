package rows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardify/shardify"
)

// counted is an open file that tells whether it is used after it was closed.
type counted struct {
	f      *os.File
	bench  *bench
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.Swap(true) {
		c.bench.t.Error("closed twice")
	}
	c.bench.open.Add(-1)
	return c.f.Close()
}

// bench is a set of n small files and a cache for them.
type bench struct {
	t       *testing.T
	inputs  []Input
	handles *Handles[*counted]
	opened  atomic.Int64
	open    atomic.Int64
	fail    atomic.Bool
	before  func(ctx context.Context) error
	mu      sync.Mutex
	file    *os.File // that open refused last
}

func newBench(t *testing.T, n int) *bench {
	t.Helper()
	b := &bench{t: t}
	table := &shardify.Table{Roots: []string{t.TempDir()}}
	for i := range n {
		name := fmt.Sprint(i)
		if err := os.WriteFile(filepath.Join(table.Roots[0], name), []byte("abc"), 0o666); err != nil {
			t.Fatal(err)
		}
		table.Append(0, name, 3, 0)
	}
	set, err := Open(context.Background(), shardify.OpenArgs{Table: table}, Format{Name: "made", Look: func(context.Context, string, *Wanted) (*Facts, error) {
		return &Facts{Samples: 1, Size: 3, Fields: []Field{field("x", shardify.F32)}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.inputs = slices.Collect(set.Inputs())
	b.handles = NewHandles(func(ctx context.Context, f *os.File, in *Input) (*counted, error) {
		if b.before != nil {
			if err := b.before(ctx); err != nil {
				return nil, err
			}
		}
		if b.fail.Load() {
			b.mu.Lock()
			b.file = f
			b.mu.Unlock()
			return nil, shardify.Corrupt(7, "broken")
		}
		b.opened.Add(1)
		b.open.Add(1)
		return &counted{f: f, bench: b}, nil
	})
	return b
}

func (b *bench) acquire(i int) *Handle[*counted] {
	b.t.Helper()
	h, err := b.handles.Acquire(context.Background(), &b.inputs[i])
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func TestHandlesCloseTheLeastRecentlyUsed(t *testing.T) {
	b := newBench(t, MaxOpen+2)
	for i := range MaxOpen {
		b.acquire(i).Release()
	}
	b.acquire(0).Release() // now 1 is the oldest
	b.acquire(MaxOpen).Release()
	if n := b.open.Load(); n != MaxOpen {
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
		if err := b.handles.Close(); err != nil || b.open.Load() != 0 {
			t.Errorf("after Close %d are open, error %v", b.open.Load(), err)
		}
	}
	if _, err := b.handles.Acquire(context.Background(), &b.inputs[0]); err == nil {
		t.Error("a closed cache opens files")
	}
}

func TestMoreFilesInUseThanFitAreAllOpenAndThenClosed(t *testing.T) {
	b := newBench(t, 2*MaxOpen)
	var all []*Handle[*counted]
	for i := range b.inputs {
		all = append(all, b.acquire(i))
	}
	for i, h := range all {
		if h.Value.closed.Load() {
			t.Fatalf("file %d was closed in use", i)
		}
		h.Release()
	}
	if n := b.open.Load(); n != MaxOpen {
		t.Errorf("%d files are open", n)
	}
	last := b.acquire(0)
	b.handles.Close()
	if n := b.open.Load(); n != 1 {
		t.Errorf("after Close, with one in use, %d are open", n)
	}
	if last.Release(); b.open.Load() != 0 {
		t.Error("released after Close it stays open")
	}
}

func TestOneFileIsOpenedOnceForAll(t *testing.T) {
	b := newBench(t, 1)
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

func TestErrorsOfOpeningNameTheFileAndAreNotKept(t *testing.T) {
	b := newBench(t, 1)
	b.fail.Store(true)
	_, err := b.handles.Acquire(context.Background(), &b.inputs[0])
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.HasPrefix(err.Error(), "open 0 at byte 7: broken") {
		t.Errorf("error %v", err)
	}
	if err := b.file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file stays open: %v", err)
	}
	b.fail.Store(false)
	b.acquire(0).Release()
	if err := os.Remove(b.inputs[0].Path()); err != nil {
		t.Fatal(err)
	}
	b.acquire(0).Release() // open still
	b.handles.Close()
}

// TestCancelOfWhoOpensIsNoErrorForWhoWaits: the next one opens the file itself.
func TestCancelOfWhoOpensIsNoErrorForWhoWaits(t *testing.T) {
	b := newBench(t, 1)
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
		_, err := b.handles.Acquire(ctx, &b.inputs[0])
		first <- err
	}()
	<-inside
	second := make(chan error)
	go func() {
		h, err := b.handles.Acquire(context.Background(), &b.inputs[0])
		if err == nil {
			h.Release()
		}
		second <- err
	}()
	for waiting := false; !waiting; runtime.Gosched() {
		b.handles.mu.Lock()
		waiting = b.handles.files[0].users == 2
		b.handles.mu.Unlock()
	}
	// One who waits and is cancelled himself goes away at once.
	gone, cancelGone := context.WithCancel(context.Background())
	cancelGone()
	if _, err := b.handles.Acquire(gone, &b.inputs[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the other: %v", err)
	}
	b.handles.Close()
	if b.open.Load() != 0 {
		t.Error("a file stays open")
	}
}

// TestHandlesUnderManyReaders mixes everything, for the race detector and for the
// invariants: nothing is used after it is closed, nothing stays open.
func TestHandlesUnderManyReaders(t *testing.T) {
	b := newBench(t, 3*MaxOpen)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var held []*Handle[*counted]
			for k := range 2000 {
				if g == 0 && k%50 == 0 {
					b.fail.Store(k%100 == 0)
				}
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(20) == 0 {
					cancel()
				}
				h, err := b.handles.Acquire(ctx, &b.inputs[rng.IntN(len(b.inputs))])
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
	if n := b.open.Load(); n > MaxOpen {
		t.Errorf("%d files are open", n)
	}
	b.handles.Close()
	if n := b.open.Load(); n != 0 || len(b.handles.files) != 0 {
		t.Errorf("%d files stay open", n)
	}
}

// TestReopenLeavesNoOldFileInTheCache: those in use are closed by their last user.
func TestReopenLeavesNoOldFileInTheCache(t *testing.T) {
	b := newBench(t, 3)
	b.acquire(0).Release()
	used := b.acquire(1)
	b.handles.Reopen()
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
	if err := b.handles.Close(); err != nil || b.opened.Load() != 3 || b.open.Load() != 0 {
		t.Errorf("%v, %d opened, %d open", err, b.opened.Load(), b.open.Load())
	}
}
