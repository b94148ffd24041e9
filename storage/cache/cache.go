package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify/storage"
)

// Bounds of a cache.
const (
	// DefaultSize is the bound if none is given, LeastSize the smallest that may be given.
	DefaultSize = 64 << 30
	LeastSize   = 64 << 20

	folder    = "shardify-cache-1"
	page      = 4096             // files take whole pages of a disk
	lockTime  = 2 * time.Second  // how long a file waits for room; after that it is not kept
	claimTime = 30 * time.Second // how long a fetch waits for that of another process
	retryTime = time.Minute      // for how long nothing is written after a failure
	staleTime = time.Minute      // age of a claim that is looked at
	// settled is the age from which equal modification times mean equal contents: servers
	// give whole seconds.
	settled = 2 * time.Second
)

// Cache is a folder of blocks. Methods may be called concurrently.
type Cache struct {
	// Dir is the folder that was named.
	Dir  string
	most int64
	root *os.Root

	mu     sync.Mutex // of what changes the accounted bytes
	lock   *os.File
	failed error // the first failure
	until  time.Time

	hits, stored, wrong atomic.Int64
}

// Open makes the folder of a cache below dir, of at most so many bytes; 0 is DefaultSize.
func Open(dir string, most int64) (*Cache, error) {
	if most == 0 {
		most = DefaultSize
	}
	if most < LeastSize {
		return nil, fmt.Errorf("a cache of %d bytes is too small: it takes at least %d", most, LeastSize)
	}
	return open(dir, most)
}

func open(dir string, most int64) (*Cache, error) {
	top := filepath.Join(dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(top, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	c, err := at(dir)
	if err != nil {
		return nil, err
	}
	c.most = most
	for _, d := range []string{"blocks", "tmp", "claims"} {
		if err := c.root.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(err, c.root.Close())
		}
	}
	if c.lock, err = c.root.OpenFile("lock", os.O_RDWR|os.O_CREATE|openFlags, 0o600); err != nil {
		return nil, errors.Join(err, c.root.Close())
	}
	return c, nil
}

// at is the cache of a folder that is there, to be looked at. It must be private: what others
// can write there would be taken for data.
func at(dir string) (*Cache, error) {
	top := filepath.Join(dir, folder)
	info, err := os.Lstat(top)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() || !private(info):
		return nil, &fs.PathError{Op: "open", Path: top, Err: errors.New("not a folder of this user alone (mode 0700)")}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	return &Cache{Dir: dir, root: root}, nil
}

// Close ends the use of a cache that has no contents open.
func (c *Cache) Close() error {
	if c.lock == nil {
		return c.root.Close()
	}
	return errors.Join(c.lock.Close(), c.root.Close())
}

// Failed is the first failure to keep something, nil if there was none.
func (c *Cache) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Counts are bytes read from the cache and written to it, and files found damaged, by this
// process.
func (c *Cache) Counts() (read, written, wrong int64) {
	return c.hits.Load(), c.stored.Load(), c.wrong.Load()
}

// Content is the cached part of one content of a file.
type Content struct {
	c  *Cache
	id id

	mu     sync.Mutex
	blocks []block // by place
	seen   time.Time
	mtime  time.Time // of the folder when it was read
}

type id [16]byte

func (i id) folder() string { return "blocks/" + hex.EncodeToString(i[:]) }

// block is a file of a content.
type block struct{ lo, hi int64 }

func (b block) name() string { return fmt.Sprintf("%012x-%012x", b.lo, b.hi) }

func parseBlock(name string) (b block, ok bool) {
	first, last, ok := strings.Cut(name, "-")
	lo, err := strconv.ParseUint(first, 16, 63)
	hi, err2 := strconv.ParseUint(last, 16, 63)
	b = block{int64(lo), int64(hi)}
	return b, ok && err == nil && err2 == nil && lo < hi && b.name() == name
}

// Content is the cached part of a file, or nil if its stamp does not identify its content.
// The address must not contain a signature.
func (c *Cache) Content(address string, s storage.Stamp) *Content {
	if c == nil || s.Version == "" && s.ModTime == 0 || s.ModTime > time.Now().Add(-settled).UnixNano() {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %q", address, s.Size, s.ModTime, s.Version))
	return &Content{c: c, id: id(sum[:16])}
}

// list is what is there now. It looks again only when the folder has changed, and at most
// ten times a second unless now is set.
func (x *Content) list(now bool) []block {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !now && time.Since(x.seen) < 100*time.Millisecond {
		return x.blocks
	}
	x.seen = time.Now()
	info, err := x.c.root.Lstat(x.id.folder())
	if err != nil || info.ModTime().Equal(x.mtime) && time.Since(x.mtime) > time.Second {
		return x.blocks
	}
	d, err := x.c.root.Open(x.id.folder())
	if err != nil {
		return x.blocks
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	x.blocks, x.mtime = nil, info.ModTime()
	for _, n := range names {
		if b, ok := parseBlock(n); ok {
			x.blocks = append(x.blocks, b)
		}
	}
	slices.SortFunc(x.blocks, func(a, b block) int { return cmp.Compare(a.lo, b.lo) })
	return x.blocks
}

// add notes a block that was written, drop one that is gone. Lists that were given out stay.
func (x *Content) add(b block) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, _ := slices.BinarySearchFunc(x.blocks, b, func(a, b block) int { return cmp.Compare(a.lo, b.lo) })
	x.blocks = slices.Insert(slices.Clip(x.blocks), i, b)
}

func (x *Content) drop(b block) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.blocks = slices.DeleteFunc(slices.Clone(x.blocks), func(a block) bool { return a == b })
}

// Read fills what it can of b, the bytes from off on, and returns the missing ranges, ordered
// by offset. Ranges less than gap bytes from each other are joined.
func (x *Content) Read(b []byte, off, gap int64) []storage.Range { return x.read(b, off, gap, false) }

func (x *Content) read(b []byte, off, gap int64, now bool) (missing []storage.Range) {
	end := off + int64(len(b))
	lack := func(lo, hi int64) {
		if k := len(missing) - 1; k >= 0 && lo-(missing[k].Off+missing[k].Len) <= gap {
			missing[k].Len = hi - missing[k].Off
		} else if lo < hi {
			missing = append(missing, storage.Range{Off: lo, Len: hi - lo})
		}
	}
	at := off
	for _, k := range x.list(now) {
		if k.hi <= at || at == end {
			continue
		}
		if k.lo >= end {
			break
		}
		lo, hi := max(k.lo, at), min(k.hi, end)
		if !x.load(k, b[lo-off:hi-off], lo) {
			continue // what else has these bytes, or the network
		}
		if at < lo {
			lack(at, lo)
		}
		at = hi
	}
	if at < end {
		lack(at, end)
	}
	return missing
}

// load reads bytes of a block, and removes one that is damaged.
func (x *Content) load(k block, b []byte, off int64) bool {
	name := x.id.folder() + "/" + k.name()
	f, err := x.c.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		x.drop(k)
		return false
	}
	defer f.Close()
	if err := readBlock(f, x.id, k, b, off); err != nil {
		x.c.wrong.Add(1)
		x.drop(k)
		_ = x.c.root.Remove(name) // another process may have done it
		return false
	}
	now := time.Now()
	_ = x.c.root.Chtimes(name, now, now) // the order of use; without it the block goes early
	x.c.hits.Add(int64(len(b)))
	return true
}

// Forget removes the blocks that have bytes of a range.
func (x *Content) Forget(off, n int64) {
	for _, k := range x.list(true) {
		if k.lo < off+n && off < k.hi {
			x.drop(k)
			_ = x.c.root.Remove(x.id.folder() + "/" + k.name())
		}
	}
}

// Claim says that this process is about to fetch a range. If another one fetches some of it,
// Claim waits for that, but not for long. Another may have fetched it since it was found to be
// missing: ReadAgain before it is fetched.
func (x *Content) Claim(ctx context.Context, off, n int64) (release func()) {
	name := fmt.Sprintf("claims/%x", x.id[:])
	if !ranges {
		name += fmt.Sprintf("-%012x", off)
	}
	f, err := x.c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return func() {}
	}
	start := time.Now()
	own, taken := tryRange(f, off, n)
	for pause := time.Millisecond; taken && time.Since(start) < claimTime && ctx.Err() == nil; pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
		own, taken = tryRange(f, off, n)
	}
	return func() {
		if own {
			freeRange(f, off, n)
		}
		f.Close()
	}
}

// ReadAgain is Read after a Claim: it looks for what others have written.
func (x *Content) ReadAgain(b []byte, off, gap int64) []storage.Range {
	return x.read(b, off, gap, true)
}

// Keep writes bytes that were fetched. Failures are noted, and for a while nothing is written.
func (x *Content) Keep(b []byte, off int64) {
	k := block{off, off + int64(len(b))}
	cost := cost(fileBytes(int64(len(b))))
	if len(b) == 0 || cost > x.c.most/4 {
		return
	}
	f, name, err := x.c.reserve(x.id, fileBytes(int64(len(b))), cost)
	if f == nil {
		x.c.note(err)
		return
	}
	if err = writeBlock(f, x.id, k, b); err == nil {
		to := x.id.folder() + "/" + k.name()
		if err = x.c.root.Rename(name, to); errors.Is(err, fs.ErrNotExist) { // others remove empty folders
			_ = x.c.root.Mkdir(x.id.folder(), 0o700)
			err = x.c.root.Rename(name, to)
		}
	}
	if err != nil {
		_ = x.c.root.Remove(name)
	}
	f.Close() // and with it the lock
	if err != nil {
		x.c.note(err)
		return
	}
	x.c.stored.Add(int64(len(b)))
	x.add(k)
}

func cost(n int64) int64 { return (n + page - 1) / page * page }

func (c *Cache) note(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until = time.Now().Add(retryTime); c.failed == nil {
		c.failed = err
	}
}

// reserve makes room for a file and creates it, with its size: so it is accounted before a
// byte is written. Without an error and a file there is no room now.
func (c *Cache) reserve(i id, size, cost int64) (f *os.File, name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) || !c.enter() {
		return nil, "", nil
	}
	defer unlock(c.lock)
	total, ok := c.total()
	if !ok || total+cost > c.most {
		if total, err = c.evict(c.most - cost); err != nil || total+cost > c.most {
			return nil, "", err
		}
	}
	if err := c.root.Mkdir(i.folder(), 0o700); err == nil {
		cost += page
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	if err := c.setTotal(total + cost); err != nil {
		return nil, "", err
	}
	name = "tmp/" + rand.Text()
	if f, err = c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|openFlags, 0o600); err != nil {
		return nil, "", err
	}
	if !tryLock(f) {
		err = errors.New("a new file is locked by another process")
	} else {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		_ = c.root.Remove(name)
		return nil, "", err
	}
	return f, name, nil
}

// enter takes the lock of all processes, unless that takes too long.
func (c *Cache) enter() bool {
	start := time.Now()
	for !tryLock(c.lock) {
		if time.Since(start) > lockTime {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}

// total is the accounted bytes: as many as there are, or more after a kill. ok is false if the
// number is damaged.
func (c *Cache) total() (n int64, ok bool) {
	var b [16]byte
	if m, _ := c.lock.ReadAt(b[:], 0); m < len(b) {
		return 0, false
	}
	n = int64(binary.LittleEndian.Uint64(b[:]))
	return n, n >= 0 && ^uint64(n) == binary.LittleEndian.Uint64(b[8:])
}

func (c *Cache) setTotal(n int64) error {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	binary.LittleEndian.PutUint64(b[8:], ^uint64(n))
	_, err := c.lock.WriteAt(b[:], 0)
	return err
}

// evict counts what is there. If that is more than most, it removes the least recently used
// blocks, a twentieth more than needed. It returns what is left. The caller holds the lock.
func (c *Cache) evict(most int64) (left int64, err error) {
	u, blocks, err := c.scan()
	if err != nil {
		return 0, err
	}
	left = u.accounted
	if left > most {
		slices.SortFunc(blocks, func(a, b found) int { return cmp.Compare(a.used, b.used) })
		for _, b := range blocks {
			if left <= most-most/20 {
				break
			}
			if err := c.root.Remove(b.name); err == nil || errors.Is(err, fs.ErrNotExist) {
				left -= b.cost
			}
		}
	}
	return left, c.setTotal(left)
}
