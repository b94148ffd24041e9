package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/cache"
)

// Object is an open file of a protocol.
type Object interface {
	// Fetch reads bytes from off on until b is full, and returns how many it read before an
	// error. What does not belong to the content of Stamp is an error.
	Fetch(ctx context.Context, b []byte, off int64) (int, error)
	Stamp() storage.Stamp
	Close() error
}

// Vector is an Object that fetches many ranges in the time of one. Those that are announced are
// then not joined over gaps.
type Vector interface {
	// FetchAll fills all parts, and returns how many it filled, from the first on, before an
	// error.
	FetchAll(ctx context.Context, parts []Part) (int, error)
}

// Part is a range to be read.
type Part struct {
	Off int64
	B   []byte
}

const (
	// vectorGap is the gap over which ranges are joined for a Vector: about what a range costs.
	vectorGap = 64
	mostParts = 1024
	// blockBytes is the size of requests where much is read in order: at 20 ms from the
	// server, requests of 64 KiB one by one take 50 times as long.
	blockBytes = 8 << 20
	// firstBytes is the size of requests where nothing is known of what follows.
	firstBytes = 64 << 10
	// headBytes is that of the beginning of a file whose further ranges are announced.
	headBytes = 4 << 10
	// gapBytes is how far two reads may be from each other to be joined: a request costs as
	// much processor time as receiving so many bytes.
	gapBytes = 256 << 10
	// sequential is the size of a request from which what follows is asked for, too.
	sequential = 1 << 20
	// aheadRequests is how many requests of a file are made before they are wanted, and
	// aheadBlocks how many where the reads were not announced.
	aheadRequests = 16
	aheadBlocks   = 2
)

// Disk is the cache of files that are opened from then on, nil for none.
var Disk = func() *cache.Cache { return nil }

// File is a storage.File over an Object. It has storage.ContextReader, storage.Announcer and
// storage.Forgetter.
type File struct {
	name string // as errors show it
	obj  Object
	host *Host
	pool *Pool
	disk *cache.Content // nil without a cache
	many Vector         // nil if obj is not a Vector

	ctx    context.Context // of what is read ahead
	cancel context.CancelFunc
	ahead  sync.WaitGroup

	// Under Pool.mu:
	*content
	running int // requests that read ahead
	closed  bool
}

type piece struct{ lo, hi int64 }

// New is the file of an object. name is its address as errors show it. id, without a signature,
// identifies it. head is what the object has read already, from its beginning on, or nil.
func New(name, id string, obj Object, host *Host, pool *Pool, head []byte) *File {
	f := &File{name: name, obj: obj, host: host, pool: pool, disk: Disk().Content(id, obj.Stamp())}
	f.many, _ = obj.(Vector)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	pool.mu.Lock()
	defer pool.mu.Unlock()
	f.content = pool.use(id, obj.Stamp())
	if _, there := f.find(0); !there {
		if lo, hi := f.clip(0, int64(len(head)), 0); lo < hi {
			e := f.insert(lo, hi)
			e.b = head[:hi]
			close(e.done)
		}
	}
	return f
}

// Object is what the file reads from.
func (f *File) Object() Object { return f.obj }

// Size is the size that the file had when it was opened.
func (f *File) Size() int64 { return f.size }

// Stamp is what the file was when it was opened.
func (f *File) Stamp() storage.Stamp { return f.obj.Stamp() }

// Close ends what is being read ahead.
func (f *File) Close() error {
	f.cancel()
	f.ahead.Wait()
	f.pool.mu.Lock()
	again := f.closed
	if !again {
		f.closed = true
		if f.users--; f.users == 0 {
			f.planned = nil
		}
		f.pool.leave(f.content)
	}
	f.pool.mu.Unlock()
	if again {
		return nil // the object may be another file's by now
	}
	return f.obj.Close()
}

// ReadAt reads without an end but that of the server's patience.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	return f.ReadContext(context.Background(), b, off)
}

// ReadContext is ReadAt until ctx ends.
func (f *File) ReadContext(ctx context.Context, b []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, f.failed(off, 0, fs.ErrInvalid)
	}
	whole := len(b)
	if b = b[:max(min(int64(whole), f.size-off), 0)]; len(b) < whole {
		err = io.EOF
	}
	for n < len(b) {
		m, e := f.some(ctx, b[n:], off+int64(n))
		if n += m; e != nil {
			return n, e
		}
	}
	return n, err
}

// some reads at least a byte of what is wanted.
func (f *File) some(ctx context.Context, b []byte, off int64) (int, error) {
	f.pool.mu.Lock()
	if f.closed {
		f.pool.mu.Unlock()
		return 0, f.failed(off, len(b), fs.ErrClosed)
	}
	i, there := f.find(off)
	if !there {
		end := off + int64(len(b))
		if i < len(f.extents) {
			end = min(end, f.extents[i].lo)
		}
		if p := f.plannedAt(off); p < 0 && end-off >= blockBytes {
			f.pool.mu.Unlock()
			return f.straight(ctx, b[:end-off], off)
		}
		all := f.want(i, off, end)
		f.readAhead(slices.MaxFunc(all, func(a, b *extent) int { return cmp.Compare(a.hi, b.hi) }))
		f.pool.mu.Unlock()
		f.fetch(ctx, all)
		if e := all[0]; e.err != nil {
			return 0, e.err
		}
		return copy(b, all[0].b[off-all[0].lo:]), nil
	}
	e := f.extents[i]
	if e.run > 0 && off+int64(len(b)) >= e.hi {
		f.pool.used.MoveToFront(e.at) // it was read in order, to its end
	} else {
		f.pool.used.MoveToBack(e.at)
	}
	f.readAhead(e)
	f.pool.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		return 0, f.failed(off, len(b), context.Cause(ctx))
	}
	switch {
	case e.stopped: // which says nothing about the file
		return 0, nil
	case e.err != nil:
		return 0, e.err
	}
	return copy(b, e.b[off-e.lo:]), nil
}

// find is the extent that has a byte, or the place where it would be. The caller holds
// Pool.mu, as for what follows except for fetch and straight.
func (c *content) find(off int64) (int, bool) {
	i, found := slices.BinarySearchFunc(c.extents, off, func(e *extent, off int64) int { return cmp.Compare(e.lo, off) })
	if found {
		return i, true
	}
	if i > 0 && off < c.extents[i-1].hi {
		return i - 1, true
	}
	return i, false
}

func (c *content) forget(e *extent) {
	if i, ok := c.find(e.lo); ok && c.extents[i] == e {
		c.extents = slices.Delete(c.extents, i, i+1)
	}
}

func (f *File) insert(lo, hi int64) *extent {
	e := &extent{of: f.content, request: request{lo: lo, hi: hi}, done: make(chan struct{})}
	i, _ := f.find(lo)
	f.extents = slices.Insert(f.extents, i, e)
	f.pool.add(e)
	return e
}

// want makes the extents of a request for bytes [lo, hi), which are not there: a piece that was
// announced, and further ones that come with it, or more than is wanted, by what was read
// before it.
func (f *File) want(i int, lo, hi int64) []*extent {
	if p := f.plannedAt(lo); p >= 0 {
		x := f.planned[p]
		f.planned = slices.Delete(f.planned, p, p+1)
		e := f.insert(f.clip(x.lo, x.hi, lo))
		if f.many == nil {
			return []*extent{e}
		}
		all, sum := append([]*extent{e}, f.merge(p, e.hi-e.lo)...), int64(0)
		for _, x := range all {
			sum += x.hi - x.lo
		}
		if sum < f.pool.largest()/2 { // what was announced of places before it comes, too
			all = append(all, f.merge(0, sum)...)
		}
		return all
	}
	n, run := int64(firstBytes), 0
	if lo == 0 && f.many != nil {
		n = headBytes
	}
	if last := f.before(lo); last != nil { // it continues
		if n, run = last.step, last.run+1; run > 2 { // and has gone on for a while
			n = max(n, last.hi-last.lo)
		}
		n = min(2*max(n, firstBytes/2), f.pool.largest())
	} else if f.size-lo < firstBytes { // an index at the end of the file is read backwards
		lo = max(f.size-firstBytes, 0)
	}
	e := f.insert(f.clip(lo, max(hi, lo+n), hi-1))
	e.step, e.run = n, run
	f.note(e)
	return []*extent{e}
}

// merge makes the extents of the announced pieces from number k on that are one request, which
// has so many bytes already.
func (f *File) merge(k int, bytes int64) (all []*extent) {
	n := k
	for ; n < len(f.planned); n++ {
		x := f.planned[n]
		if bytes += x.hi - x.lo; bytes > f.pool.largest() && n+len(all) > k || len(all) == mostParts-1 {
			break
		}
		if lo, hi := f.clip(x.lo, x.hi, x.lo); lo < hi {
			all = append(all, f.insert(lo, hi))
		}
		if f.many == nil {
			n++
			break
		}
	}
	f.planned = slices.Delete(f.planned, k, n)
	return all
}

// before is the request that ended where another begins, nil if there was none lately.
func (c *content) before(lo int64) *request {
	var best *request
	for i := range c.last {
		if r := &c.last[i]; r.hi > 0 && r.hi <= lo && lo-r.hi <= gapBytes && (best == nil || r.hi > best.hi) {
			best = r
		}
	}
	return best
}

// note remembers a request, in the place of that which it follows or of the oldest.
func (c *content) note(e *extent) {
	r := c.before(e.lo)
	if r == nil {
		r = &c.last[c.next%len(c.last)]
		c.next++
	}
	*r = e.request
}

// clip cuts a range to the file, and to what is between the extents around a byte.
func (f *File) clip(lo, hi, around int64) (int64, int64) {
	i, _ := f.find(around)
	if i > 0 {
		lo = max(lo, f.extents[i-1].hi)
	}
	if i < len(f.extents) {
		hi = min(hi, f.extents[i].lo)
	}
	return lo, min(hi, f.size)
}

// readAhead asks for what follows an extent that is being read: what was announced, else the
// next blocks where much is read in order.
func (f *File) readAhead(e *extent) {
	for f.running < aheadRequests && f.pool.bytes <= f.pool.most*3/4 {
		if i, there := f.find(e.hi); there {
			e = f.extents[i]
			continue
		}
		k, _ := slices.BinarySearchFunc(f.planned, e.hi, func(p piece, off int64) int { return cmp.Compare(p.lo, off) })
		var all []*extent
		switch {
		case k < len(f.planned):
			if all = f.merge(k, 0); len(all) == 0 {
				continue
			}
		case len(f.planned) == 0 && e.step >= sequential && e.hi < f.size && f.running < aheadBlocks:
			step := min(2*e.step, f.pool.largest())
			if lo, hi := f.clip(e.hi, e.hi+step, e.hi); lo < hi {
				all = []*extent{f.insert(lo, hi)}
				all[0].step = step
			}
		}
		if len(all) == 0 {
			return
		}
		for _, next := range all {
			next.run, e = e.run+1, next
		}
		f.note(e)
		f.running++
		f.ahead.Go(func() {
			f.fetch(f.ctx, all)
			f.pool.mu.Lock()
			defer f.pool.mu.Unlock()
			f.running--
		})
	}
}

// plannedAt is the index of the piece that has a byte, or -1.
func (c *content) plannedAt(off int64) int {
	i, found := slices.BinarySearchFunc(c.planned, off, func(p piece, off int64) int { return cmp.Compare(p.lo, off) })
	if found {
		return i
	}
	if i > 0 && off < c.planned[i-1].hi {
		return i - 1
	}
	return -1
}

// fetch fills extents.
func (f *File) fetch(ctx context.Context, all []*extent) {
	if len(all) == 1 {
		b := make([]byte, all[0].hi-all[0].lo)
		f.settle(ctx, all[0], b, f.read(ctx, b, all[0].lo))
		return
	}
	var parts []Part
	var missing []*extent
	for _, e := range all {
		b := make([]byte, e.hi-e.lo)
		if f.disk != nil && len(f.disk.Read(b, e.lo, 0)) == 0 {
			f.settle(ctx, e, b, nil)
			continue
		}
		parts, missing = append(parts, Part{e.lo, b}), append(missing, e)
	}
	if len(parts) == 0 {
		return
	}
	if f.disk != nil {
		lo, hi := parts[0].Off, int64(0)
		for _, e := range missing {
			lo, hi = min(lo, e.lo), max(hi, e.hi)
		}
		defer f.disk.Claim(ctx, lo, hi-lo)()
		n := 0
		for i, p := range parts {
			if len(f.disk.ReadAgain(p.B, p.Off, 0)) == 0 {
				f.settle(ctx, missing[i], p.B, nil)
				continue
			}
			parts[n], missing[n] = p, missing[i]
			n++
		}
		if parts, missing = parts[:n], missing[:n]; n == 0 {
			return
		}
	}
	n := 0
	err := f.host.Do(ctx, func(ctx context.Context) error {
		if n == len(parts) {
			return nil
		}
		m, err := f.many.FetchAll(ctx, parts[n:])
		n += m
		return err
	})
	for i, e := range missing {
		if i < n {
			if f.disk != nil {
				f.disk.Keep(parts[i].B, e.lo)
			}
			f.settle(ctx, e, parts[i].B, nil)
			continue
		}
		f.settle(ctx, e, nil, f.failed(e.lo, len(parts[i].B), err))
	}
}

// settle ends the wait for an extent.
func (f *File) settle(ctx context.Context, e *extent, b []byte, err error) {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	if e.b = b; err != nil {
		e.b, e.err, e.stopped = nil, err, ctx.Err() != nil
		f.pool.drop(e)
	}
	close(e.done)
}

// straight reads into the caller's memory, by several requests at once. It keeps nothing.
// It returns how many bytes arrived before the first missing one.
func (f *File) straight(ctx context.Context, b []byte, off int64) (int, error) {
	var wg sync.WaitGroup
	errs := make([]error, (len(b)+blockBytes-1)/blockBytes)
	for i, at := 0, 0; at < len(b); i, at = i+1, at+blockBytes {
		wg.Go(func() { errs[i] = f.read(ctx, b[at:min(at+blockBytes, len(b))], off+int64(at)) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return i * blockBytes, err
		}
	}
	return len(b), nil
}

// read reads a range from the cache on disk, and fetches what is missing there.
func (f *File) read(ctx context.Context, b []byte, off int64) error {
	if f.disk == nil {
		return f.download(ctx, b, off)
	}
	for _, r := range f.disk.Read(b, off, gapBytes) {
		if err := f.fill(ctx, b[r.Off-off:][:r.Len], r.Off); err != nil {
			return err
		}
	}
	return nil
}

// fill fetches what is not in the cache, unless another process is about to.
func (f *File) fill(ctx context.Context, b []byte, off int64) error {
	defer f.disk.Claim(ctx, off, int64(len(b)))()
	for _, r := range f.disk.ReadAgain(b, off, gapBytes) {
		part := b[r.Off-off:][:r.Len]
		if err := f.download(ctx, part, r.Off); err != nil {
			return err
		}
		f.disk.Keep(part, r.Off)
	}
	return nil
}

// Forget drops what was kept of a range, in memory and on disk: the next read fetches it.
func (f *File) Forget(r storage.Range) {
	f.pool.mu.Lock()
	for _, e := range slices.Clone(f.extents) {
		if e.lo < r.Off+r.Len && r.Off < e.hi {
			f.pool.drop(e)
		}
	}
	f.pool.mu.Unlock()
	if f.disk != nil {
		f.disk.Forget(r.Off, r.Len)
	}
}

// download fetches a range, again from the byte that was reached after what may be tried again.
func (f *File) download(ctx context.Context, b []byte, off int64) error {
	n := 0
	err := f.host.Do(ctx, func(ctx context.Context) error {
		m, err := f.obj.Fetch(ctx, b[n:], off+int64(n))
		n += m
		return err
	})
	if err != nil {
		return f.failed(off, len(b), err)
	}
	return nil
}

// Changed is the error of a file that is not what it was when it was opened.
func Changed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", shardify.ErrChanged, fmt.Sprintf(format, args...))
}

// Answered checks that a server sent bytes [lo, hi) of a file of size bytes where n bytes from
// off on were asked for: it may send less.
func Answered(lo, hi, size, off, n int64) error {
	if lo != off || hi > min(off+n, size) {
		return &Error{Err: fmt.Errorf("the server sent bytes %d to %d of %d", lo, hi, size), Kind: Broken}
	}
	return nil
}

// Failed is an error of a call for a file, by a name that may be shown; nil stays nil.
func Failed(op, name string, err error) error {
	var p *fs.PathError
	if err == nil || errors.As(err, &p) {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// WithoutLogin is an address without the name and password before its server. Passwords may
// have slashes: if anything but a port comes after the colon, all is left out.
func WithoutLogin(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return name
	}
	host, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		return scheme + "://" + rest[i+1:]
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && host[0] != '[' && strings.Trim(host[i+1:], "0123456789") != "" {
		return scheme + "://..."
	}
	return name
}

func (f *File) failed(off int64, n int, err error) error {
	return &fs.PathError{Op: "read", Path: f.name, Err: fmt.Errorf("bytes %d to %d: %w", off, off+int64(n), err)}
}

// Announce notes what will be read. Ranges with small gaps become one request, and are
// fetched before they are wanted.
func (f *File) Announce(ranges []storage.Range) {
	all := slices.Clone(ranges)
	slices.SortFunc(all, func(a, b storage.Range) int { return cmp.Compare(a.Off, b.Off) })
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	most, joined := f.pool.largest(), int64(gapBytes)
	if f.many != nil {
		joined = vectorGap
	}
	var made []piece
	wanted := int64(0) // bytes of the last piece
	for _, r := range all {
		lo, hi := max(r.Off, 0), min(r.Off+r.Len, f.size)
		if lo >= hi {
			continue
		}
		if k := len(made) - 1; k >= 0 {
			p := &made[k]
			if lo = max(lo, min(p.hi, hi)); lo == hi {
				continue // it is in there
			}
			// No more than a quarter of a request is unwanted.
			if gap := lo - p.hi; gap <= joined && hi-p.lo <= most && (hi-p.lo-wanted-(hi-lo))*4 <= hi-p.lo {
				p.hi, wanted = hi, wanted+hi-lo
				continue
			}
		}
		for ; hi-lo > most; lo += most {
			made = append(made, piece{lo, lo + most})
		}
		made, wanted = append(made, piece{lo, hi}), hi-lo
	}
	f.planned = merged(f.planned, made)
}

// merged are the pieces of both lists by place; what both have is once in it.
func merged(a, b []piece) []piece {
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y piece) int { return cmp.Compare(x.lo, y.lo) })
	n := 0
	for _, p := range out {
		if n > 0 && p.lo < out[n-1].hi {
			p.lo = out[n-1].hi
		}
		if p.lo < p.hi {
			out[n] = p
			n++
		}
	}
	return out[:n]
}
