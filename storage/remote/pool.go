package remote

import (
	"container/list"
	"sync"
)

// Pool bounds the memory of what files keep.
type Pool struct {
	mu    sync.Mutex
	most  int64
	bytes int64
	used  list.List // of *extent, the least recently used first
}

// NewPool keeps at most so many bytes, beside those that are being fetched.
func NewPool(most int64) *Pool { return &Pool{most: most} }

// largest is the size of the largest request that is kept.
func (p *Pool) largest() int64 { return max(min(blockBytes, p.most/8), firstBytes) }

// extent is a range of a file that was fetched, or is being.
type extent struct {
	of     *File
	lo, hi int64
	b      []byte
	err    error
	done   chan struct{} // closed when b or err is there
	at     *list.Element // in Pool.used; nil if it is dropped
}

// add puts an extent at the end of the list, and drops others where there is no room. The
// caller holds mu, as for what follows.
func (p *Pool) add(e *extent) {
	e.at = p.used.PushBack(e)
	p.bytes += e.hi - e.lo
	for at := p.used.Front(); at != nil && p.bytes > p.most; {
		old := at.Value.(*extent)
		at = at.Next()
		select {
		case <-old.done:
			p.drop(old)
		default: // it is being fetched
		}
	}
}

func (p *Pool) drop(e *extent) {
	if e.at == nil {
		return
	}
	p.used.Remove(e.at)
	e.at = nil
	p.bytes -= e.hi - e.lo
	e.of.forget(e)
}
