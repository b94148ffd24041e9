package convert

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/memory"
)

// TestASampleHasABound: when its size is planned, and when more comes than was planned;
// and a task knows the bound that the plan was made with.
func TestASampleHasABound(t *testing.T) {
	f := mixed()
	p := fakePlan(t, f, nil)
	p.Local.MaxSample = 1
	if _, err := fakeJob(p, f, memory.New()).Convert(bg); err == nil || !strings.Contains(err.Error(), "--max-sample") {
		t.Errorf("read a sample that is too large: %v", err)
	}
	b, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Decode(b)
	if err != nil || q.Local.MaxSample != 1 || q.Digest() != p.Digest() {
		t.Errorf("decoded: %v, %v", q.Local.MaxSample, err)
	}
	for _, c := range []struct {
		most, bytes int64
		ok          bool
	}{{0, 4 << 30, true}, {0, 4<<30 + 1, false}, {5 << 30, 4<<30 + 1, true}, {1, 1, true}, {1, 2, false}} {
		if err := sampleFits(c.most, shardify.Span{Lo: 7, Hi: 8}, c.bytes, nil); (err == nil) != c.ok {
			t.Errorf("%d bytes of %d: %v", c.bytes, c.most, err)
		}
	}
}
