package gpuload

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/writers/writertest"
)

// TestInputsOfBothFormatsReadAsOne, one after the other and mixed.
func TestInputsOfBothFormatsReadAsOne(t *testing.T) {
	const schema = "x:f32[3],hits:f32*,img:jpg*200,note:txt?"
	a := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: 61, shard: 20})
	b := makeSet(t, setOptions{format: index.FormatWDS, schema: schema, samples: 203, shard: 50, seed: 3})
	tar := contents(t, index.FormatWDS, b)
	tar.Keys = nil // the other set has none
	want := writertest.Join([]*shardify.Batch{contents(t, index.FormatMmap, a), tar})
	d := mustOpen(t, a, b)
	if in, n := d.Locate(61); in != 1 || n != 0 || d.Len() != 264 {
		t.Fatalf("sample 61 is number %d of input %d; %d samples", n, in, d.Len())
	}
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Last = 20, Pad
		all := slices.Concat(epochIDs(t, mustLoader(t, d, c), want)...)
		slices.Sort(all)
		if len(all) != 264 || len(slices.Compact(all)) != 264 {
			t.Errorf("%d samples, %d different ones", len(all), len(slices.Compact(all)))
		}
		c.Mix = []float64{1, 1}
		l := mustLoader(t, d, c)
		first := 0
		for _, id := range slices.Concat(epochIDs(t, l, want)...) {
			if id < 61 {
				first++
			}
		}
		if first < 120 || first > 144 {
			t.Errorf("%s: input 0 has %d of 264 samples, want half", l.Order(), first)
		}
	})
}

func TestFieldsMustBeAlike(t *testing.T) {
	a := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],y:i64", samples: 9})
	b := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[4],y:i64", samples: 9})
	d := mustOpen(t, a, b)
	if _, err := d.Loader(Config{Batch: 2}); err == nil || !strings.Contains(err.Error(), "x") {
		t.Errorf("error is %v", err)
	}
	mustLoader(t, d, Config{Batch: 2, Columns: []string{"y"}})
}

// labelled writes a set of a label and a number, made from as many inputs as
// shards.
func labelled(t *testing.T, labels []int64, shards int) string {
	t.Helper()
	f := []shardify.Field{{Name: "label", DType: shardify.I16}, {Name: "x", DType: shardify.I64}}
	s := writertest.Schema{Name: "labelled", Fields: f}
	var batches []*shardify.Batch
	per := len(labels) / shards
	for k := range shards {
		b := &shardify.Batch{Samples: per, First: shardify.ID{Sample: int64(k * per)}}
		var y, x []byte
		for i, v := range labels[k*per : (k+1)*per] {
			y = binary.LittleEndian.AppendUint16(y, uint16(v))
			x = binary.LittleEndian.AppendUint64(x, uint64(k*per+i))
		}
		b.Columns = []shardify.Column{{Field: f[0], Data: y}, {Field: f[1], Data: x}}
		batches = append(batches, b)
	}
	dir := t.TempDir()
	m := writertest.WriteSet(t, mmapFormat(), s, dir, batches...)
	m.Inputs.Count = int64(shards)
	writertest.WriteManifest(t, dir, m)
	return dir
}

func TestBalanceAndWeightsOfALoader(t *testing.T) {
	labels := make([]int64, 400)
	weights := make([]float64, 400)
	for i := range labels {
		if labels[i] = -3; i%20 == 7 {
			labels[i], weights[i] = 5, 1
		}
	}
	d := mustOpen(t, labelled(t, labels, 4))
	for _, c := range []Config{{Balance: "label"}, {Weights: weights, Samples: 500}} {
		for _, tier := range []Tier{TierPinned, TierStream} {
			c.Batch, c.Tier, c.Shuffle, c.Seed = 20, tier, Global, 1
			l := mustLoader(t, d, c)
			counts := map[int64]int{}
			if err := readAll(l, func(b *Batch) {
				for i, v := range shardify.View[int16](b.Host("label")) {
					counts[int64(v)]++
					if id := b.IDs()[i]; labels[id] != int64(v) || shardify.View[int64](b.Host("x"))[i] != id {
						t.Fatalf("row of sample %d has label %d", id, v)
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			if c.Balance != "" && (counts[5] != 200 || counts[-3] != 200) || c.Balance == "" && counts[5] != 500 {
				t.Errorf("%+v: %v", c, counts)
			}
		}
	}
	for _, c := range []Config{{Balance: "nothing"}, {Balance: "label", Mix: []float64{1}}, {Weights: weights[1:]}, {Samples: 7}} {
		c.Batch = 4
		if _, err := d.Loader(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func notes(l *Loader) string { return strings.Join(l.Notes(), "\n") }

func TestNotesSayWhatMaySurprise(t *testing.T) {
	labels := make([]int64, 4000)
	for i := range labels {
		labels[i] = int64(i / 1000)
	}
	d := mustOpen(t, labelled(t, labels, 4))
	block := Config{Batch: 10, Shuffle: Block, ShuffleWindow: 400, Streams: 2}
	if n := notes(mustLoader(t, d, block)); !strings.Contains(n, "label") || !strings.Contains(n, "4 inputs") {
		t.Errorf("a sorted set under a block shuffle: %s", n)
	}
	block.ShuffleWindow = 4000
	if n := notes(mustLoader(t, d, block)); strings.Contains(n, "inputs") {
		t.Errorf("a window of everything: %s", n)
	}
	block.World, block.Streams = 5, 12
	if n := notes(mustLoader(t, d, block)); !strings.Contains(n, "does not divide 12 streams") {
		t.Errorf("world 5: %s", n)
	}
	if n := notes(mustLoader(t, d, Config{Batch: 5000, Last: Drop})); !strings.Contains(n, "no batch") {
		t.Errorf("a batch larger than the set: %s", n)
	}
	if n := notes(mustLoader(t, d, Config{Batch: 5, Memory: 100})); !strings.Contains(n, "tier stream") {
		t.Errorf("little memory: %s", n)
	}
}
