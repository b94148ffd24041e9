package order

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/corpus"
	_ "github.com/shardify/shardify/tests/race"
)

func lengthsOf(list []int64) *Lengths {
	l := &Lengths{}
	l.Append(list...)
	return l
}

// steps are the batches of an epoch from one on: of each step those of all ranks.
func stepsOf(o *Order, epoch int, from, world int64, last Last) (all [][][]int64) {
	for rank := range world {
		s := Steps{Length: o.Len(), Batch: 1, Rank: rank, World: world, Last: last, Together: 1, Packs: o.Packs()}
		cur := o.Cursor(epoch)
		n := s.Count(epoch, from)
		for i := range n {
			st := s.At(epoch, from+i*world)
			ids := make([]int64, st.Rows)
			s.Fill(ids, &st, cur)
			if rank == 0 {
				all = append(all, nil)
			}
			all[i] = append(all[i], ids)
		}
	}
	return all
}

// TestChunksAgain cuts the batches of an epoch again, as where there are too many samples to keep them.
func TestChunksAgain(t *testing.T) {
	lengths := make([]int64, 5000)
	for i := range lengths {
		lengths[i] = int64(i * 7919 % 97)
	}
	for _, window := range []int64{1, 300} {
		o, err := New(Config{Shuffle: Global, Seed: 3, Parts: []int64{5000}, Pack: &Packing{Budgets: []Budget{{"n", 400, lengthsOf(lengths)}}, Batch: MaxPacked, Window: window, Oversize: Refuse}})
		if err != nil {
			t.Fatal(err)
		}
		p := o.Packs()
		e := p.epoch(2)
		if len(e.chunks) < 2 || len(e.chunks) != len(e.first)-1 {
			t.Fatalf("%d chunks are kept, want %d", len(e.chunks), len(e.first)-1)
		}
		for k, want := range e.chunks {
			if got := p.chunk(e, k); !slices.Equal(got.ids, want.ids) || !slices.Equal(got.ends, want.ends) {
				t.Fatalf("window %d: chunk %d has batches %v of %v, want %v of %v", window, k, got.ends, got.ids, want.ends, want.ids)
			}
		}
	}
}

// TestBudgetCorpus compares with the batches of another planner.
func TestBudgetCorpus(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(corpus.Dir(t, "anndata"), "budget", "cases.json"))
	if err != nil {
		t.Skip(err)
	}
	var in struct {
		Lengths map[string][]int64 `json:"lengths"`
		Cases   []struct {
			Lengths  string
			Budget   int64
			Shuffle  Shuffle
			Window   int64
			Padded   bool
			Oversize string
			Seed     uint64
			Epoch    int
			World    int64
			Last     Last
			Done     int64
			MaxBatch int64 `json:"max_batch"`
			Steps    [][][]int64
			Error    string
			Figures  struct{ Batches, Samples, Elements, Largest int64 }
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, c := range in.Cases {
		list := in.Lengths[c.Lengths]
		if len(list) == 0 {
			continue // an order has samples
		}
		how := Refuse
		if c.Oversize == "alone" || c.Oversize == "drop" {
			how = Oversize(c.Oversize)
		}
		if c.Shuffle == "" {
			c.Shuffle = Global
		}
		if c.Last == "" {
			c.Last = Drop
		}
		p := &Packing{Budgets: []Budget{{Name: "n", Most: c.Budget, Lengths: lengthsOf(list)}}, Padded: c.Padded, Batch: max(c.MaxBatch, 0), Window: max(c.Window, 1), Oversize: how}
		if p.Batch == 0 {
			p.Batch = MaxPacked
		}
		o, err := New(Config{Shuffle: c.Shuffle, Seed: c.Seed, Parts: []int64{int64(len(list))}, Pack: p})
		if (err != nil) != (c.Error != "") {
			t.Errorf("case %d: %v, want %q", i, err, c.Error)
		}
		if compared++; err != nil {
			continue
		}
		got := stepsOf(o, c.Epoch, c.Done, max(c.World, 1), c.Last)
		if !slices.EqualFunc(got, c.Steps, func(a, b [][]int64) bool { return slices.EqualFunc(a, b, slices.Equal) }) {
			t.Errorf("case %d: %+v: got %v, want %v", i, c, got, c.Steps)
		}
		if r := o.Packs().Report(c.Epoch); c.World == 0 && c.Done == 0 && (r.Batches != c.Figures.Batches || r.Samples != c.Figures.Samples || !c.Padded && (r.Used[0] != c.Figures.Elements || r.Largest[0] != c.Figures.Largest)) {
			t.Errorf("case %d: report %+v, want %+v", i, r, c.Figures)
		}
	}
	if compared < 45 {
		t.Errorf("%d cases compared", compared)
	}
}

// TestRandomPackings: no sample twice, none lost, none over a budget, as many steps on each rank,
// none more than Most; the batches from any point on are those of the whole, for any world.
func TestRandomPackings(t *testing.T) {
	rounds := 200
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 10000
	}
	sets, batches, samples := [8]int{}, 0, 0
	r := rand.New(rand.NewPCG(5, 5))
	for round := range rounds {
		n := 1 + r.IntN(400)
		if round%20 == 0 {
			n = 1 + r.IntN(20000)
		}
		p := &Packing{Padded: r.IntN(2) == 0, Batch: int64(1 + r.IntN(60)), Window: int64(1 + r.IntN(2)*r.IntN(300)), Oversize: []Oversize{Alone, Skip}[r.IntN(2)]}
		lists := make([][]int64, 1+r.IntN(3))
		for k := range lists {
			high := 1 + r.IntN(60)
			for range n {
				lists[k] = append(lists[k], int64(r.IntN(high)))
			}
			p.Budgets = append(p.Budgets, Budget{fmt.Sprint(k), int64(high/2 + r.IntN(4*high)), lengthsOf(lists[k])})
		}
		c := Config{Shuffle: []Shuffle{None, Global, Block}[r.IntN(3)], Seed: r.Uint64(), Parts: []int64{int64(n)}, Window: 40, Block: 3, Streams: 2, Pack: p}
		o, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		epoch, over := r.IntN(3), func(s int64) bool {
			return slices.ContainsFunc(p.Budgets, func(b Budget) bool { return b.Lengths.Of(s) > b.Most })
		}
		whole := stepsOf(o, epoch, 0, 1, Short)
		seen := make([]int, n)
		for b, step := range whole {
			list := step[0]
			if int64(len(list)) > o.Packs().most || len(list) == 0 {
				t.Fatalf("round %d: batch %d has %d samples, want 1 to %d", round, b, len(list), o.Packs().most)
			}
			for k := range p.Budgets {
				total, longest := int64(0), int64(0)
				for _, s := range list {
					total, longest = total+lists[k][s], max(longest, lists[k][s])
				}
				if p.Padded {
					total = longest * int64(len(list))
				}
				if total > p.Budgets[k].Most && !(len(list) == 1 && over(list[0])) {
					t.Fatalf("round %d: batch %d has %d of budget %d: %d", round, b, total, k, p.Budgets[k].Most)
				}
			}
			for _, s := range list {
				seen[s]++
			}
		}
		for s, k := range seen {
			want := 1
			if p.Oversize == Skip && over(int64(s)) {
				want = 0
			}
			if k != want {
				t.Fatalf("round %d: sample %d is in %d batches, want %d", round, s, k, want)
			}
		}
		world := int64(1 + r.IntN(7))
		sets[world], batches, samples = sets[world]+1, batches+len(whole), samples+n
		from := int64(0)
		if len(whole) > 0 {
			from = r.Int64N(int64(len(whole)))
		}
		at := int(from)
		for _, step := range stepsOf(o, epoch, from, world, Short) {
			for _, list := range step {
				if at < len(whole) && !reflect.DeepEqual(list, whole[at][0]) || at >= len(whole) && len(list) != 0 {
					t.Fatalf("round %d: world %d: batch %d is %v", round, world, at, list)
				}
				at++
			}
		}
		if at < len(whole) {
			t.Fatalf("round %d: %d of %d batches", round, at, len(whole))
		}
		for i, step := range stepsOf(o, epoch, from, world, Drop) { // on each rank one that has samples
			for rank, list := range step {
				if b := int(from) + i*int(world) + rank; !slices.Equal(list, whole[b][0]) {
					t.Fatalf("round %d: step %d of rank %d of %d has %v, want %v", round, i, rank, world, list, whole[b][0])
				}
			}
		}
	}
	t.Logf("%d sets, %d samples in %d batches; by world 1 to 7: %v", rounds, samples, batches, sets[1:])
}

// TestFill: with log-normal lengths, 60 samples a batch or more and a window of 64 batches, batches are 0.95 full. With fewer
// samples those as long as a third of the budget fill less.
func TestFill(t *testing.T) {
	rounds := 6
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 1000
	}
	r := rand.New(rand.NewPCG(6, 6))
	least, sum := [2]float64{1, 1}, [2]float64{}
	for round := range rounds {
		median, sigma, each := 50+r.Float64()*500, 0.2+0.8*r.Float64(), 60+r.IntN(100)
		mean := median * math.Exp(sigma*sigma/2)
		most, window := int64(mean*float64(each)), int64(64*each)
		l, n := &Lengths{}, 4*window
		for range n {
			l.Append(min(int64(median*math.Exp(sigma*r.NormFloat64())), most))
		}
		for i, padded := range []bool{false, true} {
			o, err := New(Config{Shuffle: Global, Seed: r.Uint64(), Parts: []int64{n}, Pack: &Packing{Budgets: []Budget{{"n", most, l}}, Padded: padded, Batch: MaxPacked, Window: window, Oversize: Refuse}})
			if err != nil {
				t.Fatal(err)
			}
			p := o.Packs().Report(0)
			fill := float64(p.Used[0]) / float64(p.Batches*most)
			least[i], sum[i] = min(least[i], fill), sum[i]+fill
			if fill < 0.95 && !padded || p.Samples != n {
				t.Errorf("round %d: median %.0f, sigma %.2f, %d samples a batch, padded=%t: fill %.3f, %d of %d samples", round, median, sigma, each, padded, fill, p.Samples, n)
			}
		}
	}
	t.Logf("%d sets: fill %.4f, the least %.4f; padded %.4f, the least %.4f", rounds, sum[0]/float64(rounds), least[0], sum[1]/float64(rounds), least[1])
}

// TestDrawnPackings: with weights, classes or shares of inputs batches are the samples of the order without a budget, in windows;
// none is over the budget, and other worlds go on from any batch.
func TestDrawnPackings(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for round := range 150 {
		n := 20 + r.Int64N(200)
		var lengths, labels []int64
		var weights []float64
		for range n {
			lengths, labels, weights = append(lengths, r.Int64N(50)), append(labels, r.Int64N(4)), append(weights, float64(r.IntN(3)))
		}
		weights[0] = 1
		c := Config{Shuffle: []Shuffle{None, Global, Block}[round%3], Seed: r.Uint64(), Parts: []int64{n}, Window: 40, Block: 3, Streams: 2, Samples: 1 + r.Int64N(2*n)}
		switch r.IntN(3) {
		case 0:
			c.Weights = weights
		case 1:
			c.Labels = labels
		default:
			c.Parts, c.Mix = []int64{n / 3, n - n/3}, []float64{3, 1}
		}
		plain, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		c.Pack = &Packing{Budgets: []Budget{{"n", 60 + r.Int64N(200), lengthsOf(lengths)}}, Padded: r.IntN(2) == 0, Batch: 1 + r.Int64N(30), Window: 1 + r.Int64N(2)*r.Int64N(60), Oversize: Refuse}
		o, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		epoch := r.IntN(3)
		whole, all := stepsOf(o, epoch, 0, 1, Short), []int64(nil)
		for _, step := range whole {
			total, longest := int64(0), int64(0)
			for _, s := range step[0] {
				total, longest = total+lengths[s], max(longest, lengths[s])
			}
			if c.Pack.Padded {
				total = longest * int64(len(step[0]))
			}
			if all = append(all, step[0]...); total > c.Pack.Budgets[0].Most || int64(len(step[0])) > o.Packs().most {
				t.Fatalf("round %d: a batch of %d samples with %d of %d", round, len(step[0]), total, c.Pack.Budgets[0].Most)
			}
		}
		want := make([]int64, plain.Len())
		plain.IDs(want, epoch, 0, 1)
		for lo := int64(0); lo < int64(len(want)) && c.Pack.Window > 1; lo += c.Pack.Window {
			hi := min(lo+c.Pack.Window, int64(len(want)))
			slices.Sort(want[lo:hi])
			slices.Sort(all[lo:hi])
		}
		if !slices.Equal(all, want) {
			t.Fatalf("round %d: %v, want %v", round, all, want)
		}
		world, from := 1+r.Int64N(7), r.Int64N(int64(len(whole)))
		at := int(from)
		for _, step := range stepsOf(o, epoch, from, world, Short) {
			for _, list := range step {
				if at < len(whole) && !slices.Equal(list, whole[at][0]) {
					t.Fatalf("round %d: batch %d of %d ranks is another one", round, at, world)
				}
				at++
			}
		}
		if at < len(whole) {
			t.Fatalf("round %d: %d of %d batches", round, at, len(whole))
		}
	}
}

func TestWrongWeights(t *testing.T) {
	for _, c := range []struct {
		Config
		want string
	}{
		{Config{Weights: []float64{1, math.NaN(), 1}}, "weights: sample 1 has NaN"},
		{Config{Weights: []float64{1, 2, -0.5}}, "weights: sample 2 has -0.5"},
		{Config{Weights: []float64{1, -1}, Indices: []int64{0, 2}}, "weights: sample 2 has -1"},
		{Config{Weights: []float64{math.Inf(1), 1, 1}}, "weights: sample 0 has +Inf"},
		{Config{Weights: []float64{0, 0, 0}}, "the sum of all is 0"},
		{Config{Weights: []float64{1, 2}}, "2 weights for 3 samples"},
		{Config{Mix: []float64{1, math.NaN()}, Parts: []int64{1, 2}}, "mix: input 1 has the share NaN"},
		{Config{Mix: []float64{-1, 1}, Parts: []int64{1, 2}}, "mix: input 0 has the share -1"},
	} {
		if c.Parts == nil {
			c.Parts = []int64{3}
		}
		c.Shuffle = Global
		if _, err := New(c.Config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestBoundOfDraws: a batch of samples that are drawn again and again has no more rows than are kept for it.
func TestBoundOfDraws(t *testing.T) {
	lengths := []int64{5, 3, 9, 40, 7}
	for _, c := range []Config{{Weights: []float64{0, 1, 0, 0, 0}}, {Labels: []int64{1, 2, 1, 1, 1}}, {Mix: []float64{1, 9}, Parts: []int64{1, 4}}} {
		if c.Parts == nil {
			c.Parts = []int64{5}
		}
		for _, padded := range []bool{false, true} {
			c.Shuffle, c.Samples, c.Seed = Global, 1000, 7
			c.Pack = &Packing{Budgets: []Budget{{"n", 20, lengthsOf(lengths)}}, Padded: padded, Batch: MaxPacked, Window: 1, Oversize: Alone}
			o, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			if o.Packs().most != 6 {
				t.Errorf("%+v: %d rows, want 6", c, o.Packs().most)
			}
			for _, step := range stepsOf(o, 0, 0, 1, Short) {
				if len(step[0]) > 6 {
					t.Fatalf("a batch of %d", len(step[0]))
				}
			}
		}
	}
}

// BenchmarkPack is the plan of an epoch: nanoseconds a sample.
func BenchmarkPack(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 1))
	l := &Lengths{}
	for range n {
		l.Append(int64(300 * math.Exp(r.NormFloat64())))
	}
	for _, shuffle := range []Shuffle{None, Global} {
		for _, window := range []int64{1, 4096, n} {
			b.Run(fmt.Sprint(shuffle, "/", window), func(b *testing.B) {
				p := &Packing{Budgets: []Budget{{"n", 32768, l}}, Padded: window > 1, Batch: MaxPacked, Window: window, Oversize: Alone}
				o, err := New(Config{Shuffle: shuffle, Parts: []int64{n}, Pack: p})
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for i := range b.N {
					o.Packs().Batches(i)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/sample")
			})
		}
	}
}
