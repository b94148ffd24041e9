package gpuload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/poison"
	"github.com/shardify/shardify/tests/race"
)

// readAll reads an epoch. It returns the first error.
func readAll(l *Loader, each func(*Batch)) error {
	for {
		b, err := l.Next(bg)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if each != nil {
			each(b)
		}
		b.Release()
	}
}

func shardsOf(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s in %s", pattern, dir)
	}
	return names
}

// TestDamagedShardIsAnErrorThatNamesIt: with every tensor verified, any flipped
// byte is found, and batches delivered before are right.
func TestDamagedShardIsAnErrorThatNamesIt(t *testing.T) {
	race.Sequential(t)
	for format, schema := range everyKind {
		ext := map[string]string{index.FormatMmap: ".safetensors", index.FormatWDS: ".tar"}[format]
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 24, shard: 12})
		want := contents(t, format, dir)
		name := shardsOf(t, dir, "*"+ext)[1]
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := mustOpen(t, dir)
		for i := 0; i < len(good); i += 1 + len(good)/60 {
			bad := bytes.Clone(good)
			bad[i] ^= 0x10
			if err := os.WriteFile(name, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, c := range []Config{{Tier: TierPinned}, {Tier: TierStaged, Stage: t.TempDir()}, {Tier: TierStream, Verify: load.VerifyOpen}, {Tier: TierStream, Verify: load.VerifyOpen, Shuffle: Block, ShuffleWindow: 8}} {
				c.Batch, c.Last = 5, Pad
				l := mustLoader(t, d, c)
				err := readAll(l, func(b *Batch) {
					for r, id := range b.IDs()[:b.Rows()] {
						compareRow(t, b, r, want, id)
					}
				})
				if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
					t.Fatalf("%s, %s: byte %d of %s flipped: error is %v", format, c.Tier, i, filepath.Base(name), err)
				}
				l.Close()
			}
		}
	}
}

// TestFlippedByteWithoutVerifyNeverPanics: the values may be wrong then, nothing
// else.
func TestFlippedByteWithoutVerifyNeverPanics(t *testing.T) {
	race.Sequential(t)
	for format, schema := range everyKind {
		ext := map[string]string{index.FormatMmap: ".safetensors", index.FormatWDS: ".tar"}[format]
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 9, shard: 9})
		name := shardsOf(t, dir, "*"+ext)[0]
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := mustOpen(t, dir)
		for i := 0; i < len(good); i += 1 + len(good)/200 {
			for _, bit := range []byte{1, 0x80} {
				bad := bytes.Clone(good)
				bad[i] ^= bit
				if err := os.WriteFile(name, bad, 0o644); err != nil {
					t.Fatal(err)
				}
				l := mustLoader(t, d, Config{Batch: 3, Tier: TierStream, Verify: load.VerifyNone, Shuffle: Global})
				if err := readAll(l, nil); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
					t.Fatalf("%s: byte %d: %v", format, i, err)
				}
				l.Close()
			}
		}
	}
}

func TestReplacedShortenedOrMissingShardIsAnError(t *testing.T) {
	for _, format := range []string{index.FormatMmap, index.FormatWDS} {
		ext := map[string]string{index.FormatMmap: ".safetensors", index.FormatWDS: ".tar"}[format]
		schema := "x:f32[300],img:jpg*900"
		damages := map[string]func(name string){
			"cut": func(name string) { os.Truncate(name, 5000) },
			"longer": func(name string) {
				f, _ := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
				f.Write(make([]byte, 512))
				f.Close()
			},
			"empty":   func(name string) { os.Truncate(name, 0) },
			"missing": func(name string) { os.Remove(name) },
			"of another set": func(name string) {
				other := makeSet(t, setOptions{format: format, schema: schema, samples: 40, shard: 20, seed: 5})
				from := shardsOf(t, other, "*"+ext)[1]
				os.Rename(from, name)
				if format == index.FormatWDS {
					os.Rename(from+".idx", name+".idx")
				}
			},
		}
		for what, damage := range damages {
			dir := makeSet(t, setOptions{format: format, schema: schema, samples: 40, shard: 20})
			d := mustOpen(t, dir)
			name := shardsOf(t, dir, "*"+ext)[1]
			damage(name)
			for _, tier := range []Tier{TierPinned, TierStream} {
				l := mustLoader(t, d, Config{Batch: 4, Tier: tier})
				err := readAll(l, nil)
				if err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
					t.Errorf("%s, %s, shard %s: %v", format, tier, what, err)
				}
				if again := readAll(l, nil); !errors.Is(again, err) {
					t.Errorf("%s, %s, shard %s: after the error %v comes %v", format, tier, what, err, again)
				}
				l.Close()
			}
		}
	}
}

// TestRepairedShardReadsAfterSetEpoch: an error is final until then.
func TestRepairedShardReadsAfterSetEpoch(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 40})
	name := shardsOf(t, dir, "*.safetensors")[0]
	for _, tier := range []Tier{TierPinned, TierStream} {
		if err := os.Rename(name, name+".away"); err != nil {
			t.Fatal(err)
		}
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Tier: tier})
		if err := readAll(l, nil); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("error is %v", err)
		}
		if err := os.Rename(name+".away", name); err != nil {
			t.Fatal(err)
		}
		if err := l.SetEpoch(0); err != nil {
			t.Fatal(err)
		}
		if steps := epochIDs(t, l, nil); len(steps) != 10 {
			t.Errorf("%s: %d steps after the repair", tier, len(steps))
		}
	}
}

// TestShardThatShrinksWhileOpen is what a mapped file would die of.
func TestShardThatShrinksWhileOpen(t *testing.T) {
	for try := 0; ; try++ {
		dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[500]", samples: 200, shard: 200})
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Tier: TierStream, Depth: 1})
		b, err := l.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		name := shardsOf(t, dir, "*.safetensors")[0]
		if err := os.Truncate(name, 90_000); err != nil {
			t.Fatal(err)
		}
		err = readAll(l, nil)
		l.Close()
		var e *shardify.Error
		if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.File != name {
			t.Fatalf("error is %v", err)
		}
		if e.Op == "open" && try < 100 {
			continue // load.Restat has passed, and the shard was looked at before it was read
		}
		if e.Offset < 80_000 {
			t.Fatalf("error is %v", err)
		}
		return
	}
}

func TestStateOfAnotherSetOrOrderIsRefused(t *testing.T) {
	race.Sequential(t)
	a := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 50}))
	b := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 50, seed: 1}))
	s := mustLoader(t, a, Config{Batch: 4, Shuffle: Global, Seed: 1}).State()
	for _, c := range []struct {
		d      *Dataset
		config Config
		want   error
	}{
		{a, Config{Batch: 3, Rank: 1, World: 2, Shuffle: Global, Seed: 1}, nil},
		{b, Config{Batch: 4, Shuffle: Global, Seed: 1}, ErrFingerprint},
		{a, Config{Batch: 4, Shuffle: Block, Seed: 1}, ErrOrder},
		{a, Config{Batch: 4, Shuffle: Global, Seed: 2}, ErrOrder},
		{a, Config{Batch: 4, Shuffle: Global, Seed: 1, Indices: []int64{1, 2, 3, 4}}, ErrOrder},
	} {
		if err := mustLoader(t, c.d, c.config).Restore(s); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.config, err, c.want)
		}
	}
	s.Position = 51
	if err := mustLoader(t, a, Config{Batch: 4, Shuffle: Global, Seed: 1}).Restore(s); !errors.Is(err, ErrState) {
		t.Errorf("position behind the end: %v", err)
	}
}

func TestNextEndsWithItsContextAndGoesOn(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 10, Depth: 1})
	var held []*Batch
	for range 2 { // all slots
		b, err := l.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	ctx, cancel := context.WithTimeout(bg, 30*time.Millisecond)
	defer cancel()
	if _, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error is %v", err)
	}
	for _, b := range held {
		b.Release()
		b.Release() // does nothing
	}
	stop := errors.New("stop")
	done, end := context.WithCancelCause(bg)
	end(stop)
	for range 3 { // also when batches are ready
		if _, err := l.Next(done); !errors.Is(err, stop) {
			t.Fatalf("error is %v", err)
		}
	}
	rest := slices.Concat(epochIDs(t, l, nil)...)
	if len(rest) != 80 || rest[0] != 20 {
		t.Fatalf("%d samples after the break, from %d on", len(rest), rest[0])
	}
}

func TestCloseEndsANextThatWaits(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 10, Depth: 1})
	for range 2 { // all slots
		if _, err := l.Next(bg); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error)
	go func() {
		_, err := l.Next(bg)
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

func openFiles(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(names)
}

// TestEpochsLeakNothing: goroutines, files and memory, with batches held over Close
// and runs broken off anywhere.
func TestEpochsLeakNothing(t *testing.T) {
	epochs := 30
	if os.Getenv("SHARDIFY_LONG") != "" {
		epochs = 1000
	}
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],h:i16*", samples: 64, shard: 10})
	d := mustOpen(t, dir)
	folder := inSharedMemory(t)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for name, c := range ways() {
		for _, tier := range []Tier{TierPinned, TierStream, TierStaged} {
			c.Batch, c.Tier, c.Workers, c.Stage = 5, tier, 4, folder
			c.Cast = map[string]load.Cast{"x": {DType: shardify.F16}}
			l, err := d.Loader(c)
			if err != nil {
				t.Fatal(err)
			}
			for epoch := range epochs {
				if epoch%7 == 3 { // broken off
					b, err := l.Next(bg)
					if err != nil {
						t.Fatal(err)
					}
					if err := l.SetEpoch(epoch); err != nil {
						t.Fatal(err)
					}
					if n := len(l.queue.free); n != len(l.queue.slots)-1 {
						t.Fatalf("%d of %d slots are free while one is held", n, len(l.queue.slots))
					}
					b.Release()
					continue
				}
				if err := readAll(l, nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			_ = b.Host("x")[0]
			b.Release()
			if n := l.meter.Usage.Host.Load(); n != 0 {
				t.Errorf("%s, %s: %d bytes are not given back", name, tier, n)
			}
			if _, err := l.Next(bg); !errors.Is(err, ErrClosed) {
				t.Errorf("Next after Close: %v", err)
			}
		}
	}
	t.Logf("%d epochs of %d kinds", epochs, 3*len(ways()))
	if n := inStage(t, folder); n != 0 {
		t.Errorf("%d files are left in the stage", n)
	}
	for i := 0; i < 3000 && runtime.NumGoroutine() > goroutines; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines more than before", n-goroutines)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files more than before", n-files)
	}
}

// TestReleasedBatchIsPoisoned where released memory is.
func TestReleasedBatchIsPoisoned(t *testing.T) {
	if !poison.On() {
		t.Skip("no poison in this build: use -race or make test-plain")
	}
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 50, Depth: 1})
	a, _ := l.Next(bg)
	b, _ := l.Next(bg)
	l.halt() // so that nothing writes to the slot
	x := a.Host("x")
	a.Release()
	if !bytes.Equal(x, bytes.Repeat([]byte{0xdb}, len(x))) {
		t.Errorf("a released batch still reads %x", x[:16])
	}
	b.Release()
}

func TestTraceIsJSONWithEveryStep(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	var out bytes.Buffer
	l := mustLoader(t, d, Config{Batch: 10, Trace: &out, Shuffle: Block, Tier: TierStream})
	if err := readAll(l, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name string
		Ph   string
		Ts   float64
		Dur  float64
		Args struct{ Step int }
	}
	if err := json.Unmarshal(out.Bytes(), &events); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	count := map[string]int{}
	for _, e := range events {
		count[e.Name]++
		if e.Ph != "X" || e.Dur < 0 {
			t.Errorf("event %+v", e)
		}
	}
	if count["wait"] != 10 || count["step"] != 9 || count["gather"] < 10 || count["window"] == 0 {
		t.Errorf("events: %v", count)
	}
}

func TestStatsFindWhatLimits(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[100]", samples: 400}))
	l := mustLoader(t, d, Config{Batch: 50})
	var s Stats
	for epoch := int64(1); epoch == 1 || s.Utilization < enough && epoch < 20; epoch++ {
		// On a busy machine it waits for its turn, too: it computes for longer than that.
		if err := readAll(l, func(*Batch) { time.Sleep(20*time.Millisecond + time.Duration(l.Stats().Wait*40e9)) }); err != nil {
			t.Fatal(err)
		}
		s = l.Stats()
		if s.Batches != 8*epoch || s.Samples != 400*epoch || s.Bytes != 160_000*epoch || s.Memory < 160_000 {
			t.Errorf("epoch %d: %+v", epoch, s)
		}
	}
	if s.Bound != "consumer" || s.Utilization < enough {
		t.Errorf("slow consumer: %+v", s)
	}
	slow := Stats{Batches: 9, Wait: 3, Compute: 1, Utilization: 0.25, Read: 2, Gather: 1, Cores: 1}
	if bound, verdict := slow.judge(slow.Read, 8); bound != "read" || !strings.Contains(verdict, "affinity") {
		t.Errorf("%s: %s", bound, verdict)
	}
	slow.Copy = 5
	if bound, _ := slow.judge(slow.Read, 8); bound != "copy" {
		t.Error(bound)
	}
	// What filled the tier was over before the first batch.
	p := mustLoader(t, d, Config{Batch: 50, Tier: TierPinned})
	if err := readAll(p, func(*Batch) {}); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Read == 0 || s.Bound == "read" {
		t.Errorf("pinned: %+v", s)
	}
}
