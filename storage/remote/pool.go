package remote

import (
	"container/list"
	"sync"

	"github.com/shardify/shardify/storage"
)

// Pool bounds the memory of what was fetched. It outlives the files: one that is opened again,
// and is what it was, has what is still there.
type Pool struct {
	mu    sync.Mutex
	most  int64
	bytes int64
	used  list.List // of *extent, the least recently used first
	known map[key]*content
	names map[string]int // of those
}

// key names one content of a file.
type key struct {
	name string
	storage.Stamp
}

// content is what is there of a file, and what is expected to be read of it. All is under
// Pool.mu.
type content struct {
	key
	size    int64
	users   int       // files that are open
	extents []*extent // by place; they do not overlap
	planned []piece   // by place; what was announced and is not fetched yet
	last    [32]request
	next    int // place in it
}

// NewPool keeps at most so many bytes, beside those that are being fetched.
func NewPool(most int64) *Pool {
	return &Pool{most: most, known: map[key]*content{}, names: map[string]int{}}
}

// use is the content of one more file.
func (p *Pool) use(name string, s storage.Stamp) *content {
	k := key{name, s}
	c := p.known[k]
	if c == nil {
		c = &content{key: k, size: s.Size}
		p.known[k] = c
		p.names[name]++
	}
	c.users++
	return c
}

// Knows reports whether something of a file is there.
func (p *Pool) Knows(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name] > 0
}

// leave forgets a content that no file uses and that has no bytes.
func (p *Pool) leave(c *content) {
	if c.users == 0 && len(c.extents) == 0 && p.known[c.key] == c {
		delete(p.known, c.key)
		if p.names[c.name]--; p.names[c.name] == 0 {
			delete(p.names, c.name)
		}
	}
}

// largest is the size of the largest request that is kept.
func (p *Pool) largest() int64 { return max(min(blockBytes, p.most/8), firstBytes) }

// request is a range that was asked for.
type request struct {
	lo, hi int64
	step   int64 // how much was asked for, as far as it was a guess
	run    int   // requests before it that it follows
}

// extent is a range of a file that was fetched, or is being.
type extent struct {
	of *content
	request
	b       []byte
	err     error
	stopped bool          // err is that the fetch was cancelled
	done    chan struct{} // closed when b or err is there
	at      *list.Element // in Pool.used; nil if it is dropped
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
	p.leave(e.of)
}
