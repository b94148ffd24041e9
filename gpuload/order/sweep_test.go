package order

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestCountsAreThoseOfTheBatches: batches of epochs that are too long to keep are counted from lengths alone, which are read in
// the order of the set. What is counted is what there is when the batches are cut.
func TestCountsAreThoseOfTheBatches(t *testing.T) {
	const n = keptSamples + 4321
	r := rand.New(rand.NewPCG(3, 3))
	a, b := &Lengths{}, &Lengths{}
	for range n {
		a.Append(r.Int64N(300))
		b.Append(r.Int64N(40))
	}
	b.Append(1 << 40) // has no sample, and makes the lengths 8 bytes each
	listed := make([]int64, n)
	for i := range listed {
		listed[i] = int64(i) * 7 % n
	}
	for name, c := range map[string]Config{
		"none":    {Shuffle: None},
		"block":   {Shuffle: Block, Window: 1 << 14, Block: 300, Streams: 12},
		"wide":    {Shuffle: Block, Window: 1 << 30, Block: 300, Streams: 2},
		"global":  {Shuffle: Global},
		"indices": {Shuffle: Block, Window: 1 << 14, Block: 300, Streams: 12, Indices: listed},
		"order":   {Shuffle: None, Indices: listed, Once: true},
		"mix":     {Shuffle: Block, Window: 1 << 14, Block: 300, Streams: 3, Mix: []float64{1, 2}},
	} {
		for _, window := range []int64{1, 1000} {
			t.Run(fmt.Sprint(name, "/", window), func(t *testing.T) {
				c.Seed, c.Parts = 5, []int64{n / 3, n - n/3}
				c.Pack = &Packing{Budgets: []Budget{{"a", 4096, a}, {"b", 600, b}}, Batch: 100, Window: window, Oversize: Alone}
				o, err := New(c)
				if err != nil {
					t.Fatal(err)
				}
				p := o.Packs()
				e := p.epoch(1)
				cut := p.cutter(1)
				for k := range len(e.first) - 1 {
					if window > 1 {
						cut.window(int64(k))
					} else if next := cut.run(e.from[k]); k+1 < len(e.from) && next != e.from[k+1] {
						t.Fatalf("chunk %d ends at %d, counted: %d", k, next, e.from[k+1])
					}
					if got, want := int64(len(cut.ends)), e.first[k+1]-e.first[k]; got != want {
						t.Fatalf("chunk %d has %d batches, counted: %d", k, got, want)
					}
				}
			})
		}
	}
}

// TestSweepsReadTheLengths: those of the samples at its positions, whatever the order.
func TestSweepsReadTheLengths(t *testing.T) {
	const n = 1 << 18
	l := &Lengths{}
	for i := range int64(n) {
		l.Append(i)
	}
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = float64(i % 5)
	}
	for name, c := range map[string]Config{
		"global":  {Shuffle: Global},
		"block":   {Shuffle: Block, Window: 1 << 16, Block: 1000, Streams: 7},
		"weights": {Weights: weights},
	} {
		t.Run(name, func(t *testing.T) {
			c.Parts, c.Pack = []int64{n}, &Packing{Budgets: []Budget{{"first", n, l}, {"n", n, l}}, Batch: 1, Window: 1}
			o, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			s := o.packs.sweep(2)
			for _, from := range []int64{0, 1, n/2 - 77} {
				s.read(from, from+n/2)
				cur := o.Cursor(2)
				for q := range int64(n / 2) {
					if want := cur.At(from + q); s.vals[0][q] != want || s.vals[1][q] != want {
						t.Fatalf("position %d: %d, %d, want %d", from+q, s.vals[0][q], s.vals[1][q], want)
					}
				}
			}
		})
	}
}
