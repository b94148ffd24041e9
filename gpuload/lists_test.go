package gpuload

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/index"
)

// TestOrderOfEachEpoch: an epoch has the samples that SetOrder gives it, whatever was made ahead.
func TestOrderOfEachEpoch(t *testing.T) {
	format := index.FormatMmap
	dir := makeSet(t, setOptions{format: format, schema: everyKind[format], samples: 157, shard: 50})
	want := contents(t, format, dir)
	d := mustOpen(t, dir)
	lists := make([][]int64, 4)
	for epoch := range lists {
		for _, v := range rand.New(rand.NewPCG(uint64(epoch), 1)).Perm(157)[:40+30*epoch] {
			lists[epoch] = append(lists[epoch], int64(v))
		}
	}
	for _, tier := range []Tier{TierPinned, TierStream} {
		l := mustLoader(t, d, Config{Batch: 16, Tier: tier, PerEpoch: true, Indices: lists[0], Workers: 3})
		for epoch, list := range lists {
			if epoch > 0 {
				if _, err := l.Next(bg); err == nil || !strings.Contains(err.Error(), "has no order") {
					t.Fatalf("epoch %d: %v, want an error: it has no order", epoch, err)
				}
				if err := l.SetOrder(epoch, list); err != nil {
					t.Fatal(err)
				}
			}
			if got := slices.Concat(epochIDs(t, l, want)...); !slices.Equal(got, list) {
				t.Fatalf("epoch %d: %v, want %v", epoch, got, list)
			}
		}
		if err := l.SetOrder(9, []int64{3, 3}); err == nil {
			t.Error("a sample comes twice")
		}
	}
	l := mustLoader(t, d, Config{Batch: 16, Once: true, Indices: lists[1]})
	if err := l.SetOrder(1, lists[1]); err == nil {
		t.Error("SetOrder without PerEpoch")
	}
	if got := slices.Concat(epochIDs(t, l, want)...); !slices.Equal(got, lists[1]) {
		t.Errorf("%v, want %v", got, lists[1])
	}
	for _, c := range []Config{{Once: true}, {Once: true, Indices: []int64{1, 1}}, {Once: true, Indices: []int64{157}}, {Once: true, Indices: []int64{1}, Shuffle: Global}, {PerEpoch: true, Indices: []int64{2, 2}}} {
		if c.Batch = 4; func() bool { l, err := d.Loader(c); return err == nil && l.Close() == nil }() {
			t.Errorf("%+v is taken", c)
		}
	}
}
