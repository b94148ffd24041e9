package gpuload

import (
	"context"

	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// advisor asks the system to read the next generation of a Block shuffle whose
// samples are large enough to be read one by one: the page cache is the window
// then, and samples go from there straight into the slot.
type advisor struct {
	*windows // plans the runs; its tables stay empty
	next     chan stretch
	last     order.Key
	begun    bool
}

// stretch is a generation of the streams from first on.
type stretch struct {
	key   order.Key
	first int64
}

func newAdvisor(w *windows) *advisor {
	return &advisor{windows: w, next: make(chan stretch, 1)}
}

// touch notes that a batch begins in a generation at a position. It never waits: advice
// that comes too late is not needed.
func (a *advisor) touch(epoch int, q int64) {
	k := a.Key(epoch, q)
	if a.begun && k == a.last {
		return
	}
	ahead := k.Next()
	if !a.begun {
		ahead = k
	}
	select {
	case a.next <- stretch{ahead, a.FirstStream(q)}:
		a.begun, a.last = true, k
	default:
	}
}

// run gives advice until ctx ends. Its errors show when the samples are read.
func (a *advisor) run(ctx context.Context) {
	for {
		select {
		case s := <-a.next:
			a.advise(ctx, s)
		case <-ctx.Done():
			return
		}
	}
}

func (a *advisor) advise(ctx context.Context, s stretch) {
	g := a.all[0]
	g.first = s.first
	g.plan(a.windows, s.key)
	for _, r := range g.runs {
		if ctx.Err() != nil {
			return
		}
		h, err := a.shards.acquire(r.sh)
		if err != nil {
			return
		}
		if h.index != nil {
			willNeed(h.file, h.index[r.lo], h.index[r.hi])
		}
		for _, j := range h.tensors {
			if p, t := &h.mmap.Places[j], &h.mmap.Tensors[j]; t.Lead == index.LeadSamples && t.Row >= largeRow {
				willNeed(h.file, p.Lo+r.lo*t.Row, p.Lo+r.hi*t.Row)
			}
		}
		a.shards.release(h)
	}
}

// largeRow is the bytes of a sample from which it is better read by itself: the
// call costs less than the second copy, out of a window that no cache holds.
const largeRow = 16 << 10
