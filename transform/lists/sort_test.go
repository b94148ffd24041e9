package lists

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// TestSortKeepsElementsTogether: the same elements, in order, equal ones in their old order.
func TestSortKeepsElementsTogether(t *testing.T) {
	for name, keys := range map[string][]byte{
		"f32": shardify.Bytes(f32s(3000, func(r *rand.Rand) float32 {
			return []float32{float32(r.IntN(5)), float32(math.NaN()), float32(math.Copysign(0, -1)), 0, float32(math.Inf(-1)), -2}[r.IntN(6)]
		})),
		"i64": shardify.Bytes(i64s(3000)),
	} {
		d, _ := shardify.ParseDType(name)
		size := d.Size()
		r := rand.New(rand.NewPCG(1, 1))
		off := []int64{0}
		for off[len(off)-1] < 3000 {
			off = append(off, min(off[len(off)-1]+int64(r.IntN(60)), 3000))
		}
		key := transformtest.Column("k", d, keys)
		key.Levels, key.Counter, key.Offsets = 1, "c", [][]int64{off}
		place := make([]int32, 3000)
		for i := range place {
			place[i] = int32(i)
		}
		who := transformtest.Column("p", shardify.I32, shardify.Bytes(place))
		who.Levels, who.Counter, who.Offsets = 1, "c", [][]int64{off}
		b := &shardify.Batch{Samples: len(off) - 1, Columns: []shardify.Column{key, who}}
		for _, minus := range []string{"", "-"} {
			out := transformtest.Run(t, transformtest.Made[*sortLists](t)(newSort(&op.Env{}, "c="+minus+"k")), b)
			order := shardify.View[int32](out.Columns[1].Data)
			rank := func(i int32) uint64 {
				if d == shardify.F32 {
					return floatKey(float64(shardify.View[float32](keys)[i]), minus != "")
				}
				return intKey(uint64(shardify.View[int64](keys)[i])^1<<63, minus != "")
			}
			for s := range b.Samples {
				one := order[off[s]:off[s+1]]
				seen := slices.Sorted(slices.Values(one))
				for i := range seen {
					if int64(seen[i]) != off[s]+int64(i) {
						t.Fatalf("%s: sample %d has elements %v", name, s, one)
					}
				}
				for i := 1; i < len(one); i++ {
					if a, b := rank(one[i-1]), rank(one[i]); a > b || a == b && one[i-1] > one[i] {
						t.Fatalf("%s%s: sample %d: element %d is before %d", minus, name, s, one[i-1], one[i])
					}
				}
			}
			for i, p := range order {
				if string(out.Columns[0].Data[i*size:(i+1)*size]) != string(keys[int(p)*size:(int(p)+1)*size]) {
					t.Fatalf("%s: element %d has another's key", name, i)
				}
			}
		}
	}
}

func f32s(n int, f func(r *rand.Rand) float32) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	out := make([]float32, n)
	for i := range out {
		out[i] = f(r)
	}
	return out
}

func i64s(n int) []int64 {
	r := rand.New(rand.NewPCG(5, 6))
	out := make([]int64, n)
	for i := range out {
		out[i] = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[r.IntN(5)]
	}
	return out
}
