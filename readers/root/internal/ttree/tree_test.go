package ttree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// record makes the record of a basket of fixed-width i32 values.
func record(values ...int) []byte {
	var o out
	const keyLen = 65
	basketKey(&o, keyLen+4*len(values), 4*len(values), 4, len(values), keyLen+4*len(values), 0)
	o.i32(values...)
	return o.b
}

// jaggedRecord makes the record of a basket whose entries have these bytes.
func jaggedRecord(entries ...string) []byte {
	var o out
	data := strings.Join(entries, "")
	const keyLen = 65
	objLen := len(data) + 4*(len(entries)+2)
	basketKey(&o, keyLen+objLen, objLen, 1000, len(entries), keyLen+len(data), 0)
	o.b = append(o.b, data...)
	o.i32(len(entries) + 1)
	at := keyLen
	for _, e := range entries {
		o.i32(at)
		at += len(e)
	}
	o.i32(0xBAD) // writers leave rubbish here
	return o.b
}

func plainLeaf(o *out) { o.leaf("x", 0) }

// ints decodes all baskets of a branch of i32 values.
func ints(t *testing.T, file []byte, name string) []int32 {
	t.Helper()
	f, tree := readTree(t, file)
	b := tree.branch(name)
	if b == nil || b.Err != nil {
		t.Fatalf("branch %s: %+v", name, b)
	}
	var all []int32
	var s Scratch
	for i := range b.Baskets.Len() {
		basket, err := b.ReadBasket(f, i, &s)
		if err != nil {
			t.Fatal(err)
		}
		if basket.First != int64(len(all)) || basket.Entries*4 != len(basket.Data) {
			t.Fatalf("basket %d: entries from %d, %d of them in %d bytes", i, basket.First, basket.Entries, len(basket.Data))
		}
		for k := 0; k < len(basket.Data); k += 4 {
			all = append(all, int32(binary.BigEndian.Uint32(basket.Data[k:])))
		}
	}
	return all
}

// embeddedInts writes the slot of an embedded basket of fixed-width values.
func embeddedInts(o *out, values ...int) {
	o.object("TBasket", func() {
		const keyLen = 65
		basketKey(o, 0, 0, 4, len(values), keyLen+4*len(values), 12)
		o.b = append(o.b, make([]byte, keyLen)...) // stale
		o.i32(values...)
	})
}

// TestBasketsInSlotsAndRecords: a basket in the tree's record counts whatever the table
// says of its place, and ends where the branch does; a stub does not count.
func TestBasketsInSlotsAndRecords(t *testing.T) {
	for _, c := range []struct {
		name    string
		write   int
		first   []int64 // with a padding behind
		records int     // of two values each, at the front
		slots   func(o *out, i int)
		end     int64
		want    []int32
	}{
		{name: "records alone", write: 2, first: []int64{0, 2, 4}, records: 2, end: 4, want: []int32{0, 1, 10, 11}},
		{name: "last one embedded", write: 2, first: []int64{0, 2, 4, 0}, records: 2, end: 7, want: []int32{0, 1, 10, 11, 7, 8, 9},
			slots: func(o *out, i int) {
				if i == 2 {
					embeddedInts(o, 7, 8, 9)
				} else {
					o.i32(0)
				}
			}},
		{name: "one in the middle embedded", write: 3, first: []int64{0, 2, 3, 5}, records: 3, end: 5, want: []int32{0, 1, 7, 20, 21},
			slots: func(o *out, i int) {
				if i == 1 {
					embeddedInts(o, 7)
				} else {
					o.i32(0)
				}
			}},
		{name: "stubs beside records", write: 2, first: []int64{0, 2, 4}, records: 2, end: 4, want: []int32{0, 1, 10, 11},
			slots: func(o *out, i int) {
				if i < 2 {
					o.object("TBasket", func() { basketKey(o, 0, 0, 4, 2, 0, 0) })
				} else {
					o.i32(0)
				}
			}},
		{name: "empty one embedded", write: 1, first: []int64{0, 2, 0}, records: 1, end: 2, want: []int32{0, 1},
			slots: func(o *out, i int) {
				if i == 1 {
					embeddedInts(o)
				} else {
					o.i32(0)
				}
			}},
		{name: "slot above the write basket", write: 1, first: []int64{0, 2, 0}, records: 1, end: 2, want: []int32{0, 1},
			slots: func(o *out, i int) {
				if i == 2 {
					embeddedInts(o, 99)
				} else {
					o.i32(0)
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			b := branch{name: "x", leaf: plainLeaf, write: c.write, first: c.first, end: c.end, baskets: c.slots}
			b.bytes, b.seek = make([]int, len(c.first)), make([]int64, len(c.first))
			for i := range c.records {
				rec := record(10*i, 10*i+1)
				b.bytes[i], b.seek[i] = len(rec), m.raw(rec)
			}
			m.add("TTree", "t", func(o *out) { o.tree(c.end, 1, func(int) { o.branch(b) }) })
			if got := ints(t, m.file(), "x"); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestOffsetsOfARecord: the last stored offset is rubbish, the last entry ends
// with the data.
func TestOffsetsOfARecord(t *testing.T) {
	m := newMaker()
	rec := jaggedRecord("ab", "", "cde", "")
	b := branch{name: "x", leaf: plainLeaf, write: 1, end: 4, bytes: []int{len(rec)}, first: []int64{0}, seek: []int64{m.raw(rec)}}
	m.add("TTree", "t", func(o *out) { o.tree(4, 1, func(int) { o.branch(b) }) })
	f, tree := readTree(t, m.file())
	var s Scratch
	basket, err := tree.All[0].ReadBasket(f, 0, &s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := basket.Offsets([]int32{-1})
	if err != nil || !slices.Equal(got, []int32{0, 2, 2, 5, 5}) || string(basket.Data) != "abcde" {
		t.Errorf("offsets %v of %q, %v", got, basket.Data, err)
	}
}

// TestDamagedBaskets: what does not fit is an error, and never other bytes.
func TestDamagedBaskets(t *testing.T) {
	for _, c := range []struct {
		name   string
		rec    []byte
		change func(rec []byte)
	}{
		{"entries differ from the table", jaggedRecord("ab", "c"), func(r []byte) { r[65-9+3] = 1 }},
		{"data beyond the payload", record(1, 2), func(r []byte) { r[65-5+3] += 4 }},
		{"data before the payload", record(1, 2), func(r []byte) { r[65-5+3] = 60 }},
		{"width does not fit", record(1, 2), func(r []byte) { r[65-13+3] = 3 }},
		{"unknown bits", record(1, 2), func(r []byte) { r[65-13] = 0xFF }},
		{"longer than its place", record(1, 2), func(r []byte) { r[3]++ }},
		{"offset before the one in front", jaggedRecord("ab", "c"), func(r []byte) { r[65+3+4+4+3] = 64 }},
		{"offset beyond the data", jaggedRecord("ab", "c"), func(r []byte) { r[65+3+4+4+2] = 1 }},
		{"first offset not at the start", jaggedRecord("ab", "c"), func(r []byte) { r[65+3+4+3] = 66 }},
		{"too few offsets", jaggedRecord("ab", "c"), func(r []byte) { r[65+3+3] = 1 }},
		{"too many offsets", jaggedRecord("ab", "c"), func(r []byte) { r[65+3+3] = 9 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			rec := slices.Clone(c.rec)
			c.change(rec)
			b := branch{name: "x", leaf: plainLeaf, write: 1, end: 2, bytes: []int{len(rec)}, first: []int64{0}, seek: []int64{m.raw(rec)}}
			m.add("TTree", "t", func(o *out) { o.tree(2, 1, func(int) { o.branch(b) }) })
			f, tree := readTree(t, m.file())
			var s Scratch
			basket, err := tree.All[0].ReadBasket(f, 0, &s)
			if err == nil {
				_, err = basket.Offsets(nil)
			}
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestDamageStaysInItsBranch: a branch that cannot be read does not hide those
// behind it, even if the classes they refer to were first named in it.
func TestDamageStaysInItsBranch(t *testing.T) {
	good := branch{name: "good", leaf: plainLeaf, write: 1, end: 2, bytes: []int{0}, first: []int64{0}, seek: []int64{0}}
	for _, c := range []struct {
		name string
		bad  branch
		// hit changes the bytes of the bad branch.
		hit func(b []byte)
	}{
		{"bytes left over", branch{after: func(o *out) { o.i32(7) }}, nil},
		{"length of the list of leaves", branch{}, func(b []byte) {
			i := strings.Index(string(b), "TLeafI")
			b[i-4-4-5] = 0x7F // high byte of n, in front of fLowerBound, byte count and tag
		}},
		{"frame of the leaf", branch{}, func(b []byte) {
			i := strings.Index(string(b), "TLeafI")
			b[i+7+1] = 0xFF
		}},
		{"entries that fall", branch{write: 2, end: 1, bytes: []int{1, 1}, first: []int64{0, 5}, seek: []int64{1, 1}}, nil},
		{"more baskets than the table has", branch{write: 9, end: 2, bytes: []int{1}, first: []int64{0}, seek: []int64{1}}, nil},
		{"basket outside of the file", branch{write: 1, end: 2, bytes: []int{70}, first: []int64{0}, seek: []int64{1 << 40}}, nil},
		{"entries of another number", branch{write: 1, end: 2, entries: 3, bytes: []int{1}, first: []int64{0}, seek: []int64{1}}, nil},
		{"basket without a place", branch{write: 1, end: 2, bytes: []int{0}, first: []int64{0}, seek: []int64{0}}, nil},
		{"count that is not there", branch{leaf: func(o *out) { o.leaf("x", 12345) }}, nil},
		{"no baskets", branch{write: 0, end: 2}, nil},
		{"counts itself", branch{leaf: func(o *out) { o.leaf("x", len(o.b)+2) }}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			rec := record(1, 2)
			g := good
			g.bytes, g.seek = []int{len(rec)}, []int64{m.raw(rec)}
			bad := c.bad
			bad.name = "bad"
			if bad.leaf == nil {
				bad.leaf = plainLeaf
			}
			if bad.bytes == nil && bad.end == 0 {
				bad.write, bad.end, bad.bytes, bad.first, bad.seek = g.write, g.end, g.bytes, g.first, g.seek
			}
			m.add("TTree", "t", func(o *out) {
				o.tree(2, 2, func(i int) {
					if i == 1 {
						o.branch(g)
						return
					}
					at := len(o.b)
					o.branch(bad)
					if c.hit != nil {
						c.hit(o.b[at:])
					}
				})
			})
			file := m.file()
			if got := ints(t, file, "good"); !slices.Equal(got, []int32{1, 2}) {
				t.Errorf("the good branch has %v", got)
			}
			_, tree := readTree(t, file)
			b := tree.branch("bad")
			if b == nil || !errors.Is(b.Err, shardify.ErrCorrupt) {
				t.Errorf("bad branch: %+v", b)
			}
		})
	}
}

// TestCounterBehindItsUser: the counter's leaf may be written inside the leaf that
// needs it; its own branch then refers to it.
func TestCounterBehindItsUser(t *testing.T) {
	m := newMaker()
	rec := record(1, 2)
	b := branch{write: 1, end: 2, bytes: []int{len(rec)}, first: []int64{0}, seek: []int64{m.raw(rec)}}
	m.add("TTree", "t", func(o *out) {
		counter := 0
		o.tree(2, 2, func(i int) {
			b.name = []string{"x", "n"}[i]
			b.leaf = func(o *out) {
				if i == 1 {
					o.i32(counter)
					return
				}
				o.object("TLeafI", func() {
					o.frame(1, func() {
						o.frame(2, func() {
							o.named("x", "x[n]")
							o.i32(1, 4, 0)
							o.u8(0, 0)
							counter = o.leaf("n", 0)
						})
						o.i32(0, 0)
					})
				})
			}
			o.branch(b)
		})
	})
	_, tree := readTree(t, m.file())
	count := tree.branch("x").Leaves[0].Count
	if count == nil || count.Name != "n" || count.Branch != tree.branch("n") {
		t.Fatalf("counter is %+v", count)
	}
}

// TestNamesOfBranches: they are unique whatever the file says, and no branches are merged.
func TestNamesOfBranches(t *testing.T) {
	leaf := func(name string, children ...*Branch) *Branch { return &Branch{Name: name, Children: children} }
	tree := &Tree{Branches: []*Branch{
		leaf("x"), leaf("x"), leaf("x#2"),
		leaf("evt.", leaf("evt.Beg"), leaf("P", leaf("P.x"), leaf("y"))),
		leaf("Muon", leaf("Muon.pt"), leaf("Muon.pt")),
	}}
	loop := leaf("loop")
	loop.Children = []*Branch{loop}
	tree.Branches = append(tree.Branches, loop, loop)
	tree.name(0)
	var dotted, paths []string
	for _, b := range tree.All {
		dotted, paths = append(dotted, b.Dotted), append(paths, b.Path)
	}
	want := []string{"x", "x#2", "x#2#2", "evt", "evt.Beg", "evt.P", "evt.P.x", "evt.P.y", "Muon", "Muon.pt", "Muon.pt#2", "loop"}
	if !slices.Equal(dotted, want) {
		t.Errorf("names %q", dotted)
	}
	if paths[5] != "evt./P" || paths[6] != "evt./P/P.x" {
		t.Errorf("paths %q", paths)
	}
	for _, b := range tree.All {
		if tree.branch(b.Dotted) != b {
			t.Errorf("%q finds another branch", b.Dotted)
		}
	}
	if tree.branch("P.x") == nil || tree.branch("x").Index != 0 || tree.branch("pt") != nil {
		t.Error("names that only one branch has find it, others do not")
	}
}

// TestClusterEnds covers ranges, the rest after them, and sizes not known.
func TestClusterEnds(t *testing.T) {
	c := clusterRanges{RangeEnd: []int64{99, 149}, Size: []int64{40, 0}, AutoFlush: 30}
	var ends []int64
	for e := int64(0); e < 200; {
		e = c.End(e, 200)
		ends = append(ends, e)
	}
	if want := []int64{40, 80, 100, 150, 180, 200}; !slices.Equal(ends, want) {
		t.Errorf("clusters end at %v, want %v", ends, want)
	}
	for _, flush := range []int64{0, -30000000, 1 << 62} {
		c := clusterRanges{AutoFlush: flush}
		if got := c.End(5, 1<<60); got != 1<<60 {
			t.Errorf("flush %d: end %d", flush, got)
		}
	}
}

// TestFriendsAndAliases are found behind the branches.
func TestFriendsAndAliases(t *testing.T) {
	m := newMaker()
	m.add("TTree", "t", func(o *out) {
		o.treeWith(0, 0, nil, func() {
			o.list(2, func(i int) { o.object("TNamed", func() { o.named([]string{"m", "e"}[i], "x*2") }) })
		}, func() {
			o.list(1, func(int) {
				o.object("TFriendElement", func() {
					o.frame(2, func() { o.named("f", "other.root"); o.str("dir/t2"); o.u8(1) })
				})
			})
		})
	})
	_, tree := readTree(t, m.file())
	if !slices.Equal(tree.Aliases, []alias{{"m", "x*2"}, {"e", "x*2"}}) || !slices.Equal(tree.Friends, []friend{{"f", "other.root", "dir/t2"}}) || tree.Problem != nil {
		t.Errorf("aliases %v, friends %v, %v", tree.Aliases, tree.Friends, tree.Problem)
	}
}

// TestTablesOfOldBranches: version 8 has tables of 4 bytes, or places of 8.
func TestTablesOfOldBranches(t *testing.T) {
	for _, wide := range []bool{false, true} {
		m := newMaker()
		b := branch{name: "x", version: 8, wide: wide, leaf: plainLeaf, write: 2, first: []int64{0, 2, 4}, end: 4, bytes: []int{0, 0, 0}, seek: []int64{0, 0, 0}}
		for i := range 2 {
			rec := record(10*i, 10*i+1)
			b.bytes[i], b.seek[i] = len(rec), m.raw(rec)
		}
		m.add("TTree", "t", func(o *out) { o.tree(4, 1, func(int) { o.branch(b) }) })
		if got := ints(t, m.file(), "x"); !slices.Equal(got, []int32{0, 1, 10, 11}) {
			t.Errorf("wide %v: %v", wide, got)
		}
	}
}

// TestBasketsInAnotherFile are not looked for in this one.
func TestBasketsInAnotherFile(t *testing.T) {
	m := newMaker()
	rec := record(1, 2)
	b := branch{name: "x", leaf: plainLeaf, write: 1, first: []int64{0}, end: 2, bytes: []int{len(rec)}, seek: []int64{m.raw(rec)}, file: "part2.root"}
	m.add("TTree", "t", func(o *out) { o.tree(2, 1, func(int) { o.branch(b) }) })
	_, tree := readTree(t, m.file())
	if err := tree.branch("x").Err; !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "part2.root") {
		t.Errorf("error is %v", err)
	}
}

// TestBasketsAbove4GiB: places of baskets have all 8 bytes.
func TestBasketsAbove4GiB(t *testing.T) {
	const far = 5 << 30
	m := newMaker()
	rec := record(1, 2)
	b := branch{name: "x", leaf: plainLeaf, write: 1, first: []int64{0}, end: 2, bytes: []int{len(rec)}, seek: []int64{far}}
	m.add("TTree", "t", func(o *out) { o.tree(2, 1, func(int) { o.branch(b) }) })
	r := farReader{near: m.file(), rec: rec, at: far}
	f, err := rfile.Open(&r, far+int64(len(rec)), "far.root")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := f.Lookup("t")
	tree, err := Read(f, o)
	if err != nil || tree.All[0].Err != nil {
		t.Fatal(err, tree)
	}
	var s Scratch
	basket, err := tree.All[0].ReadBasket(f, 0, &s)
	if err != nil || string(basket.Data) != "\x00\x00\x00\x01\x00\x00\x00\x02" {
		t.Errorf("%x, %v", basket.Data, err)
	}
}

// farReader is a file with a record far behind the rest.
type farReader struct {
	near, rec []byte
	at        int64
}

func (r *farReader) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.at {
		return bytes.NewReader(r.rec).ReadAt(p, off-r.at)
	}
	return bytes.NewReader(r.near).ReadAt(p, off)
}
