package btree

import (
	"encoding/binary"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Version 1 B-trees: "TREE", u8 type (0 group, 1 chunks), u8 level (0 leaf), u16
// entries, O left, O right, then key, child, key, child, ..., key. There is no
// checksum.
//
// They are read level by level, the nodes of one level in the order of their
// addresses, neighbours in one read: what they find is sorted or numbered
// afterwards, and a node that is reached twice meets itself.

// What the leaves of a tree of version 1 lead to.
const (
	Groups = 0
	Chunks = 1
)

// Nodes whose distance is smaller are read together, up to treeRun bytes.
const (
	treeGap = 32 << 10
	treeRun = 1 << 20
)

type v1 struct {
	f        *meta.File
	kind     uint8
	KeySize  int
	MaxCount int // entries of a node
	nodeSize int64
	entries  int64 // met so far
	root     int64
}

// NewV1 is a B-tree of version 1 whose root is not known yet.
func NewV1(f *meta.File, kind uint8, keySize, k int) *v1 {
	t := &v1{f: f, kind: kind, KeySize: keySize, MaxCount: 2 * k}
	t.nodeSize = int64(8+2*f.OffsetSize) + int64(t.MaxCount)*int64(keySize+f.OffsetSize) + int64(keySize)
	return t
}

// node is the content of one node: count entries of key and child.
type Node struct {
	Addr  int64
	Count int
	b     []byte // entries; of groups, the key behind them
	step  int
}

// Cleared reports whether an empty node of groups has no bytes of an entry either. Without it,
// Entry has what is in place of the first.
func (n *Node) Cleared() bool { return len(n.b) == 0 || slices.Max(n.b) == 0 }

func (n *Node) Entry(i int) []byte { return n.b[i*n.step:] }

// parse checks a node of a known level. b may have been cut at the end of the
// file.
func (t *v1) parse(addr int64, b []byte, level int) (Node, error) {
	d := t.f.Decode(b, addr, "B-tree node")
	if err := d.Magic("TREE"); err != nil {
		return Node{}, err
	}
	kind, lvl, n := d.U8(), int(d.U8()), int(d.U16())
	left, right := t.f.Offset(d.Bytes(t.f.OffsetSize)), t.f.Offset(d.Bytes(t.f.OffsetSize))
	if err := d.Err(); err != nil {
		return Node{}, err
	}
	if addr == t.root && (left != meta.Undefined || right != meta.Undefined) {
		return Node{}, d.CorruptAt(8, "a root with the siblings %d and %d", left, right)
	}
	if kind != t.kind || lvl != level {
		return Node{}, d.CorruptAt(4, "type %d level %d, expected type %d level %d", kind, lvl, t.kind, level)
	}
	if n > t.MaxCount {
		return Node{}, d.CorruptAt(6, "%d entries, at most %d", n, t.MaxCount)
	}
	if n == 0 && level > 0 { // the library makes an empty root a leaf
		return Node{}, d.CorruptAt(6, "no entries at level %d", level)
	}
	step := t.KeySize + t.f.OffsetSize
	// Nodes that overlap could be visited for ever.
	if t.entries += int64(n); t.entries > t.f.Size()/int64(step) {
		return Node{}, d.CorruptAt(6, "more than %d entries in the tree", t.f.Size()/int64(step))
	}
	size := n * step
	if t.kind == Groups && n > 0 {
		size += t.KeySize // behind the last child
	} else if t.kind == Groups && d.Rest() >= step+t.KeySize {
		size = step + t.KeySize
	}
	if t.kind == Chunks && n == 0 && d.Rest() >= step && t.chunk(d.Bytes(step)) { // a library leaves nothing of the last one that it removes
		return Node{}, d.CorruptAt(6, "no entries, and a chunk where the first would be")
	}
	body := d.Bytes(size)
	return Node{addr, n, body, step}, d.Err()
}

// chunk reports whether an entry is of a chunk in the file.
func (t *v1) chunk(entry []byte) bool {
	size, addr := int64(binary.LittleEndian.Uint32(entry)), t.f.Offset(entry[t.KeySize:][:t.f.OffsetSize])
	return size > 0 && addr > 0 && addr <= t.f.Size()-size
}

// rootLevel reads the level of the root.
func (t *v1) rootLevel(root int64) (int, error) {
	b, err := t.f.View(root, 8, "B-tree node")
	if err != nil {
		return 0, err
	}
	return int(b[5]), nil
}

// Leaves returns the addresses of all leaf nodes, sorted. Damaged inner nodes are
// reported to bad, which decides by its result whether the walk continues.
func (t *v1) Leaves(root int64, bad func(error) error) ([]int64, error) {
	t.root = root
	level, err := t.rootLevel(root)
	if err != nil {
		return nil, bad(err)
	}
	addrs := []int64{root}
	for ; level > 0 && len(addrs) > 0; level-- {
		var next []int64
		err := t.Each(addrs, level, func(n *Node) error {
			for i := range n.Count {
				child := t.f.Offset(n.Entry(i)[t.KeySize : t.KeySize+t.f.OffsetSize])
				next = append(next, child)
			}
			return nil
		}, bad)
		if err != nil {
			return nil, err
		}
		slices.Sort(next)
		for i := 1; i < len(next); i++ {
			if next[i] == next[i-1] {
				return nil, shardify.Corrupt(next[i], "B-tree node is reached twice")
			}
		}
		addrs = next
	}
	return addrs, nil
}

// Each reads the nodes at sorted addresses. Damage goes to bad, and the walk goes
// on if that returns nil; what fn returns ends it. The node is valid inside fn.
func (t *v1) Each(addrs []int64, level int, fn func(n *Node) error, bad func(error) error) error {
	return runs(t.f, addrs, t.nodeSize, "B-tree node", func(addr int64, b []byte, err error) error {
		var n Node
		if err == nil {
			n, err = t.parse(addr, b, level)
		}
		if err != nil {
			return bad(err)
		}
		return fn(&n)
	})
}

// runs reads pieces of size bytes at sorted addresses, those close to each other
// at once, and calls fn for each, the bytes cut at the end of the file. They are
// valid inside fn.
func runs(f *meta.File, addrs []int64, size int64, what string, fn func(addr int64, b []byte, err error) error) error {
	var buf []byte
	for len(addrs) > 0 {
		lo := addrs[0]
		if err := f.Within(lo, 1, what); err != nil || size > treeRun {
			var b []byte
			if err == nil {
				b, err = f.ViewUpTo(lo, size, what)
			}
			if err := fn(lo, b, err); err != nil {
				return err
			}
			addrs = addrs[1:]
			continue
		}
		n, hi := 1, lo+size
		for n < len(addrs) && addrs[n] < f.Size() && addrs[n]-hi < treeGap && addrs[n]+size-lo <= treeRun {
			hi = addrs[n] + size
			n++
		}
		hi = min(hi, f.Size())
		if hi > f.EOF {
			f.Within(lo, hi-lo, what)
		}
		if int64(cap(buf)) < hi-lo {
			buf = make([]byte, min(max(hi-lo, 2*int64(cap(buf))), treeRun))
		}
		run := buf[:hi-lo]
		err := f.ReadAt(run, lo)
		for _, a := range addrs[:n] {
			if err := fn(a, run[a-lo:min(a-lo+size, hi-lo)], err); err != nil {
				return err
			}
		}
		addrs = addrs[n:]
	}
	return nil
}
