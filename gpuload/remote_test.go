package gpuload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/tests/servertest"
)

// flipper serves files, and flips a bit in some of its answers.
type flipper struct {
	files http.Handler
	every int64 // n-th answer
	n     atomic.Int64
	once  sync.Map // shards of which an answer was flipped: of the file or its index, as both are fetched again together
	flips atomic.Int64
	bytes atomic.Int64
}

func (f *flipper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bad := f.every > 0 && f.n.Add(1)%f.every == 0
	if bad {
		_, seen := f.once.LoadOrStore(strings.TrimSuffix(r.URL.Path, filepath.Ext(r.URL.Path)), true)
		bad = !seen
	}
	f.files.ServeHTTP(&flipping{w, f, bad}, r)
}

type flipping struct {
	http.ResponseWriter
	f   *flipper
	bad bool
}

func (w *flipping) Write(b []byte) (int, error) {
	w.f.bytes.Add(int64(len(b)))
	if w.bad && len(b) > 0 {
		w.bad = false
		w.f.flips.Add(1)
		b = append([]byte(nil), b...)
		b[len(b)/2] ^= 1
	}
	return w.ResponseWriter.Write(b)
}

// digests are those of the batches of two epochs.
func digests(t *testing.T, d *Dataset, c Config) (list []uint64) {
	t.Helper()
	l := mustLoader(t, d, c)
	defer l.Close()
	for range 2 {
		err := readAll(l, func(b *Batch) {
			var h xxh3.Hasher
			for i := range l.want.Out.Tensors {
				x, err := tensorOf(b, i)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&h, "%d ", len(x))
				h.Write(x)
			}
			list = append(list, h.Sum64())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestRemoteSetsAreCheckedBeforeTheyAreDelivered: with a flipped bit in each seventh answer
// every batch of every tier and order is right, and the shards are fetched once.
func TestRemoteSetsAreCheckedBeforeTheyAreDelivered(t *testing.T) {
	for _, kind := range []string{index.FormatMmap, index.FormatWDS} {
		dir := makeSet(t, setOptions{format: kind, schema: everyKind[kind], samples: 3000, shard: 100, seed: 3, keyed: true})
		local := mustOpen(t, dir)
		for name, c := range map[string]Config{
			"block":  {Batch: 50, Shuffle: Block, ShuffleWindow: 500, Seed: 1},
			"global": {Batch: 50, Shuffle: Global, Seed: 1},
			"order":  {Batch: 50},
			"some":   {Batch: 50, Memory: 20 * local.Bytes() / 30},
			"few":    {Batch: 50, Memory: 4 * local.Bytes() / 30},
			"pinned": {Batch: 50, Shuffle: Global, Seed: 1, Tier: TierPinned},
			"column": {Batch: 50, Shuffle: Block, ShuffleWindow: 500, Seed: 1, Columns: []string{"x"}},
		} {
			if race.Short() && name != "block" && name != "few" && name != "pinned" {
				continue // global and order are the same goroutines
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				f := &flipper{files: http.FileServer(http.Dir(dir)), every: 7}
				s := httptest.NewServer(f)
				defer s.Close()
				want := digests(t, local, c)
				d := mustOpen(t, s.URL)
				got := digests(t, d, c)
				if len(got) != len(want) || len(got) == 0 {
					t.Fatalf("%d batches, want %d", len(got), len(want))
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("batch %d is another one", i)
					}
				}
				if f.flips.Load() < 3 {
					t.Errorf("%d flips", f.flips.Load())
				}
				most := 11*d.Bytes()/10 + (f.flips.Load()+2)*d.Bytes()/30
				if c.Memory > 0 { // in each epoch, and what is read ahead into the third
					most += d.Bytes() + c.Memory
				}
				if f.bytes.Load() > most {
					t.Errorf("%d bytes of %d", f.bytes.Load(), d.Bytes())
				}
			})
		}
	}
}

// TestDamageOfARemoteSetIsAnError after the shard was fetched again.
func TestDamageOfARemoteSetIsAnError(t *testing.T) {
	race.Sequential(t)
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 1000, shard: 100, seed: 3})
	f := &flipper{files: http.FileServer(http.Dir(dir))}
	s := httptest.NewServer(f)
	defer s.Close()
	name := shardsOf(t, dir, "*.safetensors")[4]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	err = readAll(mustLoader(t, mustOpen(t, s.URL), Config{Batch: 10}), func(*Batch) {})
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), s.URL+"/"+filepath.Base(name)) {
		t.Error(err)
	}
}

// TestRemoteShardsThatMemoryCannotHoldAreNamed: what is not checked is said.
func TestRemoteShardsThatMemoryCannotHoldAreNamed(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 1000, shard: 100, seed: 3})
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	for shuffle, least := range map[Shuffle]int64{Global: 10, None: 3} { // shards
		for shards := range int64(12) {
			l := mustLoader(t, mustOpen(t, s.URL), Config{Batch: 10, Shuffle: shuffle, Memory: shards*120_000 + 1})
			if strings.Contains(notes(l), "is not checked") != (shards < least) || l.from.Shards.Verify != load.VerifyWhole && l.from.Shards.Verify != load.VerifyOpen {
				t.Errorf("%s, %d shards: %s", shuffle, shards, notes(l))
			}
		}
	}
}

// TestTheFirstBatchTakesFewRoundTrips: one for the manifest, one that opens shards, one for what
// is wanted of them; an index of a tar comes at the same time.
func TestTheFirstBatchTakesFewRoundTrips(t *testing.T) {
	for kind, most := range map[string]int{index.FormatMmap: 3, index.FormatWDS: 3} {
		dir := makeSet(t, setOptions{format: kind, schema: "x:f32[1000]", samples: 1000, shard: 100, seed: 3})
		for name, c := range map[string]Config{
			"order":  {Batch: 50},
			"global": {Batch: 50, Shuffle: Global, Workers: 2},
			"block":  {Batch: 50, Shuffle: Block, ShuffleWindow: 200, Workers: 2},
		} {
			allowed := most
			if name != "order" { // from 10 shards, 8 at a time
				allowed += 2
			}
			if n := roundTrips(t, dir, c); n > allowed {
				t.Errorf("%s, %s: %d round trips, want %d", kind, name, n, allowed)
			}
		}
	}
}

// roundTrips is how many the first batch takes.
func roundTrips(t *testing.T, dir string, c Config) int {
	f := &servertest.Rounds{Handler: http.FileServer(http.Dir(dir))}
	s := httptest.NewServer(f)
	defer s.Close()
	l := mustLoader(t, mustOpen(t, s.URL), c)
	defer l.Close()
	b, err := l.Next(t.Context())
	_, rounds := f.Count()
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	return rounds
}

// TestShardsAreFetchedAheadInAFullMemory: what was read makes room for what comes, and what is in
// memory at the end of an epoch is used in the next ones.
func TestShardsAreFetchedAheadInAFullMemory(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 4000, shard: 100, seed: 3})
	var mu sync.Mutex
	seen := map[string]bool{} // shards of which something was asked for in this epoch
	f := &flipper{files: http.FileServer(http.Dir(dir))}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[filepath.Base(r.URL.Path)] = true
		mu.Unlock()
		f.ServeHTTP(w, r)
	}))
	defer s.Close()
	names := shardsOf(t, dir, "*.safetensors")
	d := mustOpen(t, s.URL)
	l := mustLoader(t, d, Config{Batch: 100, Memory: d.Bytes() / 2, Workers: 2})
	for epoch := range 3 {
		before := f.bytes.Load()
		for step := 0; ; step++ {
			b, err := l.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
			if m := l.Stats().Memory; m > d.Bytes()*6/10 {
				t.Fatalf("epoch %d, step %d: %d bytes in memory", epoch, step, m)
			}
			soon := filepath.Base(names[min(step+aheadShards, len(names)-1)])
			for end := time.Now().Add(time.Minute); epoch == 0; time.Sleep(time.Millisecond) {
				mu.Lock()
				ok := seen[soon]
				mu.Unlock()
				if ok {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("step %d: %s is not fetched ahead", step, soon)
				}
			}
		}
		if n := f.bytes.Load() - before; epoch > 0 && n > d.Bytes()*8/10 {
			t.Errorf("epoch %d: %d bytes of %d", epoch, n, d.Bytes())
		}
	}
}

// TestMemoryOfShardsIsWhatIsWanted: of few columns, with the gaps between them that come along;
// what is estimated is enough and not much more.
func TestMemoryOfShardsIsWhatIsWanted(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "a:f32[10],b:f32[100],c:f32[10],d:f32[5000],e:f32[10]", samples: 1000, shard: 100, seed: 3})
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	const gap, column = 1000 * 400, 1000 * 40
	for columns, want := range map[string]int64{"a": column, "a c": 2*column + gap, "c e": 2 * column, "a c e": 3*column + gap} {
		c := Config{Batch: 100, Shuffle: Global, Columns: strings.Fields(columns), Memory: want + 1}
		l := mustLoader(t, mustOpen(t, s.URL), c)
		if got := (&budget{shards: l.from.Shards}).shardBytes(); got != want {
			t.Errorf("%s: %d bytes, want %d", columns, got, want)
		}
		if strings.Contains(notes(l), "is not checked") {
			t.Errorf("%s: %s", columns, notes(l))
		}
		before := l.Stats().Memory
		if err := readAll(l, func(*Batch) {}); err != nil {
			t.Fatal(err)
		}
		if got := l.Stats().Memory - before; got != want {
			t.Errorf("%s: %d bytes in memory, want %d", columns, got, want)
		}
		c.Memory, c.Tier = want-1, TierStream
		if l := mustLoader(t, mustOpen(t, s.URL), c); !strings.Contains(notes(l), "is not checked") {
			t.Errorf("%s: %d bytes are enough", columns, c.Memory)
		}
	}
}

// TestThePinnedTierTakesItsMemoryOnce: shards are forgotten as they are copied.
func TestThePinnedTierTakesItsMemoryOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("what -race takes counts, too")
	}
	const kept = 64 << 20 // by the storage, of requests that are small
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for _, schema := range []string{"x:f32[4000]", "x:f32[3900],s:i16*"} {
		dir := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: 8000, shard: 50, seed: 3})
		f := &flipper{files: http.FileServer(http.Dir(dir))}
		s := httptest.NewServer(f)
		d := mustOpen(t, s.URL)
		l := mustLoader(t, d, Config{Batch: 10, Tier: TierPinned, Memory: d.Bytes() * 9 / 8})
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the peak
			t.Skip(err)
		}
		before := resident(t, "VmRSS")
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if m := resident(t, "VmHWM") - before; m > d.Bytes()*3/2+kept {
			t.Errorf("%s: %d bytes at most while %d are filled in", schema, m, d.Bytes())
		}
		if n := f.bytes.Load(); n > d.Bytes()*11/10 {
			t.Errorf("%s: %d bytes of %d were fetched", schema, n, d.Bytes())
		}
		l.Close()
		s.Close()
	}
}

// resident is a line of /proc/self/status in bytes.
func resident(t *testing.T, name string) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := strings.Cut(string(b), name+":")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestRemotePairsAreChecked: as above, of pairs of Megatron-LM and of streams of their tokens.
func TestRemotePairsAreChecked(t *testing.T) {
	for _, kind := range []string{index.FormatMegatron, index.FormatMmap} {
		dir := makeSet(t, setOptions{format: kind, schema: "tok:u16*", samples: 2000, shard: 50, seed: 3})
		local := mustOpen(t, dir)
		for name, c := range map[string]Config{
			"block":  {Batch: 50, Shuffle: Block, ShuffleWindow: 500, Seed: 1},
			"pinned": {Batch: 50, Shuffle: Global, Tier: TierPinned},
			"tokens": {Batch: 50, Shuffle: Global, Tokens: "16,offset=random,labels=shift"},
			"order":  {Batch: 50, Tokens: "16", Memory: 4 * local.Bytes() / 40},
		} {
			f := &flipper{files: http.FileServer(http.Dir(dir)), every: 7}
			s := httptest.NewServer(f)
			want, got := digests(t, local, c), digests(t, mustOpen(t, s.URL), c)
			if s.Close(); !slices.Equal(got, want) || len(got) == 0 || f.flips.Load() < 3 {
				t.Errorf("%s, %s: %d batches, want %d, with %d flips", kind, name, len(got), len(want), f.flips.Load())
			}
		}
	}
	pairs, _ := makePairs(t, shardify.I32, 200, 300)
	s := httptest.NewServer(http.FileServer(http.Dir(pairs)))
	defer s.Close()
	for _, c := range []Config{{Batch: 20, Shuffle: Global}, {Batch: 20, Tokens: "16", Shuffle: Block}} {
		if want, got := digests(t, mustOpen(t, pairs), c), digests(t, mustOpen(t, s.URL), c); !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("pairs of others: %d batches, want %d", len(got), len(want))
		}
	}
}
