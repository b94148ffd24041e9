package entries

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// TestSwapsEqualOneByOne compares the loops that move eight bytes at a time with the
// plain ones, for every length up to some of their steps.
func TestSwapsEqualOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	mem := shardify.NewPool(1 << 20).Overdraft()
	for _, size := range []int{1, 2, 4, 8} {
		for n := range 70 {
			src := make([]byte, n*size)
			for i := range src {
				src[i] = byte(rng.Uint32()) >> rng.IntN(9)
			}
			want := bytes.Clone(src)
			for i := 0; i < len(want); i += size {
				for a, b := i, i+size-1; a < b; a, b = a+1, b-1 {
					want[a], want[b] = want[b], want[a]
				}
			}
			dt := map[int]shardify.DType{1: shardify.I8, 2: shardify.U16, 4: shardify.F32, 8: shardify.I64}[size]
			w := wire.Plain(dt)
			dst := mem.Alloc(len(src))
			if w.Decode(dst, src); !bytes.Equal(dst, want) {
				t.Fatalf("%d values of %d bytes: %x, want %x", n, size, dst, want)
			}
			if size == 1 {
				b := wire.Plain(shardify.Bool)
				b.Decode(dst, src)
				for i, v := range src {
					if dst[i] > 1 || (v != 0) != (dst[i] == 1) {
						t.Fatalf("bool of byte %#x is %d", v, dst[i])
					}
				}
			}
		}
	}
}

// TestPackedFloats: the annotations of Double32_t and Float16_t, in the leaf titles
// that writers make.
func TestPackedFloats(t *testing.T) {
	u32 := func(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
	f32 := func(v float32) []byte { return u32(math.Float32bits(v)) }
	mem := shardify.NewPool(1 << 20).Overdraft()
	for _, c := range []struct {
		title  string
		double bool
		bytes  []byte
		want   float64
	}{
		{"x", true, f32(1.5), 1.5},
		{"x[3]", true, f32(-2), -2},
		{"d[0,0,20]", true, f32(7.25), 7.25},
		{"x[0,10]", true, u32(0xffffffff), 10},
		{"x[2][-1,1,2]", true, u32(1), -0.5},
		{"x[-pi,pi,8]", true, u32(128), 0},
		{"[0, 2*pi, 3]", true, u32(4), math.Pi},
		{"x[0,0,10]", true, []byte{127, 0x02, 0x00}, 1.5},
		{"x[0,0,10]", true, []byte{127, 0x0a, 0x00}, -1.5},
		{"f", false, []byte{127, 0x08, 0x00}, 1.5},
		{"f[0,0,16]", false, []byte{128, 0x28, 0x00}, -3},
		{"f[n][0,4,2]", false, u32(3), 3},
	} {
		w := wire.Packed(c.title, c.double)
		if w.Size != len(c.bytes) {
			t.Errorf("%s: %d bytes a value, want %d", c.title, w.Size, len(c.bytes))
			continue
		}
		dst := mem.Alloc(w.Bytes())
		w.Decode(dst, c.bytes)
		got := 0.0
		if c.double {
			got = shardify.View[float64](dst)[0]
		} else {
			got = float64(shardify.View[float32](dst)[0])
		}
		if math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.title, got, c.want)
		}
	}
}

func TestTypeNamesComeApart(t *testing.T) {
	for _, c := range []struct {
		name, item string
		isMap      bool
	}{
		{"vector<float>", "float", false},
		{"std::vector<std::vector<int> >", "vector<int>", false},
		{"ROOT::VecOps::RVec<unsigned long>", "unsigned long", false},
		{"map<string,vector<pair<int,float> > >", "pair<string,vector<pair<int,float> >>", true},
		{"vector<T,allocator<T> >", "T", false},
		{"TLorentzVector", "", false},
		{"pair<int,float>", "", false},
	} {
		item, isMap, ok := wire.ItemOf(wire.Tidy(c.name))
		if item != c.item || isMap != c.isMap || ok != (c.item != "") {
			t.Errorf("%s: %q, map %v", c.name, item, isMap)
		}
	}
}

// jaggedBasket is a basket of one jagged branch with these lengths, and what it is
// read by.
func jaggedBasket(lengths []int, counted bool) (*Reading, ttree.Basket, Lengths) {
	const bias = 70
	var b ttree.Basket
	lists := []int64{0}
	for _, n := range lengths {
		b.Raw = binary.BigEndian.AppendUint32(b.Raw, uint32(len(b.Data)+bias))
		for range n {
			b.Data = binary.BigEndian.AppendUint32(b.Data, uint32(len(b.Data)))
		}
		lists = append(lists, lists[len(lists)-1]+int64(n))
	}
	b.Entries, b.Bias, b.Mask = len(lengths), bias, 0xFFFFFFFF
	branch := &ttree.Branch{Tree: &ttree.Tree{Path: "t"}, Path: "x"}
	r := &Reading{Branch: branch, layout: layoutJagged, Columns: []Column{{DType: shardify.I32, Levels: 1}},
		fields: []flatField{{wire: wire.Plain(shardify.I32), per: 1}}}
	if !counted {
		return r, b, Lengths{}
	}
	r.Counts = &Reading{Branch: &ttree.Branch{Tree: branch.Tree, Path: "n"}}
	return r, b, Lengths{Lists: lists}
}

// TestLengthsMustAgreeWithTheCounts: a jagged entry that has another length than its
// counter says is never delivered.
func TestLengthsMustAgreeWithTheCounts(t *testing.T) {
	mem := shardify.NewPool(1 << 20).Overdraft()
	lengths := []int{3, 0, 2, 5, 1, 0, 4}
	for span := range 3 { // whole, from inside, up to inside
		lo, hi := []int64{0, 2, 0}[span], []int64{7, 7, 5}[span]
		for wrong := -1; wrong < len(lengths); wrong++ {
			r, b, l := jaggedBasket(lengths, true)
			if wrong >= 0 { // move one element to the entry behind
				if wrong+1 == len(lengths) || l.Lists[wrong+1] == l.Lists[wrong] {
					continue
				}
				l.Lists[wrong+1]--
			}
			base := l.Lists[lo]
			lists := append([]int64{}, l.Lists[lo:hi+1]...)
			for i := range lists {
				lists[i] -= base
			}
			d := NewDecoder(r)
			d.Begin(lo, hi, []bool{true}, 1, Lengths{Lists: lists}, mem)
			err := d.Basket(&b)
			var col shardify.Column
			col.Levels = 1
			if err == nil {
				err = d.Finish(0, &col)
			}
			inside := wrong >= 0 && int64(wrong) < hi && int64(wrong+1) > lo
			if inside && (err == nil || !strings.Contains(err.Error(), "length")) {
				t.Errorf("span %d: count %d is wrong: %v", span, wrong, err)
			}
			if !inside && err != nil {
				t.Errorf("span %d, wrong %d: %v", span, wrong, err)
			}
		}
	}
}

// TestCountedEqualsMeasured: with and without counts the same values come out.
func TestCountedEqualsMeasured(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	mem := shardify.NewPool(1 << 20).Overdraft()
	for range 50 {
		lengths := make([]int, 1+rng.IntN(40))
		for i := range lengths {
			lengths[i] = rng.IntN(6)
		}
		var cols [2]shardify.Column
		for k := range cols {
			r, b, l := jaggedBasket(lengths, k == 0)
			d := NewDecoder(r)
			d.Begin(0, int64(len(lengths)), []bool{true}, 1, l, mem)
			if err := d.Basket(&b); err != nil {
				t.Fatal(err)
			}
			cols[k].Levels = 1
			if err := d.Finish(0, &cols[k]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(cols[0].Data, cols[1].Data) || !bytes.Equal(shardify.Bytes(cols[0].Offsets[0]), shardify.Bytes(cols[1].Offsets[0])) {
			t.Fatalf("lengths %v: %v and %v", lengths, cols[0], cols[1])
		}
	}
}

// TestObjectsEndWhereTheySay: members are neither read from behind an object's end,
// nor is what an entry holds left unexplained.
func TestObjectsEndWhereTheySay(t *testing.T) {
	object := func(count int, values int) []byte {
		b := binary.BigEndian.AppendUint32(nil, hasByteCount|uint32(count))
		b = binary.BigEndian.AppendUint16(b, 1)
		return append(b, make([]byte, 4*values)...)
	}
	steps := []step{{op: opObject, kids: []step{{op: opValues, wire: wire.Plain(shardify.I32), n: 2, cols: []int{0}}}}}
	two := append(steps[:1:1], step{op: opObject, kids: []step{{op: opSkip, n: 8}}})
	for _, c := range []struct {
		name  string
		entry []byte
		ok    bool
	}{
		{"as described", object(2+8, 2), true},
		{"further members at the end", object(2+12, 3), false},
		{"shorter than its members", append(object(2+4, 1), make([]byte, 4)...), false},
		{"longer than the entry", object(2+16, 2), false},
		{"bytes behind it", append(object(2+8, 2), 0), false},
		{"cut", object(2+8, 2)[:9], false},
		{"two", append(object(2+8, 2), object(2+8, 2)...), true},
		{"two, the first reads into the second", append(object(2+4, 1), object(2+8, 2)...), false},
	} {
		branch := &ttree.Branch{Tree: &ttree.Tree{Path: "t"}, Path: "x"}
		r := &Reading{Branch: branch, layout: layoutProgram, Columns: []Column{{DType: shardify.I32, Shape: []int{2}}}, steps: steps}
		if strings.HasPrefix(c.name, "two") {
			r.steps = two
		}
		d := NewDecoder(r)
		d.Begin(0, 1, []bool{true}, 1, Lengths{}, shardify.NewPool(1<<20).Overdraft())
		if err := d.Basket(&ttree.Basket{Entries: 1, Width: len(c.entry), Data: c.entry}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
