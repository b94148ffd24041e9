//go:build linux

package gpuload

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/filemap"
	"golang.org/x/sys/unix"
)

// mapped is how many mappings of shards of a folder this process has.
func mapped(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return strings.Count(string(b), dir)
}

// mappable skips a test where files of a folder are not mapped.
func mappable(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(shardsOf(t, dir, "*.safetensors")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := filemap.Open(f, 100)
	if err != nil || !filemap.Safe() {
		t.Skip("files are not mapped here: ", err)
	}
	m.Close()
}

// forget drops shards from the page cache.
func forget(t *testing.T, dir string) {
	t.Helper()
	for _, name := range shardsOf(t, dir, "*.safetensors") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Sync()
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
	}
}

// schemas of rows that are short enough to be copied out of mappings.
var visited = []string{"x:i8", "x:f32[16]", "x:f32[33]", "x:u8[300],flag:bool", "x:f32[2000]", "h:i16*90", "a:f32*40@C,b:i64*40@C,x:i32,v:f64*4[2],flag:bool*9", "img:jpg*300,note:txt?"}

// TestRowsAreCopiedOutOfMappings: the values are those of the file, from a warm page cache and from a
// cold one, and Close leaves no mapping.
func TestRowsAreCopiedOutOfMappings(t *testing.T) {
	for _, schema := range visited {
		for _, shard := range []int{300, 41} {
			dir := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: 300, shard: shard})
			mappable(t, dir)
			want := contents(t, index.FormatMmap, dir)
			l := mustLoader(t, mustOpen(t, dir), Config{Batch: 16, Tier: TierStream, Shuffle: Global, Last: Pad, Workers: 3})
			for range 2 {
				forget(t, dir)
				epochIDs(t, l, want)
			}
			if n := mapped(t, dir); n == 0 {
				t.Errorf("%s: no shard is mapped", schema)
			}
			l.Close()
			if n := mapped(t, dir); n != 0 {
				t.Errorf("%s: %d mappings are left", schema, n)
			}
		}
	}
}

// TestRandomSetsAreTheSameFromEveryTier: batches have the same bytes in the same order from memory, from
// files, and from files until memory is filled.
func TestRandomSetsAreTheSameFromEveryTier(t *testing.T) {
	rounds := 12
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 1000
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 35))
		samples := 1 + r.IntN(400)
		dir := makeSet(t, setOptions{format: index.FormatMmap, schema: visited[r.IntN(len(visited))], samples: samples, shard: 1 + r.IntN(samples), seed: int(seed)})
		d := mustOpen(t, dir)
		c := Config{
			Batch: 1 + r.IntN(30), Shuffle: []Shuffle{None, Block, Global}[r.IntN(3)], ShuffleWindow: int64(1 + r.IntN(100)), Seed: seed,
			Last: []Last{Drop, Pad, Short}[r.IntN(3)], Workers: 1 + r.IntN(4), Depth: 1 + r.IntN(4), Memory: []int64{0, 1 << 10, 1 << 30}[r.IntN(3)],
		}
		if r.IntN(4) == 0 {
			c.Weights = make([]float64, samples)
			for i := range c.Weights {
				c.Weights[i] = r.Float64()
			}
		}
		var all [][]byte
		for _, tier := range []Tier{TierPinned, TierStream, TierAuto} {
			c.Tier = tier
			l := mustLoader(t, d, c)
			var got []byte
			for range 2 {
				if err := readAll(l, func(b *Batch) {
					got = append(got, shardify.Bytes(b.IDs())...)
					for i := range b.slot.Load().Table.Data {
						got = append(got, b.slot.Load().Table.Bytes(i)...)
					}
				}); err != nil {
					t.Fatalf("seed %d, %s: %v", seed, tier, err)
				}
			}
			l.Close()
			all = append(all, got)
		}
		for k := range all {
			if !bytes.Equal(all[k], all[0]) {
				t.Fatalf("seed %d: what tier %d delivers is not what pinned delivers", seed, k)
			}
		}
	}
}

// TestMappedShardThatShrinks: the process lives on, and the error names the shard and the place in it.
func TestMappedShardThatShrinks(t *testing.T) {
	for _, schema := range visited {
		for _, shard := range []int{40_000, 10_000} {
			dir := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: 40_000 / (1 + len(schema)%7), shard: shard})
			mappable(t, dir)
			l := mustLoader(t, mustOpen(t, dir), Config{Batch: 64, Tier: TierStream, Shuffle: Global, Verify: load.VerifyNone, Depth: 2, Workers: 3})
			for range 3 {
				b, err := l.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
			}
			if mapped(t, dir) == 0 {
				t.Fatalf("%s: no shard is mapped", schema)
			}
			name := shardsOf(t, dir, "*.safetensors")[0]
			if err := os.Truncate(name, 4100); err != nil {
				t.Fatal(err)
			}
			err := readAll(l, nil)
			var e *shardify.Error
			if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.File != name {
				t.Fatalf("%s: error is %v", schema, err)
			}
			l.Close()
			if n := mapped(t, dir); n != 0 {
				t.Errorf("%s: %d mappings are left", schema, n)
			}
		}
	}
}

// TestLongRowsOfLargeBatches: they come out of mappings past the caches, and a shard that shrinks is an error.
func TestLongRowsOfLargeBatches(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:u8[70001],h:i16[50]", samples: 260, shard: 90})
	mappable(t, dir)
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 130, Tier: TierStream, Shuffle: Global, Verify: load.VerifyNone, Workers: 3, Depth: 1})
	epochIDs(t, l, contents(t, index.FormatMmap, dir))
	if mapped(t, dir) == 0 {
		t.Error("no shard is mapped")
	}
	name := shardsOf(t, dir, "*.safetensors")[1]
	if err := os.Truncate(name, 8200); err != nil {
		t.Fatal(err)
	}
	err := readAll(l, nil)
	if err == nil { // this epoch was read ahead
		err = readAll(l, nil)
	}
	var e *shardify.Error
	if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.File != name {
		t.Errorf("error is %v", err)
	}
	l.Close()
}

// TestMappedShardThatIsDamaged: values that cannot be are the errors that pread makes of them.
func TestMappedShardThatIsDamaged(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "flag:bool,h:i16*90", samples: 300})
	mappable(t, dir)
	name := shardsOf(t, dir, "*.safetensors")[0]
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	errs := 0
	for i := 4096; i < 4096+300*9; i += 97 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		var text [2]string
		for k, shuffle := range []Shuffle{None, Global} {
			l := mustLoader(t, mustOpen(t, dir), Config{Batch: 300, Tier: TierStream, Shuffle: shuffle, Verify: load.VerifyNone})
			_, err := l.Next(bg)
			if err != nil && err != io.EOF {
				var e *shardify.Error
				if !errors.As(err, &e) || e.File != name || e.Offset < 0 {
					t.Fatalf("byte %d: %v", i, err)
				}
				text[k] = filepath.Base(e.File)
				errs++
			}
			l.Close()
		}
		if text[0] != text[1] {
			t.Errorf("byte %d: in order %q, shuffled %q", i, text[0], text[1])
		}
	}
	if errs == 0 {
		t.Error("no damage was found")
	}
}
