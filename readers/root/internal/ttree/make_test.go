package ttree

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// out writes big-endian values. Positions count from the start of the key.
type out struct {
	b       []byte
	classes map[string]int
}

func (o *out) u8(v ...uint8) { o.b = append(o.b, v...) }
func (o *out) i16(v int)     { o.b = binary.BigEndian.AppendUint16(o.b, uint16(v)) }
func (o *out) i32(v ...int) {
	for _, x := range v {
		o.b = binary.BigEndian.AppendUint32(o.b, uint32(x))
	}
}
func (o *out) i64(v ...int64) {
	for _, x := range v {
		o.b = binary.BigEndian.AppendUint64(o.b, uint64(x))
	}
}
func (o *out) str(s string) { o.b = append(append(o.b, byte(len(s))), s...) }
func (o *out) named(n, t string) {
	o.frame(1, func() { o.i16(1); o.i32(0, 0); o.str(n); o.str(t) })
}

// frame writes a byte count, a version and a body.
func (o *out) frame(version int, body func()) {
	at := len(o.b)
	o.i32(0)
	o.i16(version)
	body()
	binary.BigEndian.PutUint32(o.b[at:], uint32(len(o.b)-at-4)|0x40000000)
}

// object writes a slot with a new object and returns the position that references
// to it name.
func (o *out) object(class string, body func()) int {
	at := len(o.b)
	o.i32(0)
	if pos, ok := o.classes[class]; ok {
		o.i32(int(uint32(pos) | 0x80000000))
	} else {
		o.classes[class] = len(o.b) + 2
		o.i32(-1)
		o.b = append(append(o.b, class...), 0)
	}
	body()
	binary.BigEndian.PutUint32(o.b[at:], uint32(len(o.b)-at-4)|0x40000000)
	return at + 2
}

func (o *out) array(n int, item func(i int)) {
	o.frame(3, func() {
		o.i16(1)
		o.i32(0, 0)
		o.str("")
		o.i32(n, 0)
		for i := range n {
			item(i)
		}
	})
}

// branch says what to write as a TBranch.
type branch struct {
	name    string
	version int          // 8 or 12, the default
	wide    bool         // version 8 with 8-byte places of baskets
	leaf    func(o *out) // one slot
	write   int          // fWriteBasket
	end     int64        // fEntryNumber
	entries int64        // fEntries; 0: whatever the others say
	bytes   []int        // tables; all of the same length
	first   []int64
	seek    []int64
	baskets func(o *out, i int) // a slot for each i; nil: no slots
	file    string
	after   func(o *out) // inside the frame, where nothing belongs
}

func (o *out) branch(b branch) int {
	if b.version == 0 {
		b.version = 12
	}
	old := b.version < 10
	return o.object("TBranch", func() {
		o.frame(b.version, func() {
			o.named(b.name, b.name+" title")
			o.frame(1, func() { o.i32(0) }) // TAttFill
			o.i32(101, 32000, 0, b.write)
			if old {
				o.i32(int(b.end))
			} else {
				o.i64(b.end)
			}
			o.i32(0, len(b.bytes), 0)
			o.i64(b.entries, 0, 0) // fEntries, and the bytes, or all three as zero in floating point
			if !old {
				o.i64(0) // fFirstEntry is the second
			}
			o.array(0, nil)
			o.array(1, func(int) { b.leaf(o) })
			n := 0
			if b.baskets != nil {
				n = len(b.bytes)
			}
			o.array(n, func(i int) { b.baskets(o, i) })
			o.u8(1)
			o.i32(b.bytes...)
			o.u8(1)
			o.ints(old, b.first)
			o.u8(1)
			if b.wide {
				o.b[len(o.b)-1] = 2
			}
			o.ints(old && !b.wide, b.seek)
			o.str(b.file)
			if b.after != nil {
				b.after(o)
			}
		})
	})
}

func (o *out) ints(short bool, v []int64) {
	for _, x := range v {
		if short {
			o.i32(int(x))
		} else {
			o.i64(x)
		}
	}
}

// leaf writes a TLeafI and returns its position. count is the position of its
// counter, or 0.
func (o *out) leaf(name string, count int) int {
	return o.object("TLeafI", func() {
		o.frame(1, func() {
			o.frame(2, func() {
				o.named(name, name)
				o.i32(1, 4, 0)
				o.u8(0, 0)
				o.i32(count)
			})
			o.i32(0, 0)
		})
	})
}

// tree writes a TTree of version 16 with what branches writes in its list of n.
func (o *out) tree(entries int64, n int, branches func(i int)) {
	o.treeWith(entries, n, branches, nil, nil)
}

// treeWith writes further slots too.
func (o *out) treeWith(entries int64, n int, branches func(i int), aliases, friends func()) {
	o.frame(16, func() {
		o.named("t", "")
		for range 3 {
			o.frame(1, func() { o.i16(0) })
		}
		o.i64(entries, 0, 0, 0, 0)
		o.i32(0, 0, 0)
		o.i64(0, 0, 0, 0, 0)
		o.array(n, branches)
		o.array(0, nil)
		if aliases != nil {
			aliases()
		} else {
			o.i32(0)
		}
		o.i32(0, 0, 0) // fIndexValues, fIndex, fTreeIndex
		if friends != nil {
			friends()
		} else {
			o.i32(0)
		}
		o.i32(0, 0)
	})
}

// list writes a slot with a TList.
func (o *out) list(n int, item func(i int)) {
	o.object("TList", func() {
		o.frame(5, func() {
			o.i16(1)
			o.i32(0, 0)
			o.str("")
			o.i32(n)
			for i := range n {
				item(i)
				o.str("option")
			}
		})
	})
}

// basketKey writes the key and head of a basket; nbytes and objlen may be 0.
func basketKey(o *out, nbytes, objLen, nevBuf, entries, last, flag int) (keyLen int) {
	const size = 34 + 8 + 2 + 2 + 19
	o.i32(nbytes)
	o.i16(1004)
	o.i32(objLen, 0)
	o.i16(size)
	o.i16(0)
	o.i64(0, 0)
	o.str("TBasket")
	o.str("b")
	o.str("t")
	o.i16(3)
	o.i32(32000, nevBuf, entries, last)
	o.u8(uint8(flag))
	return size
}

// maker puts records into a file.
type maker struct {
	out
	keys [][]byte
}

const rootDir = 100 + 26 + 6 + 2 + 2 + 4 // of the record of the root directory

func newMaker() *maker {
	m := &maker{}
	m.b = make([]byte, rootDir+60)
	copy(m.b, "root")
	return m
}

// key is the image of a key for a record at seek.
func key(nbytes, objLen, seek int, class, name string) []byte {
	var k out
	k.i32(nbytes)
	k.i16(4)
	k.i32(objLen, 0)
	k.i16(26 + 3 + len(class) + len(name))
	k.i16(1)
	k.i32(seek, 100)
	k.str(class)
	k.str(name)
	k.str("")
	return k.b
}

// add appends a record whose payload write makes, positions counting from its key.
func (m *maker) add(class, name string, write func(o *out)) {
	seek := len(m.b)
	o := out{classes: map[string]int{}}
	o.b = key(0, 0, seek, class, name)
	keyLen := len(o.b)
	write(&o)
	image := key(len(o.b), len(o.b)-keyLen, seek, class, name)
	copy(o.b, image)
	m.b = append(m.b, o.b...)
	m.keys = append(m.keys, image)
}

// raw appends bytes and returns where.
func (m *maker) raw(b []byte) int64 {
	at := int64(len(m.b))
	m.b = append(m.b, b...)
	return at
}

// file writes list of keys and header.
func (m *maker) file() []byte {
	seek := len(m.b)
	var o out
	o.b = key(0, 0, seek, "TFile", "x")
	keyLen := len(o.b)
	o.i32(len(m.keys))
	for _, k := range m.keys {
		o.b = append(o.b, k...)
	}
	copy(o.b, key(len(o.b), len(o.b)-keyLen, seek, "TFile", "x"))
	m.b = append(m.b, o.b...)
	var h out
	h.b = append(h.b, "root"...)
	h.i32(62000, 100, len(m.b), seek, 10, 1, rootDir-100)
	h.u8(4)
	h.i32(0, 0, 0)
	copy(m.b, h.b)
	var d out
	d.i16(5)
	d.i32(0, 0, len(o.b), rootDir-100, 100, 0, seek)
	copy(m.b[rootDir:], d.b)
	return m.b
}

// open opens a file in memory.
func open(t testing.TB, b []byte) *rfile.File {
	t.Helper()
	f, err := rfile.Open(bytes.NewReader(b), int64(len(b)), "made.root")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readTree reads the tree "t" of a file in memory.
func readTree(t testing.TB, b []byte) (*rfile.File, *Tree) {
	t.Helper()
	f := open(t, b)
	o, err := f.Lookup("t")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Read(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return f, tree
}
