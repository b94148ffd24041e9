package gpuload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron/megatrontest"
	"github.com/shardify/shardify/tests/race"
)

// makePairs writes pairs as Megatron-LM does, below a folder, and returns the tokens of all
// documents.
func makePairs(t testing.TB, d shardify.DType, n ...int) (dir string, want [][]byte) {
	t.Helper()
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(5, uint64(len(n))))
	for i, docs := range n {
		at := filepath.Join(dir, fmt.Sprintf("part-%d", i))
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		list := megatrontest.Documents(rng, docs)
		bin, idx := megatrontest.Pair(d, list, false)
		megatrontest.Write(t, at, "text_document", bin, idx)
		for _, doc := range list {
			whole := []byte{}
			for _, seq := range doc {
				n := len(seq) * d.Size()
				whole, bin = append(whole, bin[:n]...), bin[n:]
			}
			want = append(want, whole)
		}
	}
	return dir, want
}

// jagged is the list of a batch's row.
func jagged(t testing.TB, b *Batch, col string, row int) []byte {
	t.Helper()
	v, err := b.Tensor(col)
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Offsets(col)
	if err != nil {
		t.Fatal(err)
	}
	width := int64(v.DType.Size())
	at := shardify.View[int64](o.Data)
	return v.Data[at[row]*width : at[row+1]*width]
}

// TestPairs: documents of pairs without a manifest come whole and once from every tier, in every
// order.
func TestPairs(t *testing.T) {
	dir, want := makePairs(t, shardify.U16, 300, 1, 700)
	d := mustOpen(t, dir)
	if d.Len() != int64(len(want)) {
		t.Fatalf("%d samples, want %d", d.Len(), len(want))
	}
	for _, c := range []Config{
		{}, {Shuffle: Global}, {Shuffle: Block, ShuffleWindow: 64, Streams: 4}, {Tier: TierPinned, Shuffle: Global}, {Tier: TierStream, Shuffle: Global},
		{Tier: TierStream, Shuffle: Block, ShuffleWindow: 64, Streams: 4}, {Tier: TierStream, Verify: VerifyOpen}, {Tier: TierPinned, Verify: VerifyNone},
		{Cast: map[string]Cast{"tokens": {DType: shardify.I64}}},
	} {
		c.Batch, c.Last = 16, Short
		t.Run(fmt.Sprintf("%s-%s-%s-%d", c.Tier, c.Shuffle, c.Verify, len(c.Cast)), func(t *testing.T) {
			l := mustLoader(t, d, c)
			n := 0
			seen := make([]bool, d.Len())
			epoch(t, l, func(b *Batch, j int, id int64) {
				have := jagged(t, b, "tokens", j)
				if c.Cast != nil {
					narrow := []byte{}
					for _, v := range shardify.View[int64](bytes.Clone(have)) {
						narrow = binary.LittleEndian.AppendUint16(narrow, uint16(v))
					}
					have = narrow
				}
				if !bytes.Equal(have, want[id]) || seen[id] {
					t.Fatalf("sample %d: %x, want %x; seen %v", id, have, want[id], seen[id])
				}
				seen[id] = true
				n++
			})
			if n != len(seen) {
				t.Fatalf("%d samples of %d", n, len(seen))
			}
		})
	}
}

// TestPairsByName: a pair is named by its index, its tokens, or as Megatron-LM names it.
func TestPairsByName(t *testing.T) {
	dir, want := makePairs(t, shardify.I32, 20, 30)
	one := filepath.Join(dir, "part-0", "text_document")
	first := mustOpen(t, one)
	for _, name := range []string{one + ".idx", one + ".bin"} {
		if d := mustOpen(t, name); d.Len() != 20 || d.Fingerprint() != first.Fingerprint() {
			t.Errorf("%s: %d samples, fingerprint %s", name, d.Len(), d.Fingerprint())
		}
	}
	if d := mustOpen(t, dir); d.Len() != int64(len(want)) || d.Fingerprint() == first.Fingerprint() {
		t.Errorf("folder: %d samples, fingerprint %s", d.Len(), d.Fingerprint())
	}
	ours := makeSet(t, setOptions{format: index.FormatMegatron, schema: "tok:u16*", samples: 10, shard: 5})
	if _, err := Open(bg, filepath.Join(ours, "shard-000000")); err == nil || !strings.Contains(err.Error(), "name its folder") {
		t.Errorf("a shard of a set: %v", err)
	}
	if _, err := Open(bg, filepath.Join(dir, "part-0", "text")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no pair: %v", err)
	}
}

// TestMegatronSets: a set of pairs delivers what the same samples do as mmap shards, staged too.
func TestMegatronSets(t *testing.T) {
	for _, schema := range []string{"tok:u16*", "tok:i32[7]"} {
		pairs := makeSet(t, setOptions{format: index.FormatMegatron, schema: schema, samples: 500, shard: 90, seed: 3})
		plain := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: 500, shard: 90, seed: 3})
		want := contents(t, index.FormatMmap, plain)
		d := mustOpen(t, pairs)
		eachWay(t, func(t *testing.T, c Config) {
			c.Batch, c.Last = 32, Short
			if n := len(slices.Concat(epochIDs(t, mustLoader(t, d, c), want)...)); n != 500 {
				t.Errorf("%d samples", n)
			}
		})
	}
}

// TestPairsDamaged: what is wrong with a pair is found when it is opened or read, and named.
func TestPairsDamaged(t *testing.T) {
	race.Sequential(t)
	docs := megatrontest.Corpus{{{1, 2, 3}}, {{4}, {5, 6}}, {}, {{7}}}
	bin, idx := megatrontest.Pair(shardify.U16, docs, false)
	_, modes := megatrontest.Pair(shardify.U16, docs, true)
	edit := func(b []byte, at int, v byte) []byte { b = bytes.Clone(b); b[at] = v; return b }
	for name, c := range map[string]struct {
		bin, idx []byte
		want     string
	}{
		"short data":        {bin[:len(bin)-2], idx, "the data have"},
		"more data":         {append(bytes.Clone(bin), 0, 0, 0, 0, 0, 0, 0, 0), idx, "BlendCorpus"},
		"short index":       {bin, idx[:len(idx)-1], "the index has"},
		"a length":          {bin, edit(idx, 34, 2), "begins at byte"},
		"a document":        {bin, edit(idx, len(idx)-16, 1), "begins at sequence"},
		"another type":      {bin, edit(idx, 17, 99), "type 99"},
		"modes":             {bin, modes, "multimodal"},
		"the older kind":    {bin, append([]byte("TNTIDX\x00\x00"), idx...), "TNTIDX"},
		"no index at all":   {bin, []byte("P5 3 3 255"), "no index of Megatron-LM"},
		"a negative length": {bin, edit(idx, 37, 0x80), "tokens"},
	} {
		dir := t.TempDir()
		megatrontest.Write(t, dir, "a", c.bin, c.idx)
		if _, err := Open(bg, dir); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.idx") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	dir := t.TempDir()
	file := megatrontest.Write(t, dir, "a", bin, idx)
	d := mustOpen(t, dir)
	if err := os.WriteFile(file, edit(idx, 34, 2), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := mustLoader(t, d, Config{Batch: 2}).Next(bg)
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "digest") {
		t.Errorf("an index that changed since: %v", err)
	}
	ours := makeSet(t, setOptions{format: index.FormatMegatron, schema: "tok:u16*", samples: 50, shard: 50})
	shard := filepath.Join(ours, "shard-000000.bin")
	b, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(shard, edit(b, len(b)/2, b[len(b)/2]+1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{{Tier: TierPinned}, {Tier: TierStream}} {
		c.Batch = 50
		if _, err := mustLoader(t, mustOpen(t, ours), c).Next(bg); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "digest") {
			t.Errorf("tier %s, a token that changed: %v", c.Tier, err)
		}
	}
}

// TestPairsOfSets: shards of a set, or of one that is being written, are not accepted as pairs of
// their own: some would be left out silently.
func TestPairsOfSets(t *testing.T) {
	top := t.TempDir()
	ours := makeSet(t, setOptions{format: index.FormatMegatron, schema: "tok:u16*", samples: 10, shard: 5})
	if err := os.CopyFS(filepath.Join(top, "below"), os.DirFS(ours)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(bg, top); err == nil || !strings.Contains(err.Error(), "name its folder") {
		t.Errorf("above a set: %v", err)
	}
	if err := os.Rename(filepath.Join(top, "below", index.ManifestName), filepath.Join(top, "kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(top, "below", ".shardify"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{top, filepath.Join(top, "below"), filepath.Join(top, "below", "shard-000000")} {
		if _, err := Open(bg, dir); err == nil || !strings.Contains(err.Error(), "not finished") {
			t.Errorf("%s, unfinished: %v", dir, err)
		}
	}
}
