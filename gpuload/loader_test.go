package gpuload

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/shardify/shardify/tests/race"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// ways are the shuffles, by all tiers.
func ways() map[string]Config {
	all := map[string]Config{
		"none":         {Shuffle: None},
		"global":       {Shuffle: Global, Seed: 3},
		"block":        {Shuffle: Block, Seed: 4, ShuffleWindow: 64, Streams: 4},
		"no window":    {Shuffle: Block, Seed: 4, ShuffleWindow: 1, Streams: 1},
		"small window": {Shuffle: Block, Seed: 4, ShuffleWindow: 6, Streams: 2}, // several make a generation
		"wide window":  {Shuffle: Block, Seed: 5, ShuffleWindow: 10000, Streams: 2},
	}
	if testing.Short() {
		delete(all, "no window")
		delete(all, "wide window")
	}
	return all
}

func eachWay(t *testing.T, f func(t *testing.T, c Config)) {
	for name, c := range ways() {
		for _, tier := range []Tier{TierPinned, TierStream, TierStaged} {
			if c.Tier = tier; tier == TierStaged {
				c.Stage, c.KeepStage = inSharedMemory(t), true // one copy for all of a test
			}
			t.Run(name+"/"+string(tier), func(t *testing.T) { f(t, c) })
		}
	}
}

func TestEverySampleOnceAndBitExact(t *testing.T) {
	for format, schema := range everyKind {
		for _, keyed := range []bool{false, true} {
			if race.Short() && !keyed {
				continue
			}
			dir := makeSet(t, setOptions{format: format, schema: schema, samples: 257, shard: 50, keyed: keyed})
			want := contents(t, format, dir)
			d := mustOpen(t, dir)
			t.Run(fmt.Sprint(format, "/keyed=", keyed), func(t *testing.T) {
				eachWay(t, func(t *testing.T, c Config) {
					c.Batch, c.Last, c.Keys, c.Workers = 16, Pad, keyed, 3
					l := mustLoader(t, d, c)
					for range 2 {
						all := slices.Concat(epochIDs(t, l, want)...)
						if c.Shuffle != None && slices.IsSorted(all) {
							t.Error("not shuffled")
						}
						slices.Sort(all)
						for i, id := range all {
							if id != int64(i) || len(all) != 257 {
								t.Fatalf("%d samples of 257; number %d is sample %d", len(all), i, id)
							}
						}
					}
				})
			})
		}
	}
}

func TestTheOrderIsThatOfOrder(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 300, shard: 70})
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Rank, c.World = 7, 1, 3
		l := mustLoader(t, d, c)
		for step, ids := range epochIDs(t, l, nil) {
			first, stride, n := l.want.Steps.Rows(0, int64(step)*21)
			for j := range n {
				if want := l.Order().At(0, first+j*stride); ids[j] != want {
					t.Fatalf("step %d, row %d is sample %d, want %d", step, j, ids[j], want)
				}
			}
		}
	})
}

func TestEveryWorldDeliversTheSameGlobalSteps(t *testing.T) {
	const global = 24
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*", samples: 301, shard: 64})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		for _, last := range []Last{Drop, Pad, Short} {
			if testing.Short() && last != Pad {
				continue
			}
			var first [][]int64
			worlds := []int{1, 3, 8}
			if race.Short() {
				worlds = []int{1, 3}
			} else if long() {
				worlds = []int{1, 2, 3, 4, 6, 8, 12}
			}
			for _, world := range worlds {
				steps := make([][]int64, 0, 16)
				for rank := range world {
					c.Batch, c.Rank, c.World, c.Last, c.Streams = global/world, rank, world, last, 12
					l := mustLoader(t, d, c)
					mine := epochIDs(t, l, want)
					if len(mine) != l.Steps() {
						t.Fatalf("%d steps, Steps says %d", len(mine), l.Steps())
					}
					for i := range mine {
						if rank == 0 {
							steps = append(steps, nil)
						}
						steps[i] = append(steps[i], mine[i]...)
					}
					l.Close()
				}
				for i := range steps {
					slices.Sort(steps[i])
				}
				if first == nil {
					first = steps
				} else if !slices.EqualFunc(first, steps, slices.Equal) {
					t.Errorf("world %d, %s: other steps than world 1", world, last)
				}
			}
		}
	})
}

func TestResumeAtEveryStepEqualsTheUnbrokenRun(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*", samples: 150, shard: 40})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Seed = 12, 9
		l := mustLoader(t, d, c)
		var states []State
		var unbroken [][]int64
		for range 2 {
			states = append(states, l.State())
			steps := 0
			for range l.Steps() {
				b, err := l.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				unbroken = append(unbroken, slices.Clone(b.IDs()))
				b.Release()
				states = append(states, l.State())
				steps++
			}
			epochIDs(t, l, nil) // the end
			states = states[:len(states)-1]
		}
		for at, s := range states {
			if !long() && at%3 != 1 || race.Short() && at%9 != 1 {
				continue
			}
			text, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if s, err = DecodeState(text); err != nil {
				t.Fatal(err)
			}
			r := mustLoader(t, d, c)
			if err := r.Restore(s); err != nil {
				t.Fatal(err)
			}
			var rest [][]int64
			for len(rest) < len(unbroken)-at {
				rest = append(rest, epochIDs(t, r, want)...)
			}
			if !slices.EqualFunc(rest[:len(unbroken)-at], unbroken[at:], slices.Equal) {
				t.Fatalf("resumed at step %d: other samples than without a break", at)
			}
			r.Close()
		}
	})
}

// TestResumeInAnotherWorldGoesOnAtTheSameSample: what was seen and what comes are
// the whole epoch, each sample once.
func TestResumeInAnotherWorldGoesOnAtTheSameSample(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2]", samples: 300, shard: 64})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Streams = 12
		var all []int64
		var s State
		for rank := range 4 {
			c.Batch, c.Rank, c.World = 7, rank, 4
			l := mustLoader(t, d, c)
			for range 3 {
				b, err := l.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, b.IDs()...)
				b.Release()
			}
			s = l.State()
			l.Close()
		}
		for rank := range 3 {
			c.Batch, c.Rank, c.World, c.Last = 5, rank, 3, Pad
			l := mustLoader(t, d, c)
			if err := l.Restore(s); err != nil {
				t.Fatal(err)
			}
			all = append(all, slices.Concat(epochIDs(t, l, want)...)...)
			l.Close()
		}
		slices.Sort(all)
		for i, id := range all {
			if id != int64(i) || len(all) != 300 {
				t.Fatalf("%d samples, want 300; number %d is sample %d", len(all), i, id)
			}
		}
	})
}

// TestLargeSamplesAreReadOneByOne, also where a rank resumes in streams of another
// residue.
func TestLargeSamplesAreReadOneByOne(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[6000]", samples: 60, shard: 25})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	l := mustLoader(t, d, Config{Batch: 5, Shuffle: Block, ShuffleWindow: 24, Streams: 6, World: 2, Rank: 1, Tier: TierStream, Last: Pad})
	if l.from.advisor == nil || l.from.Windows != nil {
		t.Fatal("no advisor")
	}
	s := l.State()
	s.Position = 13
	if err := l.Restore(s); err != nil {
		t.Fatal(err)
	}
	first := slices.Concat(epochIDs(t, l, want)...)
	second := slices.Concat(epochIDs(t, l, want)...)
	if len(first) != 23 || len(second) != 30 {
		t.Errorf("%d and %d samples, want 23 of the rest and 30 of an epoch", len(first), len(second))
	}
}

// TestLongStretchesAreReadInPieces: batches of more than pieceBytes, in order, are exact.
func TestLongStretchesAreReadInPieces(t *testing.T) {
	for _, format := range []string{index.FormatMmap, index.FormatWDS} {
		dir := makeSet(t, setOptions{format: format, schema: "x:u8[65536],a:f32*40,y:i64", samples: 240, shard: 100, keyed: true})
		want, d := contents(t, format, dir), mustOpen(t, dir)
		l := mustLoader(t, d, Config{Batch: 200, Tier: TierStream, Last: Pad, Keys: true, Workers: 4, Device: "host"})
		for at := int64(0); at < 240; {
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			if n := b.Bytes(); n < 2*pieceBytes {
				t.Errorf("batches of %d bytes are read in one piece", n)
			}
			for i, id := range b.IDs()[:b.Rows()] {
				compareRow(t, b, i, want, id)
				compareKey(t, b, i, want, id)
				if id != at {
					t.Fatalf("sample %d at %d", id, at)
				}
				at++
			}
			b.Release()
		}
	}
}

func TestSyntheticDeliversTheSameSlots(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 400})
	want := contents(t, index.FormatMmap, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Synthetic, c.Depth = 8, true, 2
		seen := map[int64]bool{}
		steps := epochIDs(t, mustLoader(t, mustOpen(t, dir), c), want)
		for _, id := range slices.Concat(steps...) {
			seen[id] = true
		}
		if len(steps) != 50 || len(seen) != 24 {
			t.Errorf("%d steps with %d different samples, want 50 with the 24 of 3 slots", len(steps), len(seen))
		}
	})
}

// TestPaddingIsZeros also in slots that held other samples before.
func TestPaddingIsZeros(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],h:i16*", samples: 70})
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Last, c.Depth = 8, Pad, 1
		padded := 0
		l := mustLoader(t, mustOpen(t, dir), c)
		for range 2 {
			if err := readAll(l, func(b *Batch) {
				o, err := b.Offsets("h")
				if err != nil {
					t.Fatal(err)
				}
				offsets := shardify.View[int64](o.Data)
				for i := b.Rows(); i < b.Batch(); i++ {
					padded++
					for _, v := range b.Host("x")[i*12 : i*12+12] {
						if v != 0 || offsets[i] != offsets[i+1] {
							t.Fatalf("row %d of %d samples is not empty", i, b.Rows())
						}
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if padded != 4 {
			t.Errorf("%d rows of padding, want 2 an epoch", padded)
		}
	})
}

func TestFewFilesAreOpenAtOnce(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 200, shard: 10})
	want := contents(t, index.FormatMmap, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Workers = 5, 4
		l := mustLoader(t, mustOpen(t, dir), c)
		l.from.Shards.Open = 2
		if n := len(epochIDs(t, l, want)); n != 40 {
			t.Errorf("%d steps", n)
		}
		l.from.Shards.Mu.Lock()
		defer l.from.Shards.Mu.Unlock()
		if n := len(l.from.Shards.Kept); n > 2+4+3 {
			t.Errorf("%d shards are open", n)
		}
	})
}

// TestAnyWorldSharesAnEpoch: also one that does not divide the streams, or exceeds
// them.
func TestAnyWorldSharesAnEpoch(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 301, shard: 64})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		worlds := []int{7}
		if long() {
			worlds = []int{5, 7, 18}
		}
		for _, world := range worlds {
			var all []int64
			for rank := range world {
				c.Batch, c.Rank, c.World, c.Last, c.Streams = 3, rank, world, Pad, 12
				l := mustLoader(t, d, c)
				mine := epochIDs(t, l, want)
				if len(mine) != (301+3*world-1)/(3*world) || len(mine) != l.Steps() {
					t.Fatalf("world %d: %d steps on rank %d", world, len(mine), rank)
				}
				all = append(all, slices.Concat(mine...)...)
				l.Close()
			}
			slices.Sort(all)
			for i, id := range all {
				if id != int64(i) || len(all) != 301 {
					t.Fatalf("world %d: %d samples; number %d is sample %d", world, len(all), i, id)
				}
			}
		}
	})
}

func TestRankWithoutSamplesHasEmptySteps(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 2})
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Rank, c.World, c.Last, c.Streams = 2, 3, 4, Pad, 1
		l := mustLoader(t, mustOpen(t, dir), c)
		for range 3 {
			if steps := epochIDs(t, l, nil); len(steps) != 1 || len(steps[0]) != 0 {
				t.Fatalf("steps %v, want an empty one", steps)
			}
		}
	})
}

// TestGroupsArePartsOfTheSameOrder: steps that come together are those that come one by
// one, on every rank, at the end of an epoch and from any place on.
func TestGroupsArePartsOfTheSameOrder(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],y:i64", samples: 203, shard: 50})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		for _, world := range []int{1, 3} {
			for _, last := range []Last{Drop, Pad} {
				for rank := range world {
					c.Batch, c.World, c.Rank, c.Last, c.Device, c.Group = 7, world, rank, last, "host", 0
					one := mustLoader(t, d, c)
					c.Group = 4*7*20 + 1
					some := mustLoader(t, d, c)
					if n := some.Together(); n != 4 {
						t.Fatalf("%d steps together, want 4", n)
					}
					compareGroups(t, one, some, want)
					at := one.State()
					at.Position = 2 * 7 * int64(world) // inside of a group
					for _, l := range []*Loader{one, some} {
						if err := l.Restore(at); err != nil {
							t.Fatal(err)
						}
					}
					compareGroups(t, one, some, want)
					one.Close()
					some.Close()
				}
			}
		}
	})
}

// compareGroups holds the rest of an epoch in groups against that step by step.
func compareGroups(t *testing.T, one, some *Loader, want *shardify.Batch) {
	t.Helper()
	for {
		b, err := some.Next(bg)
		if err == io.EOF {
			if _, err = one.Next(bg); err != io.EOF {
				t.Fatalf("there are more steps: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		each, rows := b.Batch()/b.Steps(), 0
		for k := range b.Steps() {
			step, err := one.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			if ids := b.IDs()[k*each : (k+1)*each]; !slices.Equal(ids, step.IDs()) {
				t.Fatalf("step %d has samples %v, in a group of %d %v", step.Index(), step.IDs(), b.Steps(), ids)
			}
			if k == 0 && (step.From() != b.From() || step.Index() != b.Index()) {
				t.Fatalf("a group begins at %d, its first step at %d", b.From(), step.From())
			}
			if k == b.Steps()-1 && (step.Position() != b.Position() || one.State() != some.State()) {
				t.Fatalf("a group ends at %d, its last step at %d", b.Position(), step.Position())
			}
			rows += step.Rows()
			step.Release()
		}
		if rows != b.Rows() {
			t.Fatalf("a group of %d rows, its steps have %d", b.Rows(), rows)
		}
		for i, id := range b.IDs()[:rows] {
			compareRow(t, b, i, want, id)
		}
		for i, v := range b.Host("y")[8*rows:] {
			if v != 0 {
				t.Fatalf("byte %d of the padding is %d", i, v)
			}
		}
		b.Release()
	}
}

// TestLargeBatches: those that are copied past the caches hold the samples that they
// should.
func TestLargeBatches(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:u8[70001],y:i64", samples: 240, shard: 97})
	want := contents(t, index.FormatMmap, dir)
	for _, tier := range []Tier{TierPinned, TierStaged} {
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 120, Shuffle: Global, Tier: tier, Stage: inSharedMemory(t), Device: "host"})
		if n := len(epochIDs(t, l, want)); n != 2 {
			t.Errorf("%s: %d batches, want 2", tier, n)
		}
	}
}

// TestMakersAreThoseOfWorkers: how far ahead batches are made does not decide how many are made at
// a time.
func TestMakersAreThoseOfWorkers(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2]", samples: 40}))
	for _, depth := range []int{1, 3, 9} {
		if l := mustLoader(t, d, Config{Batch: 4, Depth: depth, Workers: 5, Device: "host"}); l.queue.makers != 5 {
			t.Errorf("depth %d: %d batches at a time", depth, l.queue.makers)
		}
	}
}
