package rntuple

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
)

func numberOf(name string, dt shardify.DType, t colType) *model {
	return &model{kind: number, name: name, dtype: dt, typeName: stdNames[dt], columns: []*written{{Column: Column{Type: t, Bits: columnTypes[t].maxBits}}}}
}

func listOf(name string, item *model) *model {
	item.name = "_0"
	return &model{kind: vector, name: name, typeName: "std::vector<" + item.typeName + ">", kids: []*model{item}, columns: []*written{{Column: Column{Type: colIndex64, Bits: 64}}}}
}

func structOf(name string, kids ...*model) *model {
	return &model{kind: record, name: name, typeName: "Point", kids: kids}
}

func float(name string) *model { return numberOf(name, shardify.F32, colSplitReal32) }

func (m *made) tryOpen() (*Ntuple, error) {
	return Open(bytes.NewReader(m.data), int64(len(m.data)), m.anchor)
}

func flatNames(n *Ntuple) (all []string) {
	for i := range n.Flats {
		all = append(all, n.Flats[i].Name)
	}
	return all
}

// TestWhatCannotBeReadIsNamed: one field is left out with its reason, all others
// are read.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	odd := func(change func(f *model)) *model {
		f := float("odd")
		change(f)
		return f
	}
	deep := float("x")
	for range 80 {
		deep = structOf("d", deep)
	}
	deep.name = "odd"
	for reason, f := range map[string]*model{
		"column type 0x33 is not known":      odd(func(f *model) { f.columns[0].Type = 0x33 }),
		"SplitReal32 with 31 bits":           odd(func(f *model) { f.columns[0].Bits = 31 }),
		"with the bounds 0 and 0":            odd(func(f *model) { f.columns[0].Type, f.columns[0].Bits = colReal32Quant, 8 }),
		"float in a column of type Switch":   odd(func(f *model) { f.columns[0].Type, f.columns[0].Bits = colSwitch, 96 }),
		"float in a column of type Real64":   odd(func(f *model) { f.columns[0].Type, f.columns[0].Bits = colReal64, 64 }),
		"float on an index column":           odd(func(f *model) { f.columns[0].Type, f.columns[0].Bits = colIndex64, 64 }),
		"float with 0 children and 0 column": odd(func(f *model) { f.columns = nil }),
		"Point has no members":               structOf("odd"),
		"array of 0 elements":                {kind: fixed, name: "odd", typeName: "std::array<float,0>", kids: []*model{float("_0")}},
		"more than 1073741824 values":        {kind: fixed, name: "odd", n: 1 << 30, kids: []*model{{kind: fixed, name: "_0", n: 2, kids: []*model{float("_0")}}}},
		"4 levels of variable length":        listOf("odd", listOf("", listOf("", listOf("", float("_0"))))),
		"nested too deep":                    deep,
		"longer than 255 bytes":              structOf("odd", float(strings.Repeat("n", 256))),
		"stored as an opaque object":         {kind: projection, role: roleStreamer, name: "odd", typeName: "Blob"},
		"field of structure 9":               {kind: projection, role: 9, name: "odd", typeName: "Blob"},
		"collection":                         {kind: projection, role: roleCollection, name: "odd", typeName: "Blob"},
		"variant":                            {kind: projection, role: roleVariant, name: "odd", typeName: "Blob"},
	} {
		m := makeOf(0, nil, float("a"), f, listOf("z", float("")))
		n, err := m.tryOpen()
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if names := flatNames(n); !slices.Equal(names, []string{"a", "z"}) || len(n.Unreadable) != 1 ||
			!strings.HasPrefix(n.Unreadable[0].Name, "odd") || !strings.Contains(n.Unreadable[0].Reason, reason) {
			t.Errorf("%s: read %v, left out %v", reason, names, n.Unreadable)
		}
	}
}

// TestNamesAreMadeValid: what has a meaning in shards becomes _, and two names that are one
// then are not read as one.
func TestNamesAreMadeValid(t *testing.T) {
	n, err := makeOf(0, nil, float("x#1"), float("__index"), structOf("s", float("a#b")), float("y_"), float("y#")).tryOpen()
	if err != nil {
		t.Fatal(err)
	}
	if names := flatNames(n); !slices.Equal(names, []string{"x_1", "_index", "s.a_b", "y_"}) || len(n.Unreadable) != 1 || n.Unreadable[0].Name != "y_" {
		t.Errorf("read %v, left out %v", names, n.Unreadable)
	}
}

// TestProjectionOfWhatIsLeftOut: a projected field may show a column of an unknown
// type.
func TestProjectionOfWhatIsLeftOut(t *testing.T) {
	f := float("odd")
	f.columns[0].Type = 0x33
	m := makeOf(0, nil, f, &model{kind: projection, name: "shown", typeName: "float", source: f, alias: f.columns[0]})
	n, err := m.tryOpen()
	if err != nil || len(n.Flats) != 0 || len(n.Unreadable) != 2 {
		t.Errorf("%v, %v", flatNames(n), err)
	}
}

func TestNamesThatWouldCollide(t *testing.T) {
	base := func(i int, kids ...*model) *model { return structOf(fmt.Sprintf(":_%d", i), kids...) }
	m := makeOf(2, nil,
		structOf("o", base(0, float("x"), float("y")), base(1, float("x")), float("z")),
		float("same"), float("same"))
	n := m.open(t)
	want := []string{"o.:_0.x", "o.y", "o.:_1.x", "o.z", "same"}
	if got := flatNames(n); !slices.Equal(got, want) || len(n.Unreadable) != 1 || n.Unreadable[0].Name != "same" {
		t.Errorf("%v, left out %v", got, n.Unreadable)
	}
}

// TestCountersMeanOneList: members of a collection share its offsets, and a field
// that has the collection's name does not.
func TestCountersMeanOneList(t *testing.T) {
	jets := func() *model {
		return listOf("jets", structOf("", float("pt"), float("eta"), listOf("hits", float(""))))
	}
	n := makeOf(20, nil, jets()).open(t)
	for _, f := range n.Flats {
		if f.Counter != "jets" {
			t.Errorf("%s has counter %q", f.Name, f.Counter)
		}
	}
	m := makeOf(20, nil, jets(), structOf("jets", listOf("pt2", float(""))), listOf("jets", float("")))
	n = m.open(t)
	cols, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkCounters(t, cols)
	counters := map[string]string{}
	for _, c := range cols {
		counters[c.Name] = c.Counter
	}
	want := map[string]string{"jets.pt": "", "jets.eta": "", "jets.hits": "", "jets.pt2": "", "jets": ""}
	if fmt.Sprint(counters) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", counters, want)
	}
}

// TestUntypedCollectionsAreShownOnce as importers write them: one collection of a
// nameless record, and projections under the names that people know.
func TestUntypedCollectionsAreShownOnce(t *testing.T) {
	pt, rest := float("Jet_pt"), float("Jet_rest")
	list := listOf("_collection0", structOf("", pt, rest))
	list.typeName, list.kids[0].typeName = "", ""
	item := &model{kind: projection, name: "_0", typeName: "float", source: pt, alias: pt.columns[0]}
	m := makeOf(20, nil, list,
		&model{kind: projection, name: "nJet", typeName: "ROOT::RNTupleCardinality<std::uint32_t>", source: list, alias: list.columns[0]},
		&model{kind: projection, name: "Jet_pt", typeName: "ROOT::VecOps::RVec<float>", role: roleCollection, source: list, alias: list.columns[0], kids: []*model{item}})
	n := m.open(t)
	if got := flatNames(n); !slices.Equal(got, []string{"_collection0.Jet_rest", "nJet", "Jet_pt"}) {
		t.Errorf("flats %v", got)
	}
	for _, f := range n.Flats {
		if f.Levels == 1 && f.Counter != "nJet" {
			t.Errorf("%s has counter %q", f.Name, f.Counter)
		}
	}
}

// TestRefusals: what would be read wrongly is an error of the right kind.
func TestRefusals(t *testing.T) {
	u64 := func(v uint64) string { return string(le.AppendUint64(nil, v)) }
	for name, c := range map[string]struct {
		tweak  func(int, []byte) []byte
		anchor func([]byte)
		kind   error
	}{
		"flag in header":      {tweak: func(k int, p []byte) []byte { p[0] |= byte(k) & 1; return p }, kind: shardify.ErrUnsupported},
		"flag in footer":      {tweak: func(k int, p []byte) []byte { p[1] |= byte(k) & 2; return p }, kind: shardify.ErrUnsupported},
		"more flags":          {tweak: func(k int, p []byte) []byte { return append([]byte(u64(1<<63)+u64(2)), p[8:]...) }, kind: shardify.ErrUnsupported},
		"other header":        {tweak: func(k int, p []byte) []byte { p[8] ^= byte(k) & 2; return p }, kind: shardify.ErrCorrupt},
		"other page list":     {tweak: func(k int, p []byte) []byte { p[0] ^= byte(k&1) & byte(k>>1); return p }, kind: shardify.ErrCorrupt},
		"sharded":             {tweak: func(k int, p []byte) []byte { p[35+8] |= byte(k&1) & byte(k>>1); return p }, kind: shardify.ErrUnsupported},
		"cluster begins at 1": {tweak: func(k int, p []byte) []byte { p[28] |= byte(k&1) & byte(k>>1); return p }, kind: shardify.ErrCorrupt},
		"epoch 2":             {anchor: func(a []byte) { a[7] = 2 }, kind: shardify.ErrUnsupported},
		"small pieces":        {anchor: func(a []byte) { binary.BigEndian.PutUint64(a[62:], 50) }, kind: shardify.ErrUnsupported},
		"header outside":      {anchor: func(a []byte) { a[14] = 1 }, kind: shardify.ErrCorrupt},
		"header too long":     {anchor: func(a []byte) { a[30] = 1 }, kind: shardify.ErrCorrupt},
		"header of no bytes":  {anchor: func(a []byte) { clear(a[22:38]) }, kind: shardify.ErrCorrupt},
	} {
		m := makeOf(9, c.tweak, float("x"))
		if c.anchor != nil {
			c.anchor(m.anchor)
			sealAnchor(m.anchor)
		}
		if _, err := m.tryOpen(); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := makeOf(400, nil, float("x"))
	n := long.open(t)
	n.maxKey = 5 // as if a page of 5 bytes were of a GiB
	if err := readOne(n, 0, n.Entries, 0); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("page in pieces: %v", err)
	}
	m := makeOf(9, nil, float("x"))
	m.anchor[20]++
	if _, err := m.tryOpen(); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("anchor: %v", err)
	}
	if _, err := Open(bytes.NewReader(m.data), int64(len(m.data)), m.anchor[:70]); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("short anchor: %v", err)
	}
}

func readOne(n *Ntuple, lo, hi int64, limit int64) error {
	r := n.Select(every(n)).Reader()
	r.Limit = limit
	pool := shardify.NewPool(1 << 20)
	mem := pool.Overdraft()
	defer mem.Release()
	_, err := r.Read(context.Background(), lo, hi, mem, nil)
	return err
}

// TestDamageInPagesIsPlaced: the error names ntuple, field and place.
func TestDamageInPagesIsPlaced(t *testing.T) {
	m := makeOf(20, nil, float("a"), listOf("b", structOf("", float("x"))))
	n := m.open(t)
	for _, e := range n.Extents(0, []int{0, 1, 2}) {
		m.data[e.Offset+e.Size/2] ^= 4
		err := readOne(n, 0, n.Entries, 0)
		var se *shardify.Error
		if !errors.As(err, &se) || !errors.Is(err, shardify.ErrCorrupt) || se.Offset != e.Offset || se.Object != "made" || se.Field != n.Path(n.Columns[e.Column].Field) {
			t.Errorf("column %d: %v", e.Column, err)
		}
		m.data[e.Offset+e.Size/2] ^= 4
	}
	if err := readOne(n, 0, n.Entries, 0); err != nil {
		t.Error(err)
	}
	if n.Stored(0) <= 0 {
		t.Error("column 0 takes no bytes")
	}
}

// pageList is a page list of one cluster with one column.
func onePageList(entries int64, pages int, n int32, at, size int64) func(int, []byte) []byte {
	return func(k int, p []byte) []byte {
		if k != pageListEnvelope {
			if k == footerEnvelope { // entries of the only group
				i := bytes.Index(p, le.AppendUint64(le.AppendUint64(nil, 0), 1))
				le.PutUint64(p[i+8:], uint64(entries))
			}
			return p
		}
		o := out{slices.Clone(p[:8])}
		o.frame(1, func() { o.frame(-1, func() { o.u64(0); o.u64(entries) }) })
		o.frame(1, func() {
			o.frame(1, func() {
				o.frame(pages, func() {
					for range pages {
						o.u32(int(n))
						o.u32(int(size))
						o.u64(at)
					}
					o.u64(0)
					o.u32(0)
				})
			})
		})
		return o.b
	}
}

// makeShared is a small file of many elements: all pages are the same bytes, which follow
// the rest. A first file shows where that is.
func makeShared(entries int64, pages int, n int32, body []byte) *made {
	x := func() *model { return numberOf("x", shardify.I32, colInt32) }
	at := len(makeOf(1, onePageList(entries, pages, n, 0, 0), x()).data)
	m := makeOf(1, onePageList(entries, pages, n, int64(at), int64(len(body))), x())
	m.data = append(m.data, body...)
	return m
}

// TestSmallFilesOfManyElements: a file of a few KB may hold 10^8 elements, and is
// read in parts in little memory; one that claims more than it has bytes for is an
// error.
func TestSmallFilesOfManyElements(t *testing.T) {
	body := zlibBlock(make([]byte, 4<<16))
	m := makeShared(1600<<16, 1600, 1<<16, body)
	n := m.open(t)
	if n.Entries != 1600<<16 {
		t.Fatalf("%d entries", n.Entries)
	}
	parts := 0
	for p := range n.Select(every(n)).Parts(4 << 20) {
		if p.Bytes > 5<<20 {
			t.Fatalf("part of %d bytes", p.Bytes)
		}
		if parts++; parts%20 == 0 {
			if err := readOne(n, p.Lo, p.Hi, 6<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := readOne(n, 0, n.Entries, 0); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("all at once: %v", err)
	}
	m = makeShared(1<<30, 1, 1<<30, body)
	if err := readOne(m.open(t), 7, 9, 1<<20); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("a page of 4 GiB in %d bytes: %v", len(body), err)
	}
	if err := readOne(m.open(t), 7, 9, 8<<30); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a page of 4 GiB in %d bytes, without a limit: %v", len(body), err)
	}
	m = makeShared(1<<16, 1, 1<<15, body)
	if err := readOne(m.open(t), 0, 1<<16, 0); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("half the elements: %v", err)
	}
}

// TestLargeStoredPages go from the file to the column directly, and are verified
// there.
func TestLargeStoredPages(t *testing.T) {
	body := make([]byte, 4<<16)
	for i := range body {
		body[i] = byte(i * i >> 7)
	}
	m := makeShared(1<<16, 1, -1<<16, body)
	m.data = le.AppendUint64(m.data, xxh3.Hash(body))
	n := m.open(t)
	cols, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
	if err != nil || !bytes.Equal(cols[0].Data, body) {
		t.Errorf("%v", err)
	}
	for _, at := range []int{9, 1, len(body) + 7} { // in the checksum, and at both ends
		m.data[len(m.data)-at] ^= 1
		if err := readOne(n, 0, n.Entries, 0); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("byte %d before the end: %v", at, err)
		}
		m.data[len(m.data)-at] ^= 1
	}
}

func TestCancelledReadStops(t *testing.T) {
	n := makeOf(9, nil, float("x")).open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mem := shardify.NewPool(1 << 20).Overdraft()
	if _, err := n.Select(every(n)).Reader().Read(ctx, 0, 9, mem, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := readOne(n, 5, 10, 0); err == nil {
		t.Error("entries beyond the end were read")
	}
}

// TestListsAreNoLongerThanTheirItems: a damaged end offset claims no memory, even where no
// checksum finds it: the page list says how many items there are.
func TestListsAreNoLongerThanTheirItems(t *testing.T) {
	arrayOf := func(item *model) *model {
		item.name = "_0"
		return &model{kind: fixed, n: 2, typeName: "std::array<" + item.typeName + ",2>", kids: []*model{item}}
	}
	for _, item := range []*model{
		float(""), listOf("", float("")), arrayOf(arrayOf(float(""))), structOf("", float("x"), listOf("y", float(""))),
	} {
		f := listOf("l", item)
		m := makeOf(200, nil, f)
		n := m.open(t)
		if len(n.Flats) == 0 {
			t.Fatalf("%s: %v", f.typeName, n.Unreadable)
		}
		i := slices.IndexFunc(f.columns[0].clusters, func(c writtenChunk) bool { return c.pages[0].n > 2 })
		p, lo := f.columns[0].clusters[i].pages[0], n.Clusters[i].FirstEntry
		page := m.data[p.at:][:p.size]
		le.PutUint64(page[8*(p.n-2):], 1<<23)
		le.PutUint64(m.data[p.at+int64(p.size):], xxh3.Hash(page))
		mem := shardify.NewPool(1 << 20).Overdraft()
		_, err := n.Select(every(n)).Reader().Read(context.Background(), lo, lo+int64(p.n)-1, mem, nil)
		if !errors.Is(err, shardify.ErrCorrupt) || mem.Used() > 1<<20 {
			t.Errorf("%s: %d bytes of memory for a file of %d: %v", f.typeName, mem.Used(), len(m.data), err)
		}
		mem.Release()
	}
}
