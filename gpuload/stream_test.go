package gpuload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/race"
)

// TestStreamsOfTokens: samples are what the documents of a shard are, joined and cut, from every tier,
// in every order, on every rank, with every offset.
func TestStreamsOfTokens(t *testing.T) {
	const length, samples, shard = 16, 200, 45
	for _, schema := range []string{"tok:u16*", "tok:i32[7]"} {
		plain := makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: samples, shard: shard, seed: 3})
		pairs := makeSet(t, setOptions{format: index.FormatMegatron, schema: schema, samples: samples, shard: shard, seed: 3})
		all := contents(t, index.FormatMmap, plain)
		width := all.Columns[0].DType.Size()
		var want []byte // all tokens
		var ends []int64
		for i := range samples {
			lo, hi := all.Columns[0].Range(i, i+1)
			want = append(want, all.Columns[0].Data[lo:hi]...)
			if i%shard == shard-1 || i == samples-1 {
				ends = append(ends, int64(len(want)/width))
			}
		}
		for _, dir := range []string{plain, pairs} {
			for k, spec := range []string{"tok=16", "16,offset=5", "tok=16,offset=random", "tok=16,offset=random,labels=shift"} {
				if k < 3 && schema != "tok:u16*" || k == 1 && dir == pairs {
					continue
				}
				d := mustOpen(t, dir)
				t.Run(fmt.Sprint(schema, dir == pairs, spec), func(t *testing.T) {
					eachWay(t, func(t *testing.T, c Config) {
						c.Batch, c.Last, c.Tokens, c.World = 7, Short, spec, 2
						seen := map[int64]bool{}
						for c.Rank = range 2 {
							l := mustLoader(t, d, c)
							for e := range 2 {
								seen = check(t, l, e, seen, want, ends, width)
							}
							l.Close()
						}
						most, further := int64(0), int64(0)
						switch {
						case strings.Contains(spec, "random"):
							most = length - 1
						case strings.Contains(spec, "offset"):
							most = 5
						}
						if strings.Contains(spec, "labels") {
							further = 1
						}
						n, lo := int64(0), int64(0)
						for _, hi := range ends {
							n += max(hi-lo-most-further, 0) / length
							lo = hi
						}
						if int64(len(seen)) != 2*n || n < 20 {
							t.Errorf("%d samples in two epochs of %d", len(seen), n)
						}
					})
				})
			}
		}
	}
}

// check reads an epoch of samples of 16 tokens.
func check(t *testing.T, l *Loader, e int, seen map[int64]bool, want []byte, ends []int64, width int) map[int64]bool {
	const length = 16
	epoch(t, l, func(b *Batch, j int, id int64) {
		at := id
		if l.want.slack() > 0 {
			at += l.want.Order.Offset(e, id, length)
		}
		k := slices.IndexFunc(ends, func(end int64) bool { return at < end })
		if key := id*2 + int64(e); seen[key] || at+length > ends[k] || at-id >= length {
			t.Fatalf("sample %d at %d, seen %v; the shard ends at %d", id, at, seen[key], ends[k])
		} else {
			seen[key] = true
		}
		cols := []string{"tok"}
		if l.want.stream.Labels {
			cols = append(cols, "labels")
		}
		for further, name := range cols {
			have := b.Host(name)[j*length*width : (j+1)*length*width]
			lo := (int(at) + further) * width
			if !bytes.Equal(have, want[lo:lo+length*width]) {
				t.Fatalf("%s of sample %d at %d: %x, want %x", name, id, at, have, want[lo:lo+length*width])
			}
		}
	})
	return seen
}

// tokensOf is the tokens of the rest of an epoch, by position over all ranks.
func tokensOf(t *testing.T, d *Dataset, c Config, from *State) (all [][]byte, middle State) {
	c.World = max(c.World, 1)
	parts := make([][][]byte, c.World)
	for c.Rank = range c.World {
		l := mustLoader(t, d, c)
		if from != nil {
			if err := l.Restore(*from); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for {
			b, err := l.Next(bg)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 4 {
				middle = l.State()
			}
			part := bytes.Clone(b.Host(l.Columns()[0]))
			parts[c.Rank] = append(parts[c.Rank], part[:len(part)/b.Batch()*b.Rows()])
			b.Release()
		}
		l.Close()
	}
	for i := range parts[0] {
		for r := range parts {
			all = append(all, parts[r][i])
		}
	}
	return all, middle
}

// TestStreamsMixAndResume: a mixture of a set of mmap shards, one of pairs and one of others' pairs is
// the same for any world size, and continues where it was.
func TestStreamsMixAndResume(t *testing.T) {
	foreign, _ := makePairs(t, shardify.U16, 400, 300)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "tok:u16*", samples: 300, shard: 90, seed: 1}),
		makeSet(t, setOptions{format: index.FormatMegatron, schema: "text:u16*", samples: 300, shard: 50, seed: 2}), foreign)
	for _, shuffle := range []Shuffle{None, Block, Global} {
		c := Config{Batch: 8, Shuffle: shuffle, Seed: 9, Tokens: "16,offset=random,labels=shift", Mix: []float64{0.5, 0.3, 0.2}, Samples: 400, Last: Drop, Streams: 4, ShuffleWindow: 64}
		want, middle := tokensOf(t, d, c, nil)
		if have, _ := tokensOf(t, d, c, &middle); !slices.EqualFunc(have, want[4:], bytes.Equal) {
			t.Errorf("%s: not the same after a state", shuffle)
		}
		if shuffle != Block { // whose rows go to the ranks in turn
			c.World, c.Batch = 2, 4
			have, _ := tokensOf(t, d, c, &middle)
			if !bytes.Equal(bytes.Join(have, nil), bytes.Join(want[4:], nil)) {
				t.Errorf("%s: not the same on two ranks", shuffle)
			}
		}
		c.Tokens = "16,labels=shift"
		if err := mustLoader(t, d, c).Restore(middle); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: a state of other offsets: %v", shuffle, err)
		}
	}
}

// TestStreamsRefused: what cannot be a stream is named.
func TestStreamsRefused(t *testing.T) {
	race.Sequential(t)
	two := makeSet(t, setOptions{format: index.FormatMmap, schema: "tok:u16*,other:i32*,name:txt,may:u16*?,many:i16**", samples: 20, shard: 9})
	tars := makeSet(t, setOptions{format: index.FormatWDS, schema: "tok:u16*", samples: 20, shard: 9})
	for _, c := range []struct {
		dir, tokens, want string
		more              Config
	}{
		{two, "16", "2 lists of whole numbers (tok, other)", Config{}},
		{two, "nope=16", `no field "nope"`, Config{}},
		{two, "name=16", "a list of numbers in each sample", Config{}},
		{two, "may=16", "a list of numbers in each sample", Config{}},
		{two, "many=16", "a list of numbers in each sample", Config{}},
		{two, "tok=0", "of 1 to", Config{}},
		{two, "tok=16,offset=16", "less than 16", Config{}},
		{two, "tok=16,stride=2", `no option "stride=2"`, Config{}},
		{two, "tok=100000", "no shard has so many", Config{}},
		{two, "tok=16", "give one", Config{Window: "1+1"}},
		{two, "tok=16", "no class", Config{Balance: "tok"}},
		{tars, "tok=16", "want mmap or megatron", Config{}},
	} {
		c.more.Tokens, c.more.Batch = c.tokens, 1
		if _, err := mustOpen(t, c.dir).Loader(c.more); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.tokens, err, c.want)
		}
	}
}

// TestStreamsDamaged: a token that changed is found, in every tier, and a shard that has other tokens.
func TestStreamsDamaged(t *testing.T) {
	for _, kind := range []string{index.FormatMmap, index.FormatMegatron} {
		dir := makeSet(t, setOptions{format: kind, schema: "tok:u16*", samples: 50, shard: 50})
		name := filepath.Join(dir, mustOpen(t, dir).inputs[0].Shards[0].Name)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-4]++
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, tier := range []Tier{TierPinned, TierStream} {
			l := mustLoader(t, mustOpen(t, dir), Config{Batch: 2, Tokens: "8", Tier: tier})
			if _, err := l.Next(bg); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, tier %s: %v", kind, tier, err)
			}
		}
	}
}
