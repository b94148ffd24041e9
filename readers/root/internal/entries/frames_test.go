package entries

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// decodeEntries decodes entries by steps that a builder made.
func decodeEntries(b *builder, steps []step, l Lengths, entries ...[]byte) ([]shardify.Column, error) {
	r := &Reading{Branch: &ttree.Branch{Tree: &ttree.Tree{Path: "t"}, Path: "x"}, layout: layoutProgram, Columns: b.cols, steps: steps, slots: len(b.slots)}
	if l.Lists != nil {
		r.Counts = &Reading{Branch: r.Branch}
	}
	if l.Each != nil {
		r.Each = r.Counts
	}
	basket := ttree.Basket{Entries: len(entries), Mask: 0xFFFFFFFF}
	want := make([]bool, len(r.Columns))
	for i := range want {
		want[i] = true
	}
	for _, e := range entries {
		basket.Raw = binary.BigEndian.AppendUint32(basket.Raw, uint32(len(basket.Data)))
		basket.Data = append(basket.Data, e...)
	}
	d := NewDecoder(r)
	d.Begin(0, int64(len(entries)), want, 1, l, shardify.NewPool(1<<20).Overdraft())
	if err := d.Basket(&basket); err != nil {
		return nil, err
	}
	cols := make([]shardify.Column, len(r.Columns))
	for i := range cols {
		c := &r.Columns[i]
		cols[i].Field = shardify.Field{Name: c.Name, DType: c.DType, Shape: c.Shape, Levels: c.Levels, Media: c.Media}
		if err := d.Finish(i, &cols[i]); err != nil {
			return nil, err
		}
	}
	return cols, nil
}

// entry writes big-endian values.
type entry struct{ b []byte }

func (o *entry) u8(v ...uint8) { o.b = append(o.b, v...) }
func (o *entry) i16(v int)     { o.b = binary.BigEndian.AppendUint16(o.b, uint16(v)) }
func (o *entry) i32(v ...int) {
	for _, x := range v {
		o.b = binary.BigEndian.AppendUint32(o.b, uint32(x))
	}
}
func (o *entry) str(s string) { o.b = append(append(o.b, byte(len(s))), s...) }

// frame writes a byte count, a version and a body.
func (o *entry) frame(version int, body func()) {
	at := len(o.b)
	o.i32(0)
	o.i16(version)
	body()
	binary.BigEndian.PutUint32(o.b[at:], uint32(len(o.b)-at-4)|0x40000000)
}

// framed writes byte count, version and body.
func framed(version int, body func(o *entry)) []byte {
	var o entry
	o.frame(version, func() { body(&o) })
	return o.b
}

// TestPairsWrittenOneByOneHaveFrames: a vector<pair<A,B>> that is not written member by
// member has a frame around each pair, with the checksum of the class in it.
func TestPairsWrittenOneByOneHaveFrames(t *testing.T) {
	entry := func(version int, sum int, extra int) []byte {
		return framed(9, func(o *entry) {
			o.i32(2)
			for i := range 2 {
				o.frame(version, func() {
					if version <= 0 {
						o.i32(sum)
					}
					o.i32(7+i, int(math.Float32bits(1.5)))
					o.b = append(o.b, make([]byte, extra)...)
				})
			}
		})
	}
	described := &rfile.StreamerInfo{Name: "pair<int,float>", Version: 1, CheckSum: 0x69032978}
	for _, c := range []struct {
		name  string
		entry []byte
		class *rfile.StreamerInfo
		says  string
	}{
		{"with the checksum that the file describes", entry(0, 0x69032978, 0), described, ""},
		{"with another", entry(0, 0x11111111, 0), described, "checksum 11111111"},
		{"in no description", entry(0, 0x11111111, 0), nil, ""},
		{"in the version that the file describes", entry(1, 0, 0), described, ""},
		{"in another", entry(3, 0, 0), described, "version 3"},
		{"longer than its members", entry(0, 0x69032978, 4), described, "4 bytes are left"},
		{"longer, in no description", entry(0, 0x69032978, 4), nil, "4 bytes are left"},
	} {
		b := &builder{infos: &rfile.Infos{}}
		s, err := b.collection("vector<pair<int,float> >", 0, "", 0, 0)
		if err != nil || s.kids[0].op != opObject {
			t.Fatalf("%v: %+v", err, s)
		}
		s.kids[0].class = c.class
		cols, err := decodeEntries(b, []step{s}, Lengths{}, c.entry)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.name, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if a, v := shardify.View[int32](cols[0].Data), shardify.View[float32](cols[1].Data); !slices.Equal(a, []int32{7, 8}) || !slices.Equal(v, []float32{1.5, 1.5}) {
			t.Errorf("%s: first %v, second %v", c.name, a, v)
		}
	}
}

// TestCountedPointersOfElements: "T* x //[n]" in a split collection is an array for each
// element, whose length is that element's n.
func TestCountedPointersOfElements(t *testing.T) {
	e := &rfile.Element{Class: "TStreamerBasicPointer", Name: "x", Type: 42, TypeName: "Short_t*", CountName: "n", CountClass: "C"}
	u16 := func(flag byte, v ...int) []byte {
		o := entry{b: []byte{flag}}
		for _, x := range v {
			o.i16(x)
		}
		return o.b
	}
	for _, c := range []struct {
		name    string
		lists   []int64
		each    []int64
		entries [][]byte
		inner   []int64 // ends
		says    string
	}{
		{"two, none, one", []int64{0, 2, 2, 3}, []int64{2, 1, 0}, [][]byte{append(u16(1, 5, 6), u16(1, 7)...), nil, u16(0)}, []int64{0, 2, 3, 3}, ""},
		{"nothing at all", []int64{0, 0, 0}, []int64{}, [][]byte{nil, nil}, []int64{0}, ""},
		{"a null pointer in spite of its count", []int64{0, 1}, []int64{4}, [][]byte{u16(0)}, []int64{0, 0}, ""},
		{"shorter than its count", []int64{0, 1}, []int64{2}, [][]byte{u16(1, 5)}, nil, "array of 2"},
		{"longer than its count", []int64{0, 1}, []int64{1}, [][]byte{u16(1, 5, 6)}, nil, "3 are explained"},
		{"counts of fewer elements", []int64{0, 2}, []int64{1}, [][]byte{append(u16(1, 5), u16(1, 6)...)}, nil, "counts of its elements are missing"},
	} {
		b := &builder{infos: &rfile.Infos{}}
		steps, err := b.member(e, "", 1, true)
		if err != nil {
			t.Fatal(err)
		}
		cols, err := decodeEntries(b, steps, Lengths{Lists: c.lists, Each: c.each}, c.entries...)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.name, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !slices.Equal(cols[0].Offsets[1], c.inner):
			t.Errorf("%s: inner lists end at %v, want %v", c.name, cols[0].Offsets[1], c.inner)
		}
	}
}

// TestCountsAreThoseOfTheirClass: members of two classes have the same name, and one
// counts in a base class.
func TestCountsAreThoseOfTheirClass(t *testing.T) {
	n := rfile.Element{Class: "TStreamerBasicType", Name: "n", Type: 3, TypeName: "Int_t"}
	x := func(class string) rfile.Element {
		return rfile.Element{Class: "TStreamerBasicPointer", Name: "x", Type: 41, TypeName: "Char_t*", CountName: "n", CountClass: class}
	}
	b := &builder{infos: &rfile.Infos{}, path: []string{"D"}}
	b.noteCount("B", "n")
	b.path = []string{"B"}
	var steps []step
	add := func(e rfile.Element) {
		s, err := b.member(&e, "", 0, false)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s...)
	}
	add(n)
	b.path = []string{"Other"}
	b.noteCount("Other", "n")
	add(n)
	add(x("Other"))
	b.path = []string{"D"}
	add(x("B"))
	var o entry
	o.i32(1)
	o.i32(2)
	o.u8(1, 10, 11)
	o.u8(1, 12)
	cols, err := decodeEntries(b, steps, Lengths{}, o.b)
	if err != nil {
		t.Fatal(err)
	}
	if string(cols[2].Data) != "\x0a\x0b" || string(cols[3].Data) != "\x0c" {
		t.Errorf("x of Other is %v, of D %v", cols[2].Data, cols[3].Data)
	}
}

// TestEntriesWithoutBytesHaveNoValue: old writers left out the bits of a bitset.
func TestEntriesWithoutBytesHaveNoValue(t *testing.T) {
	b := &builder{infos: &rfile.Infos{}}
	s, err := b.collection("bitset<8>", 0, "", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeEntries(b, []step{s}, Lengths{}, nil, nil); err == nil || !strings.Contains(err.Error(), "stored no value") {
		t.Errorf("%v", err)
	}
}

// TestTryingWantsNoColumn: a jagged branch is tried without a place for its values.
func TestTryingWantsNoColumn(t *testing.T) {
	r, b, _ := jaggedBasket([]int{1, 2, 0}, false)
	d := NewDecoder(r)
	d.Begin(0, 3, []bool{false}, 1, Lengths{}, nil)
	if err := d.Basket(&b); err != nil {
		t.Error(err)
	}
	b.Data = b.Data[:11]
	d.Begin(0, 3, []bool{false}, 1, Lengths{}, nil)
	if err := d.Basket(&b); err == nil {
		t.Error("entries of 4 and 7 bytes are taken for lists of int")
	}
}

// TestObjectsNameTheirClass: entries of a TBranchObject begin with the class, which may
// be one below that of the branch.
func TestObjectsNameTheirClass(t *testing.T) {
	branch := func(class string, virtual bool) *ttree.Branch {
		return &ttree.Branch{Tree: &ttree.Tree{Path: "t"}, Path: "x", Class: "TBranchObject", ClassName: class,
			Leaves: []*ttree.Leaf{{Class: "TLeafObject", Len: 1, Virtual: virtual}}, Baskets: ttree.Baskets{First: []int64{0, 1}, Bytes: []int32{1}, Seek: []int64{1}}}
	}
	entry := func(class string) []byte {
		o := entry{}
		o.str(class)
		o.u8(0)
		o.i32(7)
		return o.b
	}
	r := interpret(branch("TDatime", true), &rfile.Infos{})
	b := &builder{cols: r.Columns}
	if cols, err := decodeEntries(b, r.steps, Lengths{}, entry("TDatime")); err != nil || shardify.View[uint32](cols[0].Data)[0] != 7 {
		t.Errorf("%v", err)
	}
	if _, err := decodeEntries(b, r.steps, Lengths{}, entry("TOther")); err == nil || !strings.Contains(err.Error(), `object of class "TOther" in a branch of TDatime`) {
		t.Errorf("another class: %v", err)
	}
	if r := interpret(branch("Event", true), &rfile.Infos{}); len(r.Columns) != 1 || !strings.Contains(r.Columns[0].Unreadable, "may have a streamer of its own") {
		t.Errorf("%+v", r.Columns)
	}
}
