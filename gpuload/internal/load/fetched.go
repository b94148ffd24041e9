package load

import (
	"cmp"
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/storage"
)

// Shards of other machines are read whole, as far as they are wanted, and compared with their
// checksums before a sample of them is used: what was wrong on its way is found, and fetched
// again. Parts of a shard have no checksums.

// fetched is a shard in memory.
type fetched struct {
	storage.File
	parts []part // by place
}

type part struct {
	lo int64
	b  []byte
}

const (
	// fetches is how many shards are fetched at the same time.
	fetches = 8
	// joinBytes is how far apart wanted tensors may be to be fetched together.
	joinBytes = 256 << 10
)

// Unwrap is the file on the other machine.
func (f *fetched) Unwrap() any { return f.File }

// ReadAt reads what was fetched, and anything else from the file.
func (f *fetched) ReadAt(b []byte, at int64) (int, error) {
	i, found := slices.BinarySearchFunc(f.parts, at, func(p part, at int64) int { return cmp.Compare(p.lo, at) })
	if !found {
		i--
	}
	if i >= 0 {
		p := &f.parts[i]
		end := p.lo + int64(len(p.b))
		if at+int64(len(b)) <= end || at < end && end == f.Size() {
			n := copy(b, p.b[at-p.lo:])
			if n < len(b) {
				return n, io.EOF
			}
			return n, nil
		}
	}
	return f.File.ReadAt(b, at)
}

// fetch reads what is wanted of a shard, where it is on another machine.
func (s *Shards) fetch(h *OpenShard) error {
	if s.Hold == 0 || !remote(h.File) {
		return nil
	}
	f := &fetched{File: h.File}
	if h.Tar != nil {
		f.parts = []part{{0, make([]byte, h.Record.Bytes)}}
	} else {
		tensors := slices.Clone(h.Tensors)
		slices.SortFunc(tensors, func(a, b int) int { return cmp.Compare(h.Mmap.Places[a].Lo, h.Mmap.Places[b].Lo) })
		var ranges []storage.Range
		for _, j := range tensors {
			lo, hi := h.Mmap.Places[j].Lo, h.Mmap.Places[j].Hi
			if k := len(ranges) - 1; k >= 0 && lo-ranges[k].Off-ranges[k].Len <= joinBytes {
				ranges[k].Len = hi - ranges[k].Off
			} else {
				ranges = append(ranges, storage.Range{Off: lo, Len: hi - lo})
			}
		}
		for _, r := range ranges {
			f.parts = append(f.parts, part{r.Off, make([]byte, r.Len)})
		}
	}
	var g errgroup.Group
	g.SetLimit(fetches)
	t := s.clock()
	for _, p := range f.parts {
		h.held += int64(len(p.b))
		g.Go(func() error { return dataset.ReadFull(h.File, p.b, p.lo) })
	}
	err := g.Wait()
	s.ReadNanos.Add(s.clock() - t)
	s.ReadBytes.Add(h.held)
	h.File = f
	return err
}

// Fetched reports whether the shard is in memory, and was checked there.
func (h *OpenShard) Fetched() bool { return h.held > 0 }

// remote reports whether a file is on another machine.
func remote(f storage.File) bool {
	_, ok := storage.As[storage.Forgetter](f)
	return ok
}

// Prepare fetches the shards of runs that are not in memory, several at once.
func (s *Shards) Prepare(ctx context.Context, runs []Run) error {
	if s.Hold == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetches)
	for _, sh := range s.absent(runs) {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			h, err := s.Acquire(sh)
			if err == nil {
				s.Release(h)
			}
			return err
		})
	}
	return g.Wait()
}

// absent are the shards of runs that are not open, as many as there is room for.
func (s *Shards) absent(runs []Run) (list []*Shard) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	seen, room := map[*Shard]bool{}, s.Hold-s.held
	for i := range runs {
		if sh := runs[i].Sh; sh.open == nil && !seen[sh] && room >= sh.Record.Bytes {
			seen[sh] = true
			room -= sh.Record.Bytes
			list = append(list, sh)
		}
	}
	return list
}

// ahead fetches the shards behind one that begins to be used. The caller holds Mu.
func (s *Shards) ahead(sh *Shard) {
	at, room := s.Number(sh.Lo), s.Hold-s.held
	for k := 1; k <= s.Ahead && k < len(s.Shards); k++ {
		next := s.Shards[(at+k)%len(s.Shards)]
		if room -= next.Record.Bytes; room < 0 {
			return
		}
		if next.open != nil || next.Record.Samples == 0 || s.coming[next] {
			continue
		}
		if s.coming == nil {
			s.coming = map[*Shard]bool{}
		}
		s.coming[next] = true
		s.fetching.Go(func() {
			h, err := s.acquire(next, true)
			s.Mu.Lock()
			delete(s.coming, next)
			s.Mu.Unlock()
			if err == nil { // otherwise who wants it will be told
				s.Release(h)
			}
		})
	}
}

// Drop forgets the shards in memory that nobody uses, and keeps none from then on.
func (s *Shards) Drop() {
	s.fetching.Wait()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Hold > 0 {
		s.evict(0)
		s.Hold, s.Ahead = 0, 0
	}
}
