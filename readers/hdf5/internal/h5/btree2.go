package h5

import (
	"bytes"
	"slices"
)

// Version 2 B-trees:
//
//	header "BTHD", u8 0, u8 type, u32 node size N, u16 record size R, u16 depth, u8 split, u8 merge,
//	       O root, u16 records in root, L records, u32 lookup3
//	leaf   "BTLF", u8 0, u8 type, records, u32 lookup3
//	inner  "BTIN", u8 0, u8 type, n records, n + 1 children, u32 lookup3
//	child  O address, n1 bytes: its records, [if it is no leaf: n2 bytes: records of its subtree]
//
// The checksum follows the last byte in use, not the end of the node.
type btree2 struct {
	f          *MetaFile
	kind       uint8
	nodeSize   int64
	recordSize int
	depth      int
	root       int64
	rootCount  int
	total      int64

	n1     int      // bytes of a record count
	n2     []int    // bytes of a subtree count, by level
	most   []uint64 // records of a node, by level
	walked int64
}

// The types of records that are read.
const (
	recHuge         = 1 // a huge object of a fractal heap
	recHugeFiltered = 2
	RecLink         = 5 // by the hash of its name
	RecAttribute    = 8
	RecChunk        = 10
	RecChunkFilters = 11 // a chunk that filters were applied to
)

const maxTreeDepth = 64

func (f *MetaFile) openBTree2(addr int64, kinds []uint8) (*btree2, error) {
	b, err := f.view(addr, int64(22+f.OffsetSize+f.LengthSize), "v2 B-tree header")
	if err != nil {
		return nil, err
	}
	d := f.decode(b, addr, "v2 B-tree header")
	if err := d.magic("BTHD"); err != nil {
		return nil, err
	}
	if err := d.version(0); err != nil {
		return nil, err
	}
	t := &btree2{f: f, kind: d.u8()}
	t.nodeSize, t.recordSize, t.depth = int64(d.u32()), int(d.u16()), int(d.u16())
	d.skip(2)
	t.root, t.rootCount, t.total = d.addr(), int(d.u16()), d.size()
	if err := d.checksum(); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, t.kind) {
		return nil, d.corrupt("records of type %d, expected %v", t.kind, kinds)
	}
	if t.recordSize == 0 || t.nodeSize < int64(10+t.recordSize) || t.depth > maxTreeDepth {
		return nil, d.corrupt("nodes of %d bytes, records of %d, depth %d", t.nodeSize, t.recordSize, t.depth)
	}
	if t.total > f.Size()/int64(t.recordSize) {
		return nil, d.corrupt("%d records of %d bytes in a file of %d", t.total, t.recordSize, f.Size())
	}
	return t, t.geometry(&d)
}

// geometry computes how many records fit a node of each level, and with it the
// widths of the counts.
func (t *btree2) geometry(d *decoder) error {
	t.most = []uint64{uint64(t.nodeSize-10) / uint64(t.recordSize)}
	t.n1 = enc(t.most[0])
	t.n2 = []int{0}
	total := t.most[0]
	for l := 1; l <= t.depth; l++ {
		p := int64(t.f.OffsetSize + t.n1 + t.n2[l-1])
		room := t.nodeSize - 10 - p
		if room < int64(t.recordSize)+p {
			return d.corrupt("nodes of %d bytes hold no inner records", t.nodeSize)
		}
		most := uint64(room) / uint64(int64(t.recordSize)+p)
		t.most = append(t.most, most)
		if total < 1<<62/(most+1) { // saturates: the file holds fewer anyway
			total = (most+1)*total + most
		}
		t.n2 = append(t.n2, enc(total))
	}
	return nil
}

// walkBTree2 calls fn for each record in order; the record is valid inside fn.
func (f *MetaFile) walkBTree2(addr int64, kinds []uint8, fn func(kind uint8, rec []byte) error) error {
	t, err := f.openBTree2(addr, kinds)
	if err != nil {
		return err
	}
	return t.walk(fn)
}

func (t *btree2) walk(fn func(kind uint8, rec []byte) error) error {
	if t.root == Undefined || t.total == 0 {
		return nil
	}
	if err := t.node(t.root, t.rootCount, t.depth, fn); err != nil {
		return err
	}
	if t.walked != t.total {
		d := t.f.decode(nil, t.root, "v2 B-tree")
		return d.corrupt("%d records, the header says %d", t.walked, t.total)
	}
	return nil
}

func (t *btree2) node(addr int64, n, level int, fn func(kind uint8, rec []byte) error) error {
	size, magic, what := 6+n*t.recordSize, "BTLF", "v2 B-tree leaf"
	child := 0
	if level > 0 {
		magic, what = "BTIN", "v2 B-tree inner node"
		child = t.f.OffsetSize + t.n1
		if level > 1 {
			child += t.n2[level-1]
		}
		size += (n + 1) * child
	}
	if uint64(n) > t.most[level] {
		d := t.f.decode(nil, addr, what)
		return d.corrupt("%d records, at most %d", n, t.most[level])
	}
	b, err := t.f.view(addr, int64(size+4), what)
	if err != nil {
		return err
	}
	d := t.f.decode(b, addr, what)
	if !bytes.HasPrefix(b, []byte(magic)) || b[5] != t.kind || b[4] != 0 {
		return d.corrupt("starts with % x", b[:6])
	}
	d.skip(size)
	if err := d.checksum(); err != nil {
		return err
	}
	// Records are counted before they are visited: a node that several parents
	// share, or that is its own child, soon exceeds the total.
	if t.walked += int64(n); t.walked > t.total {
		return d.corrupt("more records than the %d of the header", t.total)
	}
	recs := b[6 : 6+n*t.recordSize]
	kids := t.f.decode(b[6+n*t.recordSize:size], addr, what)
	for i := 0; ; i++ {
		if level > 0 {
			a, count := kids.addr(), kids.uint(t.n1)
			kids.skip(child - t.f.OffsetSize - t.n1)
			if err := t.node(a, int(min(count, 1<<31)), level-1, fn); err != nil {
				return err
			}
		}
		if i == n {
			return nil
		}
		if err := fn(t.kind, recs[i*t.recordSize:(i+1)*t.recordSize]); err != nil {
			return err
		}
	}
}
