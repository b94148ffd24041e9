package shardify

import (
	"encoding/base64"
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
				spread := rng.IntN(2)
				for r, n := rng.Int32N(top), rng.IntN(600); n > 0; n-- {
					if spread > 0 && rng.IntN(3) > 0 {
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
			for at := w.at; at <= w.last(); at++ {
				for k := range 64 {
					if w.bits>>k&1 != 0 {
						if n++; !want[int32(at)*64+int32(k)] {
							t.Fatalf("row %d is in the set", int(at)*64+k)
						}
					}
				}
			}
		}
		if n != int64(len(want)) || all.Len() != n {
			t.Fatalf("%d rows, %d counted, want %d", n, all.Len(), len(want))
		}
	}
	var s RowSet
	whole, err := (&RowSet{[]rowWord{{0, 1<<25 - 2, full}}}).MarshalText()
	if err != nil || s.UnmarshalText(whole) != nil || s.Len() != 1<<31-64 || len(s.words) != 1 {
		t.Errorf("%d bytes become %d words of %d rows", len(whole), len(s.words), s.Len())
	}
	for range 300 { // damaged ones take memory for what is there alone
		b := make([]byte, 1+rng.IntN(60))
		for i := range b {
			b[i] = byte(rng.Uint32() >> rng.IntN(8))
		}
		if s.UnmarshalText(base64.RawStdEncoding.AppendEncode(nil, b)); len(s.words) > 3*len(b) {
			t.Errorf("%d bytes become %d words", len(b), len(s.words))
		}
	}
	for _, text := range []string{"!", "gA", "/////////////w"} {
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
