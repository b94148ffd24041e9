package gpuload

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// large is a set that is not checked before its first batch: more than load.ScrubWhole.
var large = setOptions{format: index.FormatMmap, schema: "h:i16*12000,x:i32", samples: 6000, shard: 2500}

// TestAutoDeliversWhileItFillsMemory: the batches are those of pinned, in the same order, and come from
// memory in the end.
func TestAutoDeliversWhileItFillsMemory(t *testing.T) {
	d := mustOpen(t, makeSet(t, large))
	goroutines := runtime.NumGoroutine()
	for _, shuffle := range []Shuffle{Block, Global} {
		c := Config{Batch: 512, Shuffle: shuffle, Seed: 3, Last: Short, Memory: 1 << 30}
		pinned := c
		pinned.Tier = TierPinned
		a, p := mustLoader(t, d, c), mustLoader(t, d, pinned)
		if !a.from.Early || p.from.Early {
			t.Fatalf("auto is early: %v, pinned: %v", a.from.Early, p.from.Early)
		}
		for epoch, filled := 0, false; epoch < 20 && !filled; {
			x, err := a.Next(bg)
			y, err2 := p.Next(bg)
			if err == io.EOF && err2 == io.EOF {
				epoch, filled = epoch+1, a.from.Pinned.Filled()
				continue
			}
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			for _, name := range []string{"h", "x"} {
				if !bytes.Equal(x.Host(name), y.Host(name)) {
					t.Fatalf("epoch %d: another %s", epoch, name)
				}
			}
			x.Release()
			y.Release()
		}
		for i := 0; i < 12_000 && !a.from.Pinned.Filled(); i++ {
			time.Sleep(10 * time.Millisecond)
		}
		if !a.from.Pinned.Filled() || a.Stats().Tier != TierPinned {
			t.Errorf("memory is filled: %v, tier %s", a.from.Pinned.Filled(), a.Stats().Tier)
		}
		a.Close()
		p.Close()
	}
	for range 5 { // closed, and started again, while memory is filled
		l := mustLoader(t, d, Config{Batch: 8, Shuffle: Global, Memory: 1 << 30})
		for range 2 {
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
			if err := l.SetEpoch(1); err != nil {
				t.Fatal(err)
			}
		}
		if b, err := l.Next(bg); err != nil {
			t.Fatal(err)
		} else {
			b.Release()
		}
		l.Close()
		if n := l.meter.Usage.Host.Load(); n != 0 {
			t.Errorf("%d bytes are not given back", n)
		}
	}
	for i := 0; i < 12_000 && runtime.NumGoroutine() > goroutines; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines more than before", n-goroutines)
	}
}

// TestAutoFindsDamageWhileItFillsMemory: the checksums are compared, if not before the first batch.
func TestAutoFindsDamageWhileItFillsMemory(t *testing.T) {
	dir := makeSet(t, large)
	name := shardsOf(t, dir, "*.safetensors")[2]
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	f.ReadAt(b[:], 5<<20)
	b[0] ^= 1
	f.WriteAt(b[:], 5<<20)
	f.Close()
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 8, Memory: 1 << 30})
	for end := time.Now().Add(2 * time.Minute); err == nil && time.Now().Before(end); {
		err = readAll(l, nil)
	}
	var e *shardify.Error
	if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.File != name {
		t.Errorf("error is %v", err)
	}
}

// TestWindowsKeepToMemory: a Block shuffle whose windows do not fit reads its samples one by one.
func TestWindowsKeepToMemory(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "h:i16*600,v:f32*40", samples: 8000, shard: 3000}))
	for _, memory := range []int64{2 << 20, 8 << 20, 64 << 20} {
		l := mustLoader(t, d, Config{Batch: 16, Shuffle: Block, Tier: TierStream, Memory: memory})
		if err := readAll(l, nil); err != nil {
			t.Fatal(err)
		}
		slots := int64(0)
		for _, s := range l.queue.slots {
			for i := range s.Table.Data {
				slots += int64(len(s.Table.Data[i]))
			}
		}
		if n := l.meter.Usage.Host.Load() - slots; n > memory {
			t.Errorf("windows take %d bytes, memory is %d", n, memory)
		} else if (n > 0) != (memory == 64<<20) {
			t.Errorf("windows take %d bytes of %d", n, memory)
		}
		l.Close()
	}
}
