package order

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

func mustOrder(t testing.TB, c Config) *Order {
	t.Helper()
	o, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func epochOf(o *Order, epoch int) []int64 {
	c := o.Cursor(epoch)
	items := make([]int64, o.Len())
	for q := range items {
		items[q] = c.At(int64(q))
	}
	return items
}

func shuffles(n int64) []Config {
	return []Config{
		{Shuffle: None, Parts: []int64{n}},
		{Shuffle: Global, Parts: []int64{n}},
		{Shuffle: Block, Parts: []int64{n}, Window: 64, Block: 4, Streams: 12},
		{Shuffle: Block, Parts: []int64{n}, Window: 1, Block: 7, Streams: 1},
		{Shuffle: Block, Parts: []int64{n}, Window: 1000, Block: 64, Streams: 192},
	}
}

func TestPermIsABijectionAndPlaceItsInverse(t *testing.T) {
	for n := int64(1); n < 300; n++ {
		p := newPerm(n, uint64(n)*77)
		seen := make([]bool, n)
		for x := range uint64(n) {
			y := p.at(x)
			if y >= uint64(n) || seen[y] {
				t.Fatalf("n %d: place %d gives %d twice or outside", n, x, y)
			}
			seen[y] = true
			if p.place(y) != x {
				t.Fatalf("n %d: place(at(%d)) is %d", n, x, p.place(y))
			}
		}
	}
}

// TestPermIsUniform: over many keys every element is at every place equally often, and
// neighbours are independent of each other. A bad round function shows as a chi-square far
// from its degrees of freedom.
func TestPermIsUniform(t *testing.T) {
	const keys = 20000
	for _, n := range []int64{2, 3, 5, 8, 13, 32} {
		places, pairs := make([]int, n*n), make([]int, n*n)
		for k := range uint64(keys) {
			p := newPerm(n, derive(k, forSamples))
			for x := range uint64(n) {
				places[int64(x)*n+int64(p.at(x))]++
			}
			pairs[int64(p.at(0))*n+int64(p.at(1))]++
		}
		chi := 0.0
		for _, c := range places {
			d := float64(c) - keys/float64(n)
			chi += d * d / (keys / float64(n))
		}
		if free := float64((n - 1) * (n - 1)); chi > free+6*(free+1) {
			t.Errorf("n %d: chi-square of places is %.0f with %.0f degrees of freedom", n, chi, free)
		}
		chi = 0
		for i, c := range pairs {
			if int64(i)/n == int64(i)%n {
				continue
			}
			want := keys / float64(n*(n-1))
			d := float64(c) - want
			chi += d * d / want
		}
		if free := float64(n*(n-1) - 1); n > 2 && chi > free+8*(free+1) {
			t.Errorf("n %d: chi-square of pairs is %.0f with %.0f degrees of freedom", n, chi, free)
		}
	}
}

func TestEverySampleOnceInAnEpoch(t *testing.T) {
	for _, n := range []int64{1, 2, 7, 191, 192, 193, 1000, 4099} {
		for _, c := range shuffles(n) {
			o := mustOrder(t, c)
			first := epochOf(o, 0)
			for epoch := range 3 {
				items := epochOf(o, epoch)
				if c.Shuffle != None && n > 190 && epoch > 0 && slices.Equal(items, first) {
					t.Errorf("%s of %d: epoch %d has the order of epoch 0", o, n, epoch)
				}
				slices.Sort(items)
				for i, v := range items {
					if v != int64(i) {
						t.Fatalf("%s of %d, epoch %d: sample %d is missing or there twice", o, n, epoch, i)
					}
				}
			}
		}
	}
}

// TestEveryWorldHasTheSameGlobalSteps: of equal global batch.
func TestEveryWorldHasTheSameGlobalSteps(t *testing.T) {
	const global = 96
	for _, c := range shuffles(1003) {
		o := mustOrder(t, c)
		for _, last := range []Last{Drop, Pad} {
			var want [][]int64
			for _, world := range []int64{1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96} {
				var have [][]int64
				for rank := range world {
					s := Steps{Length: o.Len(), Batch: global / world, Rank: rank, World: world, Last: last, Strided: c.Shuffle == Block}
					for step := range s.Count(0, 0) {
						if rank == 0 {
							have = append(have, nil)
						}
						first, stride, n := s.Rows(0, step*s.Global())
						for j := range n {
							have[step] = append(have[step], o.At(1, first+j*stride))
						}
					}
				}
				total := 0
				for i := range have {
					slices.Sort(have[i])
					total += len(have[i])
				}
				if all := 1003; last == Drop && total != all/global*global || last == Pad && total != all {
					t.Fatalf("%s, world %d, %s: %d samples", o, world, last, total)
				}
				if want == nil {
					want = have
				} else if !slices.EqualFunc(want, have, slices.Equal) {
					t.Errorf("%s, world %d, %s: other steps than in a world of 1", o, world, last)
				}
			}
		}
	}
}

// TestARankReadsItsOwnStreams: what Streams are for. Samples of one window are on
// one rank when the world divides the streams.
func TestARankReadsItsOwnStreams(t *testing.T) {
	o := mustOrder(t, Config{Shuffle: Block, Parts: []int64{10000}, Window: 1200, Block: 20, Streams: 12})
	for _, world := range []int64{1, 2, 3, 4, 6, 12} {
		for _, from := range []int64{0, 5} {
			owner := map[int64]int64{}
			for rank := range world {
				s := Steps{Length: o.Len(), Batch: 24 / world, Rank: rank, World: world, Last: Drop, Strided: true}
				for step := range s.Count(0, from) {
					first, stride, n := s.Rows(0, from+step*s.Global())
					for j := range n {
						stream := (first + j*stride) % 12
						if r, ok := owner[stream]; ok && r != rank {
							t.Fatalf("world %d: stream %d is read by ranks %d and %d", world, stream, r, rank)
						}
						owner[stream] = rank
					}
				}
			}
		}
	}
}

func TestMixKeepsSharesAndPasses(t *testing.T) {
	for _, shuffle := range []Shuffle{None, Global, Block} {
		o := mustOrder(t, Config{Shuffle: shuffle, Parts: []int64{500, 300, 1200}, Mix: []float64{0.5, 0.3, 0.2}, Window: 96, Block: 4, Streams: 4})
		seen := map[int64]int{}
		counts := make([]float64, 3)
		for epoch := range 5 {
			for _, v := range epochOf(o, epoch) {
				seen[v]++
				switch {
				case v < 500:
					counts[0]++
				case v < 800:
					counts[1]++
				default:
					counts[2]++
				}
			}
		}
		for i, w := range []float64{0.5, 0.3, 0.2} {
			if want := w * 10000; counts[i] < want-60 || counts[i] > want+60 {
				t.Errorf("%s: input %d has %v of 10000, want %v", shuffle, i, counts[i], want)
			}
		}
		// 10 passes of input 0 and of input 1, 1.67 of input 2: no sample is ahead by
		// more than a pass, and the drift of the streams.
		for v := range int64(2000) {
			lo, hi := 9, 11
			if v >= 800 {
				lo, hi = 1, 2
			}
			if seen[v] < lo || seen[v] > hi {
				t.Fatalf("%s: sample %d was drawn %d times, want %d to %d", shuffle, v, seen[v], lo, hi)
			}
		}
	}
}

func TestWeightsAreChances(t *testing.T) {
	w := []float64{1, 0, 3, 0, 6}
	o := mustOrder(t, Config{Shuffle: Global, Parts: []int64{5}, Weights: w, Samples: 20000})
	counts := make([]float64, 5)
	for _, v := range epochOf(o, 3) {
		counts[v]++
	}
	for i := range w {
		want := w[i] * 2000
		if d := counts[i] - want; d*d > 25*(want+1) || want == 0 && counts[i] != 0 {
			t.Errorf("sample %d was drawn %v times, want about %v", i, counts[i], want)
		}
	}
}

func TestBalanceDrawsClassesEquallyAndMembersInTurn(t *testing.T) {
	labels := []int64{7, 7, 7, 7, 7, -1, 7, 7, -1, 3}
	o := mustOrder(t, Config{Shuffle: Global, Parts: []int64{10}, Labels: labels, Samples: 63})
	perClass, perItem := map[int64]int{}, map[int64]int{}
	for _, v := range epochOf(o, 2) {
		perClass[labels[v]]++
		perItem[v]++
	}
	if perClass[7] != 21 || perClass[-1] != 21 || perClass[3] != 21 {
		t.Errorf("classes were drawn %v times, want 21 each", perClass)
	}
	for i := range labels {
		if labels[i] == 7 && perItem[int64(i)] != 3 {
			t.Errorf("member %d of 7 was drawn %d times in 3 passes", i, perItem[int64(i)])
		}
	}
}

func TestIndicesNarrowTheSet(t *testing.T) {
	indices := []int64{9, 3, 3, 70, 12}
	for _, s := range []Shuffle{None, Block, Global} {
		o := mustOrder(t, Config{Shuffle: s, Parts: []int64{40, 60}, Indices: indices, Window: 2, Block: 2, Streams: 1})
		have := epochOf(o, 0)
		if s == None && !slices.Equal(have, indices) {
			t.Errorf("none: %v, want %v", have, indices)
		}
		slices.Sort(have)
		if !slices.Equal(have, []int64{3, 3, 9, 12, 70}) {
			t.Errorf("%s: %v", s, have)
		}
	}
}

// goldenText writes the first positions of orders of every kind. They are a promise:
// a change means that no state written before resumes the same run.
func goldenText(t *testing.T) string {
	labels := make([]int64, 300)
	weights := make([]float64, 300)
	for i := range labels {
		labels[i], weights[i] = int64(i*i%7), float64(i%5)
	}
	cases := []Config{
		{Shuffle: None, Parts: []int64{1003}},
		{Shuffle: Global, Parts: []int64{1003}},
		{Shuffle: Global, Parts: []int64{1 << 40}},
		{Shuffle: Block, Parts: []int64{1003}, Window: 192, Block: 8, Streams: 12},
		{Shuffle: Block, Parts: []int64{5_000_000_001}, Window: 1 << 20, Block: 512, Streams: 192},
		{Shuffle: None, Parts: []int64{100, 50}, Mix: []float64{0.6, 0.4}},
		{Shuffle: Global, Parts: []int64{1000, 50, 70}, Mix: []float64{3, 2, 1}},
		{Shuffle: Block, Parts: []int64{1000, 500}, Mix: []float64{0.6, 0.4}, Window: 96, Block: 4, Streams: 12},
		{Shuffle: Global, Parts: []int64{300}, Weights: weights},
		{Shuffle: Global, Parts: []int64{300}, Labels: labels},
		{Shuffle: Global, Parts: []int64{300}, Indices: []int64{5, 8, 13, 21, 34, 55, 89, 144, 233}},
	}
	var b strings.Builder
	for _, c := range cases {
		for _, seed := range []uint64{0, 1, 0xfedcba9876543210} {
			c.Seed = seed
			o := mustOrder(t, c)
			for _, epoch := range []int{0, 3} {
				fmt.Fprintf(&b, "%s parts=%v seed=%#x epoch=%d\n", o, c.Parts, seed, epoch)
				cur := o.Cursor(epoch)
				for q := int64(0); q < min(90, o.Len()); q++ {
					sep := " "
					if q%15 == 14 || q == min(90, o.Len())-1 {
						sep = "\n"
					}
					fmt.Fprintf(&b, "%d%s", cur.At(q), sep)
				}
				fmt.Fprintf(&b, "... %d\n", cur.At(o.Len()-1))
			}
		}
	}
	return b.String()
}

func TestOrderIsAsPromised(t *testing.T) {
	const name = "testdata/order.golden"
	have := goldenText(t)
	if *update {
		if err := os.WriteFile(name, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		h, w := strings.Split(have, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(h), len(w)) {
			if h[i] != w[i] {
				t.Fatalf("line %d is\n%s\nwant\n%s", i+1, h[i], w[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(h), len(w))
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, c := range append(shuffles(1<<24), Config{Shuffle: Block, Parts: []int64{1 << 24}, Window: 1 << 22, Block: 8192, Streams: 192}) {
		o, _ := New(c)
		b.Run(fmt.Sprint(c.Shuffle, "/", c.Window), func(b *testing.B) {
			cur, sum := o.Cursor(0), int64(0)
			for i := range b.N {
				sum += cur.At(int64(i) & (1<<24 - 1))
			}
			_ = sum
		})
	}
}

// TestAListOfPositionsIsThatOfEach: the fast way and the plain one agree.
func TestAListOfPositionsIsThatOfEach(t *testing.T) {
	for n := int64(1); n < 5000; n = n*3 + 1 {
		for _, c := range shuffles(n) {
			o := mustOrder(t, c)
			for _, stride := range []int64{1, 2, 3, 7, 192, 1000} {
				for from := int64(0); from < min(o.Len(), 40); from += 13 {
					ids := make([]int64, min((o.Len()-from+stride-1)/stride, 600))
					cur := o.Cursor(2)
					cur.Fill(ids, from, stride)
					for j, id := range ids {
						if want := o.At(2, from+int64(j)*stride); id != want {
							t.Fatalf("%s: position %d has sample %d, want %d", o, from+int64(j)*stride, id, want)
						}
					}
				}
			}
		}
	}
}
