package gpuload

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/race"
)

// flip changes one byte of a file's data.
func flip(t testing.TB, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)*3/4] ^= 0x40
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheStreamTierFindsDamage before the first batch of a small set, and in a large one
// while it runs, in every order, by the rank whose part it is.
func TestTheStreamTierFindsDamage(t *testing.T) {
	race.Sequential(t)
	for format, ext := range map[string]string{index.FormatMmap: "*.safetensors", index.FormatWDS: "*.tar"} {
		dir := makeSet(t, setOptions{format: format, schema: "x:f32[300],hits:f32*", samples: 120, shard: 10})
		name := shardsOf(t, dir, ext)[7]
		flip(t, name)
		d := mustOpen(t, dir)
		for _, c := range []Config{{Shuffle: None}, {Shuffle: Global}, {Shuffle: Block, ShuffleWindow: 40, Streams: 4}} {
			c.Tier, c.Batch, c.World = TierStream, 5, 3
			found := func(err error) bool {
				return errors.Is(err, shardify.ErrCorrupt) && strings.Contains(err.Error(), filepath.Base(name))
			}
			small := c
			small.World = 1
			if err := readAll(mustLoader(t, d, small), nil); !found(err) {
				t.Errorf("%s, %s, small: %v", format, c.Shuffle, err)
			}
			for rank := range 3 {
				c.Rank = rank
				l := asLarge(t, d, c)
				if rank != 7%3 {
					l.from.scrub.Delivered = func() int64 { return 1 << 40 }
					if err := l.from.scrub.Run(bg); err != nil {
						t.Errorf("%s: rank %d checks another one's shard: %v", format, rank, err)
					}
					continue
				}
				var err error
				for epoch := 0; epoch < 100 && err == nil; epoch++ {
					err = readAll(l, func(*Batch) { time.Sleep(time.Millisecond) })
				}
				if !found(err) {
					t.Errorf("%s, %s: %v", format, c.Shuffle, err)
				}
				l.Close()
				if used := l.from.scrub.Used - load.ScrubAhead; used > l.meter.Delivered.Load()+1<<20 {
					t.Errorf("%d bytes were read for checks, %d delivered", used, l.meter.Delivered.Load())
				}
			}
		}
	}
}

// TestAWaitingLoaderChecksAll: where the trainer computes longer than its batches take, all shards are
// checked within about an epoch, however large the set is.
func TestAWaitingLoaderChecksAll(t *testing.T) {
	for format, ext := range map[string]string{index.FormatMmap: "*.safetensors", index.FormatWDS: "*.tar", index.FormatMegatron: "*.bin"} {
		schema := "x:f32[300],hits:f32*"
		if format == index.FormatMegatron {
			schema = "x:i32*300"
		}
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 120, shard: 10})
		all := shardsOf(t, dir, ext)
		name := all[len(all)-1]
		flip(t, name)
		for _, c := range []Config{{Shuffle: None, Workers: 1}, {Shuffle: Global}, {Shuffle: Block, ShuffleWindow: 40, Streams: 4}} {
			c.Tier, c.Batch, c.Depth, c.World = TierStream, 2, 3, 1
			l := asLarge(t, mustOpen(t, dir), c)
			var looks atomic.Int64 // of the check, whether it may read
			delivered := l.from.scrub.Delivered
			l.from.scrub.Delivered = func() int64 { looks.Add(1); return delivered() }
			var err error
			for epoch := 0; epoch < 3 && err == nil; epoch++ { // without the waiting it takes eight
				err = readAll(l, func(*Batch) {
					for wait := time.Now(); !l.queue.spare() && time.Since(wait) < 50*time.Millisecond; {
						time.Sleep(time.Millisecond)
					}
					n := looks.Load()
					for wait := time.Now(); looks.Load() < n+2 && time.Since(wait) < 100*time.Millisecond; {
						time.Sleep(time.Millisecond)
					}
				})
			}
			if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Errorf("%s, %s: %v", format, c.Shuffle, err)
			}
			l.Close()
		}
	}
}

// asLarge is a Loader of a small set that treats it as a large one, with nothing read
// ahead for checks.
func asLarge(t testing.TB, d *Dataset, c Config) *Loader {
	t.Helper()
	l := mustLoader(t, d, c)
	l.from.Shards.Verify = load.VerifyWhole
	l.from.scrub = &load.Scrubber{Set: l.from.Shards, Rank: c.Rank, World: c.World, Used: load.ScrubAhead, Delivered: l.meter.Delivered.Load}
	return l
}

// TestAShardWrittenToWhileOpenIsCheckedAgain: an equal copy is accepted, another is an
// error.
func TestAShardWrittenToWhileOpenIsCheckedAgain(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 120, shard: 60})
	name := shardsOf(t, dir, "*.safetensors")[0]
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"equal", "other"} {
		bad := what == "other"
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Tier: TierStream, Depth: 1, Shuffle: Global})
		b, err := l.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		other := bytes.Clone(good)
		if bad {
			other[len(other)-5] ^= 1
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // in place: never shorter
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(other, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
		time.Sleep(load.Restat)
		err = readAll(l, nil)
		if bad != errors.Is(err, shardify.ErrCorrupt) || !bad && err != nil {
			t.Errorf("%s content: %v", what, err)
		}
		l.Close()
	}
}

// TestNextSaysThatAllBatchesAreHeld instead of waiting for ever, and continues.
func TestNextSaysThatAllBatchesAreHeld(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	for _, tier := range []Tier{TierPinned, TierStream} {
		l := mustLoader(t, d, Config{Batch: 10, Depth: 2, Tier: tier, Patience: 20 * time.Millisecond})
		var held []*Batch
		for range 3 {
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, b)
		}
		for range 2 {
			if _, err := l.Next(bg); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "3") {
				t.Fatalf("error is %v", err)
			}
		}
		go func() {
			time.Sleep(5 * time.Millisecond)
			held[1].Release()
		}()
		b, err := l.Next(bg)
		for errors.Is(err, ErrHeld) { // until it is released, whenever that is
			b, err = l.Next(bg)
		}
		if err != nil || b.IDs()[0] != 30 {
			t.Fatal(err)
		}
		b.Release()
		held[0].Release()
		held[2].Release()
		if rest := epochIDs(t, l, nil); len(rest) != 6 {
			t.Errorf("%d steps after it", len(rest))
		}
	}
}

// TestPatienceRunsOnOverCalls: a consumer that waits in short calls learns of it, too.
func TestPatienceRunsOnOverCalls(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 10, Depth: 1, Patience: 50 * time.Millisecond})
	for range 2 {
		if _, err := l.Next(bg); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		_, err := l.Next(ctx)
		cancel()
		if errors.Is(err, ErrHeld) {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	t.Error("1000 calls of 1 ms do not end a patience of 50 ms")
}

// TestAReleasedBatchAnswersWithAnError, never with memory of another batch.
func TestAReleasedBatchAnswersWithAnError(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64,h:i16*,n:f32?", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 10})
	b, err := l.Next(bg)
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.Tensor("x")
	if err != nil {
		t.Fatal(err)
	}
	to := make([]byte, len(x.Data))
	if err := b.CopyTo(Copy{x, to}); err != nil || !bytes.Equal(to, x.Data) {
		t.Error(err)
	}
	if err := b.CopyTo(Copy{x, to[1:]}); err == nil {
		t.Error("a copy to less memory")
	}
	b.Release()
	for name, f := range map[string]func() error{
		"Tensor": func() error { _, err := b.Tensor("x"); return err }, "Offsets": func() error { _, err := b.Offsets("h"); return err },
		"Valid": func() error { _, err := b.Valid("n"); return err }, "Ready": func() error { return b.Ready(0) }, "CopyTo": func() error { return b.CopyTo(Copy{x, to}) },
	} {
		if err := f(); !errors.Is(err, ErrReleased) {
			t.Errorf("%s after Release: %v", name, err)
		}
	}
	if b.Host("x") != nil || b.IDs() != nil || b.Rows() != 10 || b.Index() != 0 || b.Bytes() == 0 {
		t.Error("Host, IDs or the numbers of a released batch")
	}
}

// TestAShardThatIsReplacedBetweenTwoReadsIsChecked: the same header, other data.
func TestAShardThatIsReplacedBetweenTwoReadsIsChecked(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 120, shard: 40})
	name := shardsOf(t, dir, "*.safetensors")[0]
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Tier: TierStream, Shuffle: Global})
	l.from.Shards.Open = 1
	if err := readAll(l, nil); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	good[len(good)-9] ^= 1
	if err := errors.Join(os.WriteFile(name+".new", good, 0o644), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // batches of the next epoch may have been read before
		if err = readAll(l, nil); err != nil {
			break
		}
	}
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Errorf("error is %v", err)
	}
}
