package mdb

import (
	"bytes"
	"io"
	"slices"

	"github.com/shardify/shardify"
)

// windowBytes is what is read at once where pages follow each other.
const windowBytes = 256 << 10

// Cursor walks through the entries of a tree. A cursor belongs to one goroutine.
type Cursor struct {
	// Key and Value are those of the entry, until the next call. The value of an entry in overflow pages is
	// read by Load alone; Size is that of any.
	Key, Value []byte
	Size       int64
	Sub        bool // the value is the record of a named database

	f     *File
	tree  Tree
	err   error
	seen  uint64 // pages
	n     uint64 // entries
	whole bool   // the walk began at the first one: their number is known
	ended bool
	depth int // pages of path that are in use; 0 before the first entry
	path  []level
	dup   *Cursor // a tree of values
	big   uint64  // the first overflow page of the value; 0 without
	at    int64   // of the node that the cursor is at, or that names the page which it enters

	// A page of values in a node.
	inner    []byte
	innerAt  int
	innerN   int
	leaf2    int
	innerOff int64

	window []byte // pages from first on
	first  uint64
	last   uint64 // the page that was read before
}

// level is a page on the way to the entry.
type level struct {
	page []byte
	no   uint64
	i, n int
}

// Cursor begins before the first entry of a tree.
func (f *File) Cursor(t Tree) *Cursor { return &Cursor{f: f, tree: t, whole: true} }

// Err is what ended Next.
func (c *Cursor) Err() error { return c.err }

// Held is the bytes that the cursor holds.
func (c *Cursor) Held() int64 {
	n := int64(cap(c.window)) + int64(len(c.path))*int64(c.f.page)
	if c.dup != nil {
		n += c.dup.Held()
	}
	return n
}

func (f *File) corrupt(no uint64, at int, format string, args ...any) error {
	return shardify.Corrupt(int64(no)*int64(f.page)+int64(at), "page %d: "+format, append([]any{no}, args...)...)
}

// fetch is the pages of a number, n of them.
func (c *Cursor) fetch(no, n uint64) ([]byte, error) {
	f := c.f
	if no < 2 || no > f.last || n > f.last+1-no {
		return nil, shardify.Corrupt(c.at, "page %d is used, the file has the pages 2 to %d", no, f.last)
	}
	if no == f.free {
		return nil, shardify.Corrupt(c.at, "page %d is used, which has the list of free pages", no)
	}
	if c.seen += n; c.seen > f.last+1 {
		return nil, f.corrupt(no, 0, "the pages form a circle, or one is used twice")
	}
	return c.bytes(no, n)
}

func (c *Cursor) bytes(no, n uint64) ([]byte, error) {
	size := uint64(c.f.page)
	if have := uint64(len(c.window)) / size; no < c.first || no+n > c.first+have {
		want := n
		if ahead := windowBytes / size; no > c.last && no-c.last <= ahead/4 { // pages follow each other
			want = max(n, ahead)
		}
		want = min(want, c.f.last+1-no)
		kept := 0 // what the window has of them already
		if no >= c.first && no < c.first+have {
			kept = copy(c.window, c.window[(no-c.first)*size:])
		}
		if uint64(cap(c.window)) < want*size {
			c.window = append(make([]byte, 0, want*size), c.window[:kept]...)
		}
		c.window, c.first = c.window[:want*size], no
		k, err := c.f.r.ReadAt(c.window[kept:], int64(no*size)+int64(kept))
		k += kept
		if err != nil && err != io.EOF {
			c.window = c.window[:0]
			return nil, err
		}
		c.window = c.window[:uint64(k)/size*size]
		if uint64(k) < n*size {
			c.window = c.window[:0]
			return nil, c.f.corrupt(no, 0, "the file ends early")
		}
	}
	c.last = no + n - 1
	at := (no - c.first) * size
	return c.window[at : at+n*size : at+n*size], nil
}

// enter makes a page that of the next level, at its node i.
func (c *Cursor) enter(no uint64, i int) error {
	page, err := c.fetch(no, 1)
	if err != nil {
		return err
	}
	left := c.tree.Depth - c.depth // levels, this one too
	if got := le.Uint64(page); got != no {
		return c.f.corrupt(no, 0, "it calls itself %d", got)
	}
	flags, lower := le.Uint16(page[10:]), int(le.Uint16(page[12:]))
	if left < 1 || left == 1 != (flags&pageLeaf != 0) || left > 1 != (flags&pageBranch != 0) || flags&(pageOverflow|pageMeta) != 0 || left > 1 && flags&pageLeaf2 != 0 {
		return c.f.corrupt(no, 10, "flags %#x where %d levels are left", flags, left)
	}
	if lower < headSize || lower > len(page) && flags&pageLeaf2 == 0 || lower%2 != 0 { // keys of one size have no places
		return c.f.corrupt(no, 12, "a lower bound of %d", lower)
	}
	if len(c.path) == c.depth {
		c.path = append(c.path, level{page: make([]byte, c.f.page)})
	}
	l := &c.path[c.depth]
	copy(l.page, page) // the window moves
	if l.no, l.i, l.n = no, i, (lower-headSize)/2; flags&pageLeaf2 != 0 {
		c.leaf2 = int(le.Uint16(page[8:]))
		if c.leaf2 == 0 || headSize+l.n*c.leaf2 > len(page) {
			return c.f.corrupt(no, 8, "%d keys of %d bytes", l.n, c.leaf2)
		}
	} else if left == 1 {
		c.leaf2 = 0
	}
	if i > l.n || l.n == 0 {
		return c.f.corrupt(no, 12, "%d entries", l.n)
	}
	if left == 1 && c.leaf2 == 0 {
		if err := c.filled(l); err != nil {
			return err
		}
	}
	c.depth++
	return nil
}

// filled checks that the nodes of a leaf take what its head says they do: writers leave no gap between them.
func (c *Cursor) filled(l *level) error {
	upper, sum := int(le.Uint16(l.page[14:])), 0
	for i := range l.n {
		p, err := c.node(l.page, i, l.n, c.offset(l))
		if err != nil {
			return err
		}
		size := int(le.Uint32(l.page[p:]))
		if le.Uint16(l.page[p+4:])&nodeBig != 0 {
			size = 8
		}
		if size += 8 + int(le.Uint16(l.page[p+6:])); p < upper || size > len(l.page) {
			return c.f.corrupt(l.no, headSize+2*i, "a node of %d bytes at %d, in front of the first one at %d, or longer than the page", size, p, upper)
		}
		sum += (size + 1) &^ 1
	}
	if sum != len(l.page)-upper {
		return c.f.corrupt(l.no, 14, "its nodes take %d bytes, its head says %d", sum, len(l.page)-upper)
	}
	return nil
}

// node is where a node begins in a page of nodes: its fields are in the page.
func (c *Cursor) node(page []byte, i, n int, off int64) (int, error) {
	p := int(le.Uint16(page[headSize+2*i:]))
	if p < headSize+2*n || p+8 > len(page) || p+8+int(le.Uint16(page[p+6:])) > len(page) {
		return 0, shardify.Corrupt(off+int64(headSize+2*i), "a node or its key lies outside of its page")
	}
	return p, nil
}

func (c *Cursor) offset(l *level) int64 { return int64(l.no) * int64(c.f.page) }

// child is the page of a node of a branch.
func (c *Cursor) child(l *level) (uint64, error) {
	p, err := c.node(l.page, l.i, l.n, c.offset(l))
	if err != nil {
		return 0, err
	}
	c.at = c.offset(l) + int64(p)
	return uint64(le.Uint32(l.page[p:])) | uint64(le.Uint16(l.page[p+4:]))<<32, nil
}

// begin goes to the first leaf.
func (c *Cursor) begin() error {
	if c.tree.Depth < 1 || c.tree.Depth > maxDepth {
		return shardify.Corrupt(c.tree.at+6, "a tree of depth %d", c.tree.Depth)
	}
	c.at = c.tree.at + 40
	if err := c.enter(c.tree.root, 0); err != nil {
		return err
	}
	return c.down()
}

// down goes from a branch to the first leaf below its node.
func (c *Cursor) down() error {
	for c.depth < c.tree.Depth {
		no, err := c.child(&c.path[c.depth-1])
		if err == nil {
			err = c.enter(no, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Next goes to the next entry; false at the end, and after an error.
func (c *Cursor) Next() bool {
	if c.err != nil {
		return false
	}
	more, err := c.next()
	if err == nil && c.whole && (more && c.n > c.tree.Entries || !more && c.n != c.tree.Entries) {
		err = shardify.Corrupt(c.tree.at+32, "%d entries or more where the database announces %d", c.n, c.tree.Entries)
	}
	c.err = err
	return more && err == nil
}

func (c *Cursor) next() (bool, error) {
	if c.dup != nil {
		if c.dup.Next() {
			c.Value, c.Size = c.dup.Key, int64(len(c.dup.Key))
			c.n++
			return true, nil
		}
		if err := c.dup.Err(); err != nil {
			return false, err
		}
		c.seen, c.dup = c.dup.seen, nil
	}
	if c.inner != nil {
		if c.innerAt < c.innerN {
			return true, c.value()
		}
		c.inner = nil
	}
	if c.ended || c.tree.root == noPage {
		return false, nil
	}
	if c.depth == 0 {
		if err := c.begin(); err != nil {
			return false, err
		}
	} else if c.path[c.depth-1].i++; c.path[c.depth-1].i == c.path[c.depth-1].n {
		for {
			if c.depth--; c.depth == 0 {
				c.ended = true
				return false, nil
			}
			if l := &c.path[c.depth-1]; l.i+1 < l.n {
				l.i++
				break
			}
		}
		if err := c.down(); err != nil {
			return false, err
		}
	}
	return true, c.entry()
}

// entry reads the node that the cursor is at.
func (c *Cursor) entry() error {
	l := &c.path[c.depth-1]
	c.Sub, c.big = false, 0
	if c.leaf2 > 0 {
		at := headSize + l.i*c.leaf2
		c.Key, c.Value, c.Size = l.page[at:at+c.leaf2], nil, 0
		c.n++
		return nil
	}
	p, err := c.node(l.page, l.i, l.n, c.offset(l))
	if err != nil {
		return err
	}
	page := l.page
	c.at = c.offset(l) + int64(p)
	size, flags, key := int(le.Uint32(page[p:])), le.Uint16(page[p+4:]), int(le.Uint16(page[p+6:]))
	at := p + 8 + key
	c.Key, c.Size = page[p+8:at], int64(size)
	if flags&nodeBig != 0 {
		if at+8 > len(page) {
			return c.f.corrupt(l.no, p, "a value lies outside of its page")
		}
		c.big, c.Value = le.Uint64(page[at:]), nil
		c.n++
		return c.overflow()
	}
	if at+size > len(page) {
		return c.f.corrupt(l.no, p, "a value lies outside of its page")
	}
	v := page[at : at+size]
	switch {
	case flags&(nodeDup|nodeSub) == nodeDup|nodeSub:
		if size != recordSize {
			return c.f.corrupt(l.no, p, "a record of %d bytes", size)
		}
		t := record(v, c.offset(l)+int64(at))
		if t.root == noPage {
			return c.f.corrupt(l.no, p, "a key without values")
		}
		c.dup = &Cursor{f: c.f, tree: t, whole: true, seen: c.seen}
		more, err := c.next()
		if err == nil && !more {
			err = c.f.corrupt(l.no, p, "a key without values")
		}
		return err
	case flags&nodeDup != 0:
		if size < headSize {
			return c.f.corrupt(l.no, p, "a page of %d bytes in a node", size)
		}
		lower := int(le.Uint16(v[12:]))
		if lower < headSize+2 || lower > size && le.Uint16(v[10:])&pageLeaf2 == 0 || lower%2 != 0 {
			return c.f.corrupt(l.no, p, "a lower bound of %d in a page of %d bytes", lower, size)
		}
		c.inner, c.innerAt, c.innerN, c.innerOff = v, 0, (lower-headSize)/2, c.offset(l)+int64(at)
		return c.value()
	case flags&nodeSub != 0:
		if size != recordSize {
			return c.f.corrupt(l.no, p, "a record of %d bytes", size)
		}
		c.Sub = true
	}
	c.Value = v
	c.n++
	return nil
}

// value is the next one of a page of values in a node.
func (c *Cursor) value() error {
	i := c.innerAt
	c.innerAt++
	c.n++
	if le.Uint16(c.inner[10:])&pageLeaf2 != 0 {
		w := int(le.Uint16(c.inner[8:]))
		if w == 0 || headSize+(i+1)*w > len(c.inner) {
			return shardify.Corrupt(c.innerOff, "%d values of %d bytes in a page of %d", c.innerN, w, len(c.inner))
		}
		c.Value, c.Size = c.inner[headSize+i*w:headSize+(i+1)*w], int64(w)
		return nil
	}
	p, err := c.node(c.inner, i, c.innerN, c.innerOff)
	if err != nil {
		return err
	}
	c.Value = c.inner[p+8 : p+8+int(le.Uint16(c.inner[p+6:]))]
	c.Size = int64(len(c.Value))
	return nil
}

// overflow checks the first overflow page of the value.
func (c *Cursor) overflow() error {
	f := c.f
	pages := (uint64(c.Size) + headSize + uint64(f.page) - 1) / uint64(f.page)
	if c.big < 2 || c.big > f.last || pages > f.last+1-c.big {
		return shardify.Corrupt(c.at, "a value of %d bytes from page %d on, the file has the pages 2 to %d", c.Size, c.big, f.last)
	}
	if end := int64(c.big)*int64(f.page) + headSize + c.Size; end > f.size {
		return f.corrupt(c.big, 0, "a value of %d bytes ends behind the file", c.Size)
	}
	if c.seen += pages; c.seen > f.last+1 {
		return f.corrupt(c.big, 0, "the pages form a circle, or one is used twice")
	}
	return nil
}

// Append appends the value of the entry to b.
func (c *Cursor) Append(b []byte) ([]byte, error) {
	if c.big == 0 || c.Size <= windowBytes {
		v, err := c.Load()
		return append(b, v...), err
	}
	if _, err := c.head(nil); err != nil {
		return b, err
	}
	n := len(b)
	b = slices.Grow(b, int(c.Size))[:n+int(c.Size)]
	_, err := c.f.r.ReadAt(b[n:], int64(c.big)*int64(c.f.page)+headSize)
	if err == io.EOF {
		err = c.f.corrupt(c.big, 0, "the file ends early")
	}
	return b, err
}

// head checks the head of the value's first overflow page, which is read where b is nil.
func (c *Cursor) head(b []byte) ([]byte, error) {
	if b == nil {
		b = make([]byte, headSize)
		if _, err := c.f.r.ReadAt(b, int64(c.big)*int64(c.f.page)); err != nil {
			return nil, err
		}
	}
	if no, flags := le.Uint64(b), le.Uint16(b[10:]); no != c.big || flags&pageOverflow == 0 {
		return nil, c.f.corrupt(c.big, 0, "it is no overflow page, or calls itself %d", no)
	}
	if n := uint64(le.Uint32(b[12:])); n*uint64(c.f.page) < uint64(c.Size)+headSize {
		return nil, c.f.corrupt(c.big, 12, "%d overflow pages for a value of %d bytes", n, c.Size)
	}
	return b, nil
}

// Load is the value of the entry, which stays until the next call.
func (c *Cursor) Load() ([]byte, error) {
	if c.big == 0 {
		return c.Value, nil
	}
	size := uint64(c.f.page)
	b, err := c.bytes(c.big, (uint64(c.Size)+headSize+size-1)/size)
	if err != nil {
		return nil, err
	}
	if b, err = c.head(b); err != nil {
		return nil, err
	}
	return b[headSize : headSize+c.Size], nil
}

// Place appends where the leaf of the entry is: the number of the node in each branch.
func (c *Cursor) Place(b []int) []int {
	for i := range c.depth - 1 {
		b = append(b, c.path[i].i)
	}
	return b
}

// First reports whether the entry is the first one of a leaf.
func (c *Cursor) First() bool {
	return c.path[c.depth-1].i == 0 && (c.inner == nil || c.innerAt == 1) && (c.dup == nil || c.dup.n == 1)
}

// Seek goes before the first entry of the leaf at a place.
func (c *Cursor) Seek(place []int) error {
	c.whole, c.ended, c.seen, c.depth, c.dup, c.inner, c.err = false, false, 0, 0, nil, nil, nil
	if c.tree.Depth > maxDepth || len(place) != c.tree.Depth-1 {
		return shardify.Corrupt(c.tree.at+6, "a place of %d numbers in a tree of depth %d", len(place), c.tree.Depth)
	}
	no := c.tree.root
	c.at = c.tree.at + 40
	for _, i := range append(place[:len(place):len(place)], -1) {
		if err := c.enter(no, max(i, 0)); err != nil {
			return err
		}
		l := &c.path[c.depth-1]
		if i < 0 {
			l.i = -1
			return nil
		}
		if i >= l.n {
			return c.f.corrupt(no, 12, "%d entries where there were %d", l.n, i+1)
		}
		var err error
		if no, err = c.child(l); err != nil {
			return err
		}
	}
	return nil
}

// Find goes to the entry of a key, in a tree whose keys are in the order of their bytes.
func (c *Cursor) Find(key []byte) (bool, error) {
	c.whole, c.ended, c.seen, c.depth, c.dup, c.inner, c.err = false, false, 0, 0, nil, nil, nil
	if c.tree.Depth < 1 || c.tree.Depth > maxDepth || c.tree.root == noPage {
		return false, nil
	}
	no := c.tree.root
	c.at = c.tree.at + 40
	for {
		if err := c.again(no); err != nil {
			return false, err
		}
		l := &c.path[c.depth-1]
		leaf := c.depth == c.tree.Depth
		if leaf && c.leaf2 > 0 {
			return false, nil
		}
		lo, hi := 0, l.n // the first node whose key is behind
		if !leaf {
			lo = 1 // that of the first node is empty
		}
		for lo < hi {
			mid := int(uint(lo+hi) / 2)
			p, err := c.node(l.page, mid, l.n, c.offset(l))
			if err != nil {
				return false, err
			}
			if at := p + 8; bytes.Compare(l.page[at:at+int(le.Uint16(l.page[p+6:]))], key) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if l.i = lo - 1; l.i < 0 {
			return false, nil
		}
		if leaf {
			break
		}
		var err error
		if no, err = c.child(l); err != nil {
			return false, err
		}
	}
	err := c.entry()
	return err == nil && bytes.Equal(c.Key, key), err
}

// again is enter of a page that may still be there from the last Find.
func (c *Cursor) again(no uint64) error {
	if c.depth < len(c.path) && c.path[c.depth].no == no && c.leaf2 == 0 {
		c.depth++
		return nil
	}
	return c.enter(no, 0)
}
