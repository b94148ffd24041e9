package convert

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
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

// bulky is a source whose input 3 has large samples.
type bulky struct{ *fakeSource }

func (b bulky) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for s, err := range b.fakeSource.Spans(ctx, target) {
			if s.Input == 3 {
				s.Bytes = 1000 * s.Samples()
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestALargeSampleIsLeftOut where damage is: it is listed, and the others are converted.
func TestALargeSampleIsLeftOut(t *testing.T) {
	f := mixed()
	change := func(r *Request) { r.Source, r.MaxSample, r.OnError = bulky{f}, 100, plan.OnErrorSkip }
	p := fakePlan(t, f, change)
	if s := p.In.Skipped; len(s) != 1 || s[0].Input != "dir/file3" || s[0].Lo != 0 || s[0].Hi != 211 || !strings.Contains(s[0].Reason, "--max-sample") {
		t.Errorf("skipped %v", s)
	}
	if want := fakePlan(t, f, nil).Pack.Samples - 211; p.Pack.Samples != want || p.In.Unread != nil {
		t.Errorf("%d samples, want %d; unread %v", p.Pack.Samples, want, p.In.Unread)
	}
	r := Request{Input: "fake", Source: f, Args: format.OpenArgs{Table: p.In.Table}, Output: fakeFormat, ShardSize: 400, MaxSample: 1, OnError: plan.OnErrorSkip}
	if _, err := MakePlan(bg, r); err == nil || !strings.Contains(err.Error(), "--max-sample") {
		t.Errorf("nothing is left: %v", err)
	}
}
