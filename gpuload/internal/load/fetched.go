package load

import (
	"cmp"
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/memory"
	"github.com/shardify/shardify/storage"
)

// Shards of other machines are read whole, as far as they are wanted, and compared with their
// checksums before a sample of them is used: what was wrong on its way is found, and fetched
// again. Parts of a shard have no checksums.

// fetched is a shard in memory.
type fetched struct {
	storage.File
	parts []part // by place
	used  *Usage
	again *memory.Again
}

type part struct {
	lo int64
	b  []byte
}

const (
	// fetches is how many shards are fetched at the same time.
	fetches = 8
	// joinBytes is how many bytes may be between wanted tensors that are fetched together.
	joinBytes = 256 << 10
)

// Unwrap is the file on the other machine.
func (f *fetched) Unwrap() any { return f.File }

// Close gives the memory back. No read may follow.
func (f *fetched) Close() error {
	for _, p := range f.parts {
		f.used.Host.Add(-int64(len(p.b)))
		f.again.Put(p.b)
	}
	f.parts = nil
	return f.File.Close()
}

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

// fetches reports whether a shard is one that fetch reads.
func (s *Shards) fetches(h *OpenShard) bool { return s.Hold > 0 && remote(h.File) }

// fetch reads what is wanted of a shard, where it is on another machine.
func (s *Shards) fetch(h *OpenShard) error {
	if !s.fetches(h) {
		return nil
	}
	ranges := []storage.Range{{Len: h.Record.Bytes}}
	if !h.Whole() {
		ranges = ranges[:0]
		tensors := slices.Clone(h.Tensors)
		slices.SortFunc(tensors, func(a, b int) int { return cmp.Compare(h.Mmap.Places[a].Lo, h.Mmap.Places[b].Lo) })
		for _, j := range tensors {
			lo, hi := h.Mmap.Places[j].Lo, h.Mmap.Places[j].Hi
			if k := len(ranges) - 1; k >= 0 && lo-ranges[k].Off-ranges[k].Len <= joinBytes {
				ranges[k].Len = hi - ranges[k].Off
			} else {
				ranges = append(ranges, storage.Range{Off: lo, Len: hi - lo})
			}
		}
	}
	f := &fetched{File: h.File, used: s.Used, again: &s.again}
	h.File = f // which frees them
	for _, r := range ranges {
		b, err := s.again.Get(r.Len, s.Hold)
		if err != nil {
			return err
		}
		s.Used.Host.Add(r.Len)
		f.parts = append(f.parts, part{r.Off, b})
		h.held += r.Len
	}
	var g errgroup.Group
	g.SetLimit(fetches)
	t := s.clock()
	for _, p := range f.parts {
		g.Go(func() error { return dataset.ReadFull(f.File, p.b, p.lo) })
	}
	err := g.Wait()
	s.ReadNanos.Add(s.clock() - t)
	s.ReadBytes.Add(h.held)
	return err
}

// Bytes is at most what fetch reads of a shard: what is wanted, and what is between it and is
// fetched with it. It is exact where no size depends on the data.
func (s *Shards) Bytes(sh *Shard) int64 {
	if sh.Whole() {
		return sh.Record.Bytes
	}
	l := sh.Layout
	open := sh.Record.Bytes - l.HeaderBytes // bytes of the tensors whose sizes are not known
	for i := range l.Tensors {
		if l.Known(i) {
			open -= l.Tensors[i].Row * l.Count(i, sh.Record.Samples)
		}
	}
	open = max(open, 0)
	total, gap, begun, some, unsure := int64(0), int64(0), false, false, false
	for i := range l.Tensors {
		size := int64(0)
		if l.Known(i) {
			size = l.Tensors[i].Row * l.Count(i, sh.Record.Samples)
		}
		if !s.wanted[sh.Set][i] {
			gap += size
			unsure = unsure || !l.Known(i)
			continue
		}
		if begun && gap <= joinBytes {
			if total += gap; unsure {
				total += min(joinBytes-gap, open)
			}
		}
		begun, gap, unsure = true, 0, false
		total, some = total+size, some || !l.Known(i)
	}
	if some {
		total += open
	}
	return min(total, sh.Record.Bytes)
}

// fetched reports whether the shard is in memory, and was checked there.
func (h *OpenShard) fetched() bool { return h.held > 0 }

// Checked reports whether the shard was fetched and checked before it was read.
func (sh *Shard) Checked() bool { return sh.checked.Load() }

// remote reports whether a file is on another machine.
func remote(f storage.File) bool {
	_, ok := storage.As[storage.Forgetter](f)
	return ok
}

// reserve makes room for what will be fetched of a shard, and returns how much that is.
func (s *Shards) reserve(sh *Shard) (n int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Hold > 0 {
		n = s.Bytes(sh)
		s.held += n
		s.evict(s.Open)
	}
	return n
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
	room := s.Hold
	for i := range runs {
		if sh := runs[i].Sh; sh.open == nil && !slices.Contains(list, sh) {
			if room -= s.Bytes(sh); room < 0 {
				break
			}
			list = append(list, sh)
		}
	}
	return list
}

// ahead fetches the shards behind one that begins to be used, in the place of those that were
// used before. The caller holds Mu.
func (s *Shards) ahead(sh *Shard) {
	s.at = sh.place
	soon := func(o *Shard) bool { return (o.place-s.at+len(s.Shards))%len(s.Shards) <= s.Ahead }
	bytes := func(o *Shard) int64 {
		if o.open != nil {
			return o.open.held
		}
		return s.Bytes(o)
	}
	room := s.Hold - bytes(sh)
	for _, h := range s.Kept {
		if h.refs > 0 && !soon(h.Shard) {
			room -= h.held
		}
	}
	for o := range s.coming {
		if !soon(o) {
			room -= bytes(o)
		}
	}
	for k := 1; k <= s.Ahead && k < len(s.Shards); k++ {
		next := s.Shards[(s.at+k)%len(s.Shards)]
		if room -= bytes(next); room < 0 {
			return
		}
		if next.open != nil && next.open.refs == 0 {
			next.open.early = true
		}
		if next.open != nil || next.Record.Samples == 0 || s.coming[next] || s.Once && next.left.Load() == 0 {
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
			if err == nil { // otherwise the one that acquires it gets the error
				s.Release(h)
			}
		})
	}
}

// read notes that samples of a shard will not be read again, and forgets it after the last.
func (s *Shards) read(h *OpenShard, samples int64) {
	if h.left.Add(-samples) != 0 || !h.fetched() {
		return
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if !h.stale { // else it is forgotten already, and may have been opened again
		s.drop(h)
	}
}

// Begin notes that no sample was read yet.
func (s *Shards) Begin() {
	for _, sh := range s.Shards {
		sh.left.Store(sh.Record.Samples)
	}
}

// Drop forgets the shards in memory that are not in use, and keeps none from then on.
func (s *Shards) Drop() {
	s.fetching.Wait()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Hold > 0 {
		s.evict(0)
		s.again.Close()
		s.Hold, s.Ahead, s.Once = 0, 0, false
	}
}
