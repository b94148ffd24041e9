package btree

import (
	"bytes"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
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
type v2 struct {
	f          *meta.File
	Kind       uint8
	nodeSize   int64
	RecordSize int
	depth      int
	root       int64
	rootCount  int
	Total      int64

	n1     int      // bytes of a record count
	n2     []int    // bytes of a subtree count, by level
	most   []uint64 // records of a node, by level
	walked int64
}

// The types of records that are read.
const (
	RecHuge         = 1 // a huge object of a fractal heap
	RecHugeFiltered = 2
	RecLink         = 5 // by the hash of its name
	RecAttribute    = 8
	RecChunk        = 10
	RecChunkFilters = 11 // a chunk that filters were applied to
)

const maxTreeDepth = 64

// OpenV2 reads the header of a B-tree of version 2, which must be of one of the kinds.
func OpenV2(f *meta.File, addr int64, kinds []uint8) (*v2, error) {
	b, err := f.View(addr, int64(22+f.OffsetSize+f.LengthSize), "v2 B-tree header")
	if err != nil {
		return nil, err
	}
	d := f.Decode(b, addr, "v2 B-tree header")
	if err := d.Magic("BTHD"); err != nil {
		return nil, err
	}
	if err := d.Version(0); err != nil {
		return nil, err
	}
	t := &v2{f: f, Kind: d.U8()}
	t.nodeSize, t.RecordSize, t.depth = int64(d.U32()), int(d.U16()), int(d.U16())
	d.Skip(2)
	t.root, t.rootCount, t.Total = d.Addr(), int(d.U16()), d.Size()
	if err := d.Checksum(); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, t.Kind) {
		return nil, d.Corrupt("records of type %d, expected %v", t.Kind, kinds)
	}
	if t.RecordSize == 0 || t.nodeSize < int64(10+t.RecordSize) || t.depth > maxTreeDepth {
		return nil, d.Corrupt("nodes of %d bytes, records of %d, depth %d", t.nodeSize, t.RecordSize, t.depth)
	}
	if t.Total > f.Size()/int64(t.RecordSize) {
		return nil, d.Corrupt("%d records of %d bytes in a file of %d", t.Total, t.RecordSize, f.Size())
	}
	return t, t.geometry(&d)
}

// geometry computes how many records fit a node of each level, and with it the
// widths of the counts.
func (t *v2) geometry(d *meta.Decoder) error {
	t.most = []uint64{uint64(t.nodeSize-10) / uint64(t.RecordSize)}
	t.n1 = meta.Width(t.most[0])
	t.n2 = []int{0}
	total := t.most[0]
	for l := 1; l <= t.depth; l++ {
		p := int64(t.f.OffsetSize + t.n1 + t.n2[l-1])
		room := t.nodeSize - 10 - p
		if room < int64(t.RecordSize)+p {
			return d.Corrupt("nodes of %d bytes hold no inner records", t.nodeSize)
		}
		most := uint64(room) / uint64(int64(t.RecordSize)+p)
		t.most = append(t.most, most)
		if total < 1<<62/(most+1) { // saturates: the file holds fewer anyway
			total = (most+1)*total + most
		}
		t.n2 = append(t.n2, meta.Width(total))
	}
	return nil
}

// WalkV2 calls fn for each record in order; the record is valid inside fn.
func WalkV2(f *meta.File, addr int64, kinds []uint8, fn func(kind uint8, rec []byte) error) error {
	t, err := OpenV2(f, addr, kinds)
	if err != nil {
		return err
	}
	return t.Walk(fn)
}

func (t *v2) Walk(fn func(kind uint8, rec []byte) error) error {
	if t.root == meta.Undefined || t.Total == 0 {
		return nil
	}
	if err := t.node(t.root, t.rootCount, t.depth, fn); err != nil {
		return err
	}
	if t.walked != t.Total {
		d := t.f.Decode(nil, t.root, "v2 B-tree")
		return d.Corrupt("%d records, the header says %d", t.walked, t.Total)
	}
	return nil
}

func (t *v2) node(addr int64, n, level int, fn func(kind uint8, rec []byte) error) error {
	size, magic, what := 6+n*t.RecordSize, "BTLF", "v2 B-tree leaf"
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
		d := t.f.Decode(nil, addr, what)
		return d.Corrupt("%d records, at most %d", n, t.most[level])
	}
	b, err := t.f.View(addr, int64(size+4), what)
	if err != nil {
		return err
	}
	d := t.f.Decode(b, addr, what)
	if !bytes.HasPrefix(b, []byte(magic)) || b[5] != t.Kind || b[4] != 0 {
		return d.Corrupt("starts with % x", b[:6])
	}
	d.Skip(size)
	if err := d.Checksum(); err != nil {
		return err
	}
	// Records are counted before they are visited: a node that several parents
	// share, or that is its own child, soon exceeds the total.
	if t.walked += int64(n); t.walked > t.Total {
		return d.Corrupt("more records than the %d of the header", t.Total)
	}
	recs := b[6 : 6+n*t.RecordSize]
	kids := t.f.Decode(b[6+n*t.RecordSize:size], addr, what)
	for i := 0; ; i++ {
		if level > 0 {
			a, count := kids.Addr(), kids.Uint(t.n1)
			kids.Skip(child - t.f.OffsetSize - t.n1)
			if err := t.node(a, int(min(count, 1<<31)), level-1, fn); err != nil {
				return err
			}
		}
		if i == n {
			return nil
		}
		if err := fn(t.Kind, recs[i*t.RecordSize:(i+1)*t.RecordSize]); err != nil {
			return err
		}
	}
}
