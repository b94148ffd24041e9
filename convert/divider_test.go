package convert

import (
	"context"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/memory"
)

// TestPartsCoverTheirSpan in order, none larger than the memory unless it is one sample.
func TestPartsCoverTheirSpan(t *testing.T) {
	for _, limit := range []int64{1, 7, 100, 333, 1000, 5000} {
		spans := []shardify.Span{
			{Lo: 5, Hi: 15, Bytes: 1000}, {Lo: 15, Hi: 16, Bytes: 9000}, {Lo: 16, Hi: 1016, Bytes: 1000}, {Input: 1, Run: 1, Hi: 8, Bytes: 9999}, {Input: 2, Hi: 3, Bytes: 10},
		}
		d := divider{limit: limit}
		left := append([]shardify.Span{}, spans...)
		for _, want := range spans {
			for at := want.Lo; at < want.Hi; {
				part, rest := d.next(left)
				if part.Lo != at || part.Hi > want.Hi || part.Hi <= at || part.Input != want.Input || part.Run != want.Run {
					t.Fatalf("limit %d: %+v at sample %d of %+v", limit, part, at, want)
				}
				if part.Bytes > limit && part.Samples() > 1 {
					t.Errorf("limit %d: %+v", limit, part)
				}
				if ended := len(left) - len(rest); (ended == 1) != (part.Hi == want.Hi) {
					t.Errorf("limit %d: %+v ends %d spans", limit, part, ended)
				}
				at, left = part.Hi, rest
			}
		}
		if len(left) > 0 {
			t.Errorf("limit %d: %d spans are left", limit, len(left))
		}
	}
}

// TestSameShardsWhateverSpansAreDividedInto: with little memory no read is larger than
// it, and the shards are the same, on one goroutine as on several.
func TestSameShardsWhateverSpansAreDividedInto(t *testing.T) {
	var want []string
	for _, budget := range []int64{1 << 20, 40, 1} {
		for _, jobs := range []int{1, 64} {
			f := mixed()
			f.onRead = func(s shardify.Span) {
				if s.Run == 0 && s.Bytes > budget && s.Samples() > 1 {
					t.Errorf("memory %d: read %+v", budget, s)
				}
			}
			s := memory.New()
			j := fakeJob(fakePlan(t, f, nil), f, s)
			j.Pool, j.Jobs = shardify.NewPool(budget), jobs
			m, err := j.Convert(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range m.Shards {
				got = append(got, x.Digest)
			}
			if want == nil {
				want = got
			}
			if len(got) == 0 || len(got) != len(want) {
				t.Fatalf("%d shards, want %d", len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("memory %d, %d jobs: shard %d differs", budget, jobs, i)
				}
			}
		}
	}
}
