package tier

import (
	"context"

	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// Advisor asks the system to read the next generation of a Block shuffle whose
// samples are large enough to be read one by one: the page cache is the window
// then, and samples go from there straight into the slot.
type Advisor struct {
	*Windows // plans the runs; its tables stay empty
	next     chan stretch
	last     order.Key
	Begun    bool
}

// stretch is a generation of the streams from first on.
type stretch struct {
	key   order.Key
	first int64
}

// NewAdvisor gives advice on what windows would read.
func NewAdvisor(w *Windows) *Advisor {
	return &Advisor{Windows: w, next: make(chan stretch, 1)}
}

// Touch notes that a batch begins in a generation at a position. It never waits: advice
// that comes too late is not needed.
func (a *Advisor) Touch(epoch int, q int64) {
	if a == nil {
		return
	}
	k := a.Key(epoch, q)
	if a.Begun && k == a.last {
		return
	}
	ahead := k.Next()
	if !a.Begun {
		ahead = k
	}
	select {
	case a.next <- stretch{ahead, a.FirstStream(q)}:
		a.Begun, a.last = true, k
	default:
	}
}

// Run gives advice until ctx ends. Its errors show when the samples are read.
func (a *Advisor) Run(ctx context.Context) {
	for {
		select {
		case s := <-a.next:
			a.advise(ctx, s)
		case <-ctx.Done():
			return
		}
	}
}

func (a *Advisor) advise(ctx context.Context, s stretch) {
	g := a.All[0]
	g.first = s.first
	g.plan(a.Windows, s.key)
	for _, r := range g.runs {
		if ctx.Err() != nil {
			return
		}
		h, err := a.shards.Acquire(r.Sh)
		if err != nil {
			return
		}
		if h.Index != nil {
			load.WillNeed(h.File, h.Index[r.Lo], h.Index[r.Hi])
		}
		for _, j := range h.Tensors {
			if p, t := &h.Mmap.Places[j], &h.Mmap.Tensors[j]; t.Lead == index.LeadSamples && t.Row >= LargeRow {
				load.WillNeed(h.File, p.Lo+r.Lo*t.Row, p.Lo+r.Hi*t.Row)
			}
		}
		a.shards.Release(h)
	}
}

// LargeRow is the bytes of a sample from which it is better read by itself: the
// call costs less than the second copy, out of a window that no cache holds.
const LargeRow = 16 << 10
