package gpuload

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// flipper serves files, and flips a bit in some of its answers.
type flipper struct {
	files http.Handler
	every int64 // n-th answer
	n     atomic.Int64
	once  sync.Map // paths of which an answer was flipped
	flips atomic.Int64
	bytes atomic.Int64
}

func (f *flipper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bad := f.every > 0 && f.n.Add(1)%f.every == 0
	if bad {
		_, seen := f.once.LoadOrStore(r.URL.Path, true)
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
	for range 2 {
		err := readAll(l, func(b *Batch) {
			var h xxh3.Hasher
			for i := range l.out.Tensors {
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
			"block":  {Batch: 50, Shuffle: Block, Window: 500, Seed: 1},
			"global": {Batch: 50, Shuffle: Global, Seed: 1},
			"order":  {Batch: 50},
			"some":   {Batch: 50, Memory: 20 * local.Bytes() / 30},
			"pinned": {Batch: 50, Shuffle: Global, Seed: 1, Tier: TierPinned},
			"column": {Batch: 50, Shuffle: Block, Window: 500, Seed: 1, Columns: []string{"x"}},
		} {
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
				if most := 11*d.Bytes()/10 + (f.flips.Load()+2)*d.Bytes()/30; name != "some" && f.bytes.Load() > most {
					t.Errorf("%d bytes of %d", f.bytes.Load(), d.Bytes())
				}
			})
		}
	}
}

// TestDamageOfARemoteSetIsAnError after the shard was fetched again.
func TestDamageOfARemoteSetIsAnError(t *testing.T) {
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
	for memory, want := range map[int64]bool{1 << 20: true, 4 << 20: false} {
		l := mustLoader(t, mustOpen(t, s.URL), Config{Batch: 10, Shuffle: Global, Memory: memory})
		if strings.Contains(notes(l), "is not checked") != want || l.shards.Verify != load.VerifyWhole && l.shards.Verify != load.VerifyOpen {
			t.Errorf("%d: %s", memory, notes(l))
		}
	}
}
