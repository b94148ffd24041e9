package gpuload

import (
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// TestWindowsOfABlockShuffleKeepToTheMemory: the rows around short stretches of anchors are many
// times as many as these.
func TestWindowsOfABlockShuffleKeepToTheMemory(t *testing.T) {
	const memory = 1 << 20
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[64]", samples: 2000, shard: 500})
	want := contents(t, index.FormatMmap, dir)
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 16, Window: "1+1,lead=300", Shuffle: Block, ShuffleWindow: 64, Streams: 32, Tier: TierStream, Memory: memory, Last: Pad, Workers: 2})
	if all := slices.Concat(epochAnchors(t, l, want)...); len(all) != 1700 {
		t.Error(len(all))
	}
	if n := l.meter.Usage.Host.Load(); n > memory {
		t.Errorf("%d bytes in use, %d were meant", n, memory)
	}
}

// TestAxesWithMissingValues: no row without one is in a window.
func TestAxesWithMissingValues(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],t:u8?", samples: 3000, shard: 400})
	want := contents(t, index.FormatMmap, dir)
	c := &want.Columns[slices.IndexFunc(want.Columns, func(c shardify.Column) bool { return c.Name == "t" })]
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 1, Window: "t=1+1"})
	all := slices.Concat(epochAnchors(t, l, want)...)
	for _, a := range all {
		if c.Valid[a] == 0 || c.Valid[a+1] == 0 {
			t.Fatalf("row %d or the one behind it has no value", a)
		}
	}
	if len(all) == 0 || !slices.Contains(c.Valid, 0) {
		t.Error(len(all))
	}
}

// TestWindowsInOrderFetchAShardOnce, as far as there is room for the shards that a window reaches.
func TestWindowsInOrderFetchAShardOnce(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[300]", samples: 2000, shard: 50, seed: 3})
	want := contents(t, index.FormatMmap, dir)
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	for _, text := range []string{"2+1", "1+1,lead=220"} {
		for _, shards := range []int64{4, 8, 12, 16, 24} {
			d := mustOpen(t, s.URL)
			l := mustLoader(t, d, Config{Batch: 20, Window: text, Memory: shards*60_000 + 1, Tier: TierStream, Workers: 2})
			epochAnchors(t, l, want)
			if n := l.from.Shards.ReadBytes.Load(); n > 5*d.Bytes()/2 {
				t.Errorf("window %s, memory for %d shards: %d bytes of %d were fetched", text, shards, n, d.Bytes())
			}
			l.Close()
		}
	}
}

func TestWindowsByNumberOfAShuffledSetAreNoted(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],t:i64", samples: 30, shard: 8})
	for shuffle, want := range map[string]bool{"none": false, "block": true} {
		rewrite(t, dir, func(m *index.Manifest) { m.Recipe = map[string]string{"shuffle": shuffle} })
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Window: "2+1"})
		if strings.Contains(notes(l), "by their numbers") != want {
			t.Errorf("%s: %s", shuffle, notes(l))
		}
	}
}

func TestADamagedAxisIsAnError(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],t:i64", samples: 30, shard: 8})
	name := shardsOf(t, dir, "*.safetensors")[1]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[8+binary.LittleEndian.Uint64(b)+9] ^= 1 // of the first tensor, whose items are the largest
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := mustOpen(t, dir).Loader(Config{Batch: 4, Window: "t=1+1"}); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Error(err)
	}
}
