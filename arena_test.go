package shardify

import (
	"context"
	"sync"
	"testing"
	"time"

	_ "github.com/shardify/shardify/tests/race"
)

func TestClassHoldsItsSizeAndWastesAtMostAQuarter(t *testing.T) {
	prev, prevSize := -1, 0
	for n := 1; n < 1<<22; n += 1 + n/97 {
		c, size := class(n)
		if size < n {
			t.Fatalf("class(%d) has %d bytes", n, size)
		}
		if n > smallest && size-n > size/4 {
			t.Fatalf("class(%d) has %d bytes: wastes more than a quarter", n, size)
		}
		if c < prev || (c == prev) != (size == prevSize) || c >= classes {
			t.Fatalf("class(%d) = %d of %d bytes after %d of %d", n, c, size, prev, prevSize)
		}
		prev, prevSize = c, size
	}
	if c, _ := class(1 << 50); c >= classes {
		t.Fatalf("class of 1 PiB is %d", c)
	}
}

func TestPoolNeverGrantsMoreThanItsLimit(t *testing.T) {
	p := NewPool(1 << 20)
	var mu sync.Mutex
	var held, most int64
	var wg sync.WaitGroup
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 200; i++ {
				n := int64(1000 + (i*7919+g*104729)%300000)
				a, err := p.Grant(context.Background(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				held += n
				most = max(most, held)
				mu.Unlock()
				b := a.Alloc(int(n) / 2)
				b[0], b[len(b)-1] = 1, 2
				mu.Lock()
				held -= n
				mu.Unlock()
				a.Release()
			}
		}()
	}
	wg.Wait()
	if most > 1<<20 {
		t.Errorf("granted %d bytes at once, limit %d", most, 1<<20)
	}
	if p.granted != 0 || p.used != 0 {
		t.Errorf("after all releases: granted %d, used %d", p.granted, p.used)
	}
	if p.Peak() > 1<<20+8*(1<<18) {
		t.Errorf("peak %d", p.Peak())
	}
}

func TestGrantIsOrderedAndCancellable(t *testing.T) {
	p := NewPool(100)
	a, _ := p.Grant(context.Background(), 80)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { _, err := p.Grant(ctx, 90); failed <- err }()
	for p.waiters() < 1 {
		time.Sleep(time.Millisecond)
	}
	got := make(chan *Arena)
	go func() { b, _ := p.Grant(context.Background(), 10); got <- b }()
	for p.waiters() < 2 {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-got:
		t.Fatal("a later small grant overtook an earlier large one")
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	if err := <-failed; err == nil {
		t.Fatal("a cancelled grant succeeded")
	}
	b := <-got
	b.Release()
	a.Release()
	if c, err := p.Grant(context.Background(), 1000); err != nil {
		t.Fatal(err)
	} else {
		c.Release()
	}
	if p.granted != 0 {
		t.Fatalf("granted %d at the end", p.granted)
	}
}

func (p *Pool) waiters() int { p.mu.Lock(); defer p.mu.Unlock(); return p.waiting.Len() }

// TestReleaseTwice: a second release must not give one arena, or its buffers, to two.
func TestReleaseTwice(t *testing.T) {
	p := NewPool(1 << 20)
	a, err := p.Grant(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	a.Alloc(500)
	a.Release()
	b, _ := p.Grant(context.Background(), 2000)
	mine := b.Alloc(500)
	a.Release() // by a caller that comes late
	c, _ := p.Grant(context.Background(), 3000)
	d := p.Overdraft()
	if b == c || b == d || c == d {
		t.Fatal("one arena was given to two")
	}
	if other := c.Alloc(500); &mine[0] == &other[0] {
		t.Fatal("one buffer was given to two")
	}
	a.Release()
	if p.granted != 5000 || p.live.Len() != 2 {
		t.Fatalf("%d bytes in %d grants, want 5000 in 2", p.granted, p.live.Len())
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(b.Release)
	}
	wg.Wait()
	c.Release()
	d.Release()
	if p.granted != 0 || p.used != 0 || p.live.Len() != 0 {
		t.Fatalf("%d bytes granted and %d used after all was released", p.granted, p.used)
	}
}
