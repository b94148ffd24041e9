package order

import (
	"slices"
	"testing"
)

// TestWindowsHoldTheSamplesOfTheSteps: row by row, the samples of every step are where
// Fill says among the runs of its generations.
func TestWindowsHoldTheSamplesOfTheSteps(t *testing.T) {
	indices := make([]int64, 700)
	for i := range indices {
		indices[i] = int64(i + i/9*3) // stretches of nine
	}
	for _, c := range []Config{
		{Shuffle: Block, Parts: []int64{1003}, Window: 96, Block: 8, Streams: 12},
		{Shuffle: Block, Parts: []int64{1003}, Window: 64, Block: 4, Streams: 5},
		{Shuffle: Block, Parts: []int64{1003}, Window: 48, Block: 4, Streams: 12, Indices: indices},
	} {
		o := mustOrder(t, c)
		for _, world := range []int64{1, 2, 5} {
			for rank := range world {
				s := &Steps{Length: o.Len(), Batch: 7, Rank: rank, World: world, Last: Short, Strided: true, Together: 2}
				w := o.Windows(s)
				_, last, first, ok := w.Epoch(3, 0)
				if !ok {
					t.Fatal("no generation")
				}
				held := map[Key][]int64{}
				for k := (Key{3, 0}); !last.Before(k); k = k.Next() {
					table := make([]int64, w.Rows())
					for _, r := range w.Runs(nil, k, first) {
						for i := range r.N {
							table[r.Row+i] = r.Sample + i
						}
					}
					held[k] = table
				}
				for at := int64(0); s.Count(0, at) > 0; {
					step := s.At(3, at)
					at += step.Steps * s.Global()
					want, rows := make([]int64, step.Rows), make([]int64, step.Rows)
					s.Fill(want, &step, o.Cursor(3))
					for p := w.Begin(&step); p.Row < step.Rows; {
						k, from := w.KeyOf(&step, p), p.Row
						if a, b := w.Keys(&step); k.Before(a) || b.Before(k) {
							t.Fatalf("generation %v of a step in %v to %v", k, a, b)
						}
						p = w.Fill(rows, &step, o.Cursor(3), p, k, first)
						for j := from; j < p.Row; j++ {
							rows[j] = held[k][rows[j]]
						}
					}
					if !slices.Equal(rows, want) {
						t.Fatalf("%s, rank %d of %d, step %d: %v, want %v", o, rank, world, step.Number, rows, want)
					}
				}
			}
		}
	}
}
