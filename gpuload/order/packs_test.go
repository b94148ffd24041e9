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
	rounds := 400
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 10000
	}
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
