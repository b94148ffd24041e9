package shardify

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestRowSets: what is added and merged, in any order, is there once, after writing and reading too.
func TestRowSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := map[int32]bool{}
		var all RowSet
		top := []int32{3, 64, 300, 1 << 20, 1<<31 - 2}[rng.IntN(5)]
		for range 1 + rng.IntN(4) {
			var s RowSet
			for range 1 + rng.IntN(3) {
				var rows, names []int32
				for r, n := rng.Int32N(top), rng.IntN(200); n > 0; n-- {
					if rng.IntN(3) > 0 {
						r = rng.Int32N(top)
					}
					rows = append(rows, r)
					want[r] = true
					r = min(r+1, top)
				}
				if rng.IntN(2) == 0 {
					rows, names = nil, append([]int32{}, rows...)
				} else {
					rows = append(rows, top+1)
				}
				s.Add(rows, top+1, names)
			}
			text, err := json.Marshal(Count{Name: "x", Of: 9, Used: &s})
			if err != nil {
				t.Fatal(err)
			}
			var c Count
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			all.Merge(c.Used)
		}
		n := int64(0)
		for _, w := range all.words {
			for k := range 64 {
				if w.bits>>k&1 != 0 {
					if n++; !want[int32(w.at)*64+int32(k)] {
						t.Fatalf("row %d is in the set", int(w.at)*64+k)
					}
				}
			}
		}
		if n != int64(len(want)) || all.Len() != n {
			t.Fatalf("%d rows, %d counted, want %d", n, all.Len(), len(want))
		}
	}
	var s RowSet
	for _, text := range []string{"!", "gA", "/////////////w"} {
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
