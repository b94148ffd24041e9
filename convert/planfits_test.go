package convert

import (
	"context"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/tests/busy"
)

// claims is a source that says that it has any number of rows.
type claims struct {
	shardify.Source
	spans int64
}

func (c claims) Spans(context.Context, int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		const rows = plan.SpanBytes / 8
		for i := range c.spans {
			if !yield(shardify.Span{Lo: i * rows, Hi: (i + 1) * rows, Bytes: plan.SpanBytes}, nil) {
				return
			}
		}
	}
}

// TestAPlanStaysWithinMemory: what any reader claims to have, a plan of it takes no more than it
// may, and says so at once.
func TestAPlanStaysWithinMemory(t *testing.T) {
	const memory = 64 << 20
	r := &Request{Source: claims{spans: int64(1e14) / (plan.SpanBytes / 8)}, Pool: shardify.NewPool(memory)}
	// Garbage of lists that grew does not count: it is collected at once, however busy the machine is.
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := busy.Processor()
	err := r.spans(context.Background(), &plan.Plan{})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "takes more than --memory") || len(shardify.Hints(err)) != 1 {
		t.Errorf("%v %q", err, shardify.Hints(err))
	}
	if d := busy.Processor() - start; d > 30*time.Second {
		t.Errorf("it took %v of the processor", d)
	}
	if n := int64(after.HeapSys) - int64(before.HeapSys); n > 3*memory { // lists that grew leave holes
		t.Errorf("the heap grew by %s", shardify.FormatSize(n))
	}
	w := &partPlanner{Request: r}
	if _, err := w.measure(context.Background(), r.Source); err == nil || !strings.Contains(err.Error(), "takes more than --memory") {
		t.Error(err)
	}
	r.Source = claims{spans: 1000}
	p := &plan.Plan{}
	if err := r.spans(context.Background(), p); err != nil || len(p.Pack.Spans) != 1000 {
		t.Errorf("%d spans, %v", len(p.Pack.Spans), err)
	}
	r.Source, r.Limit = claims{spans: 1e6}, 1000
	if err := r.spans(context.Background(), &plan.Plan{}); err != nil {
		t.Errorf("with the limit of the hint: %v", err)
	}
}
