package sqlite

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/shardify/shardify"
)

// The kinds of pages.
const (
	innerIndex = 2
	innerTable = 5
	leafIndex  = 10
	leafTable  = 13
)

const (
	maxDepth    = 40
	windowBytes = 256 << 10 // most that is read at once
)

// partBytes is about what the leaves of a part have. Tests make it smaller.
var partBytes = 1 << 20

var be = binary.BigEndian

// tree is the b-tree of a table. Cursors that walk through it share it.
type tree struct {
	file   io.ReaderAt
	size   int    // of a page
	usable int    // bytes of a page
	pages  uint32 // in the file
	root   uint32
	index  bool // WITHOUT ROWID: cells of inner pages are rows, too
	// met has a bit for each page that was met while the whole tree is looked at; else nil.
	met []atomic.Uint32
}

func (t *tree) corrupt(n uint32, format string, args ...any) error {
	return shardify.Corrupt((int64(n)-1)*int64(t.size), "page %d: "+format, append([]any{n}, args...)...)
}

// mark notes that a page belongs to the tree, once.
func (t *tree) mark(n uint32) error {
	if t.met == nil {
		return nil
	}
	if bit := uint32(1) << (n % 32); t.met[n/32].Or(bit)&bit != 0 {
		return t.corrupt(n, "used twice")
	}
	return nil
}

// read fills b with pages from n on.
func (t *tree) read(b []byte, n uint32) error {
	if n < 2 || n > t.pages {
		return shardify.Corrupt(-1, "page %d of %d is used", n, t.pages)
	}
	if _, err := t.file.ReadAt(b, (int64(n)-1)*int64(t.size)); err == io.EOF {
		return t.corrupt(n, "the file ends early")
	} else if err != nil {
		return err
	}
	return nil
}

// count is how many cells a page has.
func (t *tree) count(page []byte, n uint32) (int, error) {
	k, at := int(be.Uint16(page[3:])), 8
	if page[0] < leafIndex {
		at = 12
	}
	if at+2*k > t.usable {
		return 0, t.corrupt(n, "claims %d cells", k)
	}
	return k, nil
}

// place is where a cell begins.
func (t *tree) place(page []byte, n uint32, at, k, cells int) (int, error) {
	p := int(be.Uint16(page[at+2*k:]))
	if p < at+2*cells || p > t.usable-4 {
		return 0, t.corrupt(n, "a cell at %d", p)
	}
	return p, nil
}

// balance adds up what a page says of its bytes, while the whole tree is looked at: from where the
// cells begin there are cells, a chain of free blocks, and as many more bytes as byte 7 of the head
// says. A page that claims fewer cells than it has does not come out even. SQLite's integrity_check
// wants the same of each page.
func (t *tree) balance(page []byte, n uint32) error {
	if t.met == nil {
		return nil
	}
	cells, err := t.count(page, n)
	if err != nil {
		return err
	}
	at := 8
	if page[0] < leafIndex {
		at = 12
	}
	first := int(be.Uint16(page[5:]))
	if first == 0 {
		first = 1 << 16
	}
	if first < at+2*cells || first > t.usable {
		return t.corrupt(n, "cells from byte %d on", first)
	}
	used := int(page[7])
	for p := int(be.Uint16(page[1:])); p > 0; {
		if p < first || p > t.usable-4 {
			return t.corrupt(n, "a free block at %d", p)
		}
		next, size := int(be.Uint16(page[p:])), int(be.Uint16(page[p+2:]))
		if next > 0 && next <= p+size {
			return t.corrupt(n, "a free block at %d that is not behind the one at %d", next, p)
		}
		used += size
		p = next
	}
	for k := range cells {
		p, err := t.place(page, n, at, k, cells)
		if err != nil {
			return err
		}
		var x stored
		if b := page[p:t.usable]; page[0] == innerTable {
			_, x.end = varint(b[4:])
			x.end += 4
		} else if page[0] == innerIndex {
			x, err = t.stored(b[4:], n)
			x.end += 4
		} else {
			x, err = t.stored(b, n)
		}
		if err != nil {
			return err
		}
		used += max(x.end, 4)
	}
	if used != t.usable-first {
		return t.corrupt(n, "%d cells and free blocks of %d bytes in %d", cells, used, t.usable-first)
	}
	return nil
}

// inner is an inner page on the way to a leaf.
type inner struct {
	page   []byte
	number uint32
	cells  int
	at     int  // the child below: that of cell at, or the last one
	given  bool // its own row behind that child was given
}

// load makes an inner page the current one.
func (t *tree) load(x *inner, n uint32) (err error) {
	x.page = slices.Grow(x.page[:0], t.size)[:t.size]
	x.number, x.at, x.given = n, 0, false
	if err = t.read(x.page, n); err != nil {
		return err
	}
	if kind := x.page[0]; kind != innerTable && !t.index || kind != innerIndex && t.index {
		return t.corrupt(n, "is of kind %d in the middle of the tree", kind)
	}
	x.cells, err = t.count(x.page, n)
	return err
}

// child is the page below.
func (t *tree) child(x *inner) (uint32, error) {
	if x.at == x.cells {
		return be.Uint32(x.page[8:]), nil
	}
	p, err := t.place(x.page, x.number, 12, x.at, x.cells)
	if err != nil {
		return 0, err
	}
	return be.Uint32(x.page[p:]), nil
}

// depth is how many inner pages are above each leaf.
func (t *tree) depth() (int, error) {
	var x inner
	for d, n := 0, t.root; d <= maxDepth; d++ {
		var kind [1]byte
		err := t.read(kind[:], n)
		if err == nil && (kind[0] == leafTable || kind[0] == leafIndex) {
			return d, nil
		}
		if err == nil {
			err = t.load(&x, n)
		}
		if err == nil {
			n, err = t.child(&x)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, t.corrupt(t.root, "a tree of more than %d levels", maxDepth)
}

// parts cuts the tree into runs of leaves. It reads the inner pages.
func (t *tree) parts() ([]part, error) {
	depth, err := t.depth()
	if err != nil {
		return nil, err
	}
	var all []part
	var leaves int
	per := max(partBytes/t.size, 1)
	path := make([]uint32, 0, depth)
	levels := make([]inner, depth)
	var walk func(n uint32) error
	walk = func(n uint32) error {
		if len(path) == depth {
			if leaves%per == 0 {
				all = append(all, part{path: slices.Clone(path)})
			}
			leaves++
			all[len(all)-1].leaves++
			return nil
		}
		x := &levels[len(path)]
		if err := t.load(x, n); err != nil {
			return err
		}
		if err := t.mark(n); err != nil {
			return err
		}
		if err := t.balance(x.page, n); err != nil {
			return err
		}
		for ; x.at <= x.cells; x.at++ {
			n, err := t.child(x)
			if err != nil {
				return err
			}
			path = append(path, uint32(x.at))
			if err := walk(n); err != nil {
				return err
			}
			path = path[:len(path)-1]
		}
		return nil
	}
	return all, walk(t.root)
}

// part is the rows from a leaf on, up to the next part.
type part struct {
	path []uint32 // down to the leaf: which child of each inner page
	rows int64

	// While the tree is looked at:
	leaves int
	lo, hi int64 // rowids
	seen   []seen
}

// local is how many of n bytes of a row are in its page; the others are in a chain of pages.
func (t *tree) local(n int64) int {
	most, least := t.usable-35, int64((t.usable-12)*32/255-23)
	if t.index {
		most = (t.usable-12)*64/255 - 23
	}
	if n <= int64(most) {
		return int(n)
	}
	if k := int(least + (n-least)%int64(t.usable-4)); k <= most {
		return k
	}
	return int(least)
}

// window is pages that were read at once.
type window struct {
	first uint32
	count uint32
	ahead uint32 // how many to read next
	b     []byte
}

// page is a page, until the next call.
func (w *window) page(t *tree, n uint32) ([]byte, error) {
	if n-w.first >= w.count {
		most := uint32(max(windowBytes/t.size, 1))
		if w.count > 0 && n-w.first < w.count+8 { // in order, except for pages of other kinds
			w.ahead = min(2*w.ahead, most)
		} else {
			w.ahead = min(4, most)
		}
		w.first, w.count = n, 0
		if n > t.pages {
			return nil, shardify.Corrupt(-1, "page %d of %d is used", n, t.pages)
		}
		count := min(w.ahead, t.pages-n+1)
		w.b = slices.Grow(w.b[:0], int(count)*t.size)[:int(count)*t.size]
		if err := t.read(w.b, n); err != nil {
			return nil, err
		}
		w.count = count
	}
	at := int(n-w.first) * t.size
	return w.b[at : at+t.size], nil
}

// cursor walks through the rows of a tree.
type cursor struct {
	*tree
	levels []inner
	more   int // leaves to go to; less than 0 for all
	leaves window
	spills window

	page   []byte // the current leaf
	number uint32
	cells  int
	at     int

	rowid  int64
	row    []byte // the bytes of the current row, or the first of them
	bytes  int64  // of all of it
	over   uint32 // the page where the others begin; 0 if these are all
	first  bool   // no row was met yet
	whole  []byte
	cols   []value
	have   int  // columns that the row has, in cols
	beyond bool // the current row has more values than cols has room for
}

// held is the bytes that the cursor takes.
func (c *cursor) held() int64 {
	n := cap(c.leaves.b) + cap(c.spills.b) + cap(c.whole) + 16*cap(c.cols)
	for i := range c.levels {
		n += cap(c.levels[i].page)
	}
	return int64(n)
}

// seek puts the cursor before the first row of a part. It ends behind so many leaves; 0 is all.
func (c *cursor) seek(path []uint32, leaves int) error {
	c.more, c.first = leaves-1, true
	c.levels = slices.Grow(c.levels[:0], len(path))[:len(path)]
	n := c.root
	for i, k := range path {
		x := &c.levels[i]
		if err := c.load(x, n); err != nil {
			return err
		}
		if int64(k) > int64(x.cells) {
			return errState
		}
		x.at = int(k)
		var err error
		if n, err = c.child(x); err != nil {
			return err
		}
	}
	return c.enter(n)
}

// enter makes a leaf the current one.
func (c *cursor) enter(n uint32) (err error) {
	if c.page, err = c.leaves.page(c.tree, n); err != nil {
		return err
	}
	if err := c.mark(n); err != nil {
		return err
	}
	if kind := c.page[0]; kind != leafTable && !c.index || kind != leafIndex && c.index {
		return c.corrupt(n, "is of kind %d, want a leaf", kind)
	}
	c.number, c.at = n, 0
	if c.cells, err = c.count(c.page, n); err == nil && c.cells == 0 && n != c.root {
		err = c.corrupt(n, "a leaf without rows, which is not the only page")
	}
	if err == nil {
		err = c.balance(c.page, n)
	}
	return err
}

// next goes to the next row; false at the end.
func (c *cursor) next() (bool, error) {
	for c.at == c.cells {
		k := len(c.levels) - 1
		for k >= 0 && c.levels[k].at == c.levels[k].cells {
			k--
		}
		if k < 0 {
			return false, nil
		}
		x := &c.levels[k]
		if c.index && !x.given {
			x.given = true
			p, err := c.place(x.page, x.number, 12, x.at, x.cells)
			if err != nil {
				return false, err
			}
			return true, c.find(x.page[p+4:c.usable], x.number)
		}
		x.at, x.given = x.at+1, false
		for {
			n, err := c.child(x)
			if err != nil {
				return false, err
			}
			if k++; k == len(c.levels) {
				if c.more == 0 {
					return false, nil
				}
				c.more--
				if err := c.enter(n); err != nil {
					return false, err
				}
				break
			}
			x = &c.levels[k]
			if err := c.load(x, n); err != nil {
				return false, err
			}
		}
	}
	p, err := c.place(c.page, c.number, 8, c.at, c.cells)
	if err != nil {
		return false, err
	}
	c.at++
	return true, c.find(c.page[p:c.usable], c.number)
}

// varint reads a number of at most 9 bytes; n is how many it has, 0 if b ends in it.
func varint(b []byte) (v uint64, n int) {
	for i, x := range b {
		if i == 8 {
			return v<<8 | uint64(x), 9
		}
		if v = v<<7 | uint64(x&0x7f); x < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// stored is a row in a page, from its number of bytes on.
type stored struct {
	bytes int64 // of all of the row
	rowid int64
	at    int // where the bytes begin that are in the page
	local int // how many they are
	end   int // of the cell: behind them there may be the number of the page with the others
}

// stored reads the head of a cell.
func (t *tree) stored(b []byte, n uint32) (x stored, err error) {
	size, k := varint(b)
	if k == 0 || size > min(uint64(t.pages)*uint64(t.size), math.MaxInt32) {
		return x, t.corrupt(n, "a row of %d bytes", size)
	}
	x.bytes, x.at = int64(size), k
	if !t.index {
		id, k := varint(b[x.at:])
		if k == 0 {
			return x, t.corrupt(n, "a row without its rowid")
		}
		x.rowid, x.at = int64(id), x.at+k
	}
	x.local = t.local(x.bytes)
	if x.end = x.at + x.local; int64(x.local) < x.bytes {
		x.end += 4
	}
	if x.end > len(b) {
		return x, t.corrupt(n, "a row of %d bytes that is not there", size)
	}
	return x, nil
}

// find takes in the row of a cell of a page.
func (c *cursor) find(b []byte, n uint32) error {
	x, err := c.stored(b, n)
	if err != nil {
		return err
	}
	if !c.index {
		if !c.first && x.rowid <= c.rowid {
			return c.corrupt(n, "rowids that do not rise")
		}
		c.rowid, c.first = x.rowid, false
	}
	c.bytes, c.over, c.row = x.bytes, 0, b[x.at:x.at+x.local]
	if int64(x.local) < x.bytes {
		if c.over = be.Uint32(b[x.end-4:]); c.over == 0 {
			return c.corrupt(n, "a row without its further pages")
		}
	}
	return nil
}

// fetch makes row all of the row.
func (c *cursor) fetch() error {
	if c.over == 0 {
		return nil
	}
	c.whole = append(slices.Grow(c.whole[:0], int(min(c.bytes, windowBytes))), c.row...) // the size is a claim
	at := c.over
	for left := int(c.bytes) - len(c.whole); left > 0; left = int(c.bytes) - len(c.whole) {
		if at == 0 {
			return c.corrupt(c.number, "the further pages of a row end early")
		}
		p, err := c.spills.page(c.tree, at)
		if err != nil {
			return err
		}
		if err := c.mark(at); err != nil {
			return err
		}
		c.whole = append(c.whole, p[4:4+min(left, c.usable-4)]...)
		at = be.Uint32(p)
	}
	if at != 0 {
		return c.corrupt(c.number, "a row has more pages than bytes")
	}
	c.row, c.over = c.whole, 0
	return nil
}
