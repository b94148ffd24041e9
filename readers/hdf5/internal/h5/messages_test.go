package h5

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// le writes numbers in little-endian order, each as wide as its type, and strings
// as they are.
func le(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, p)
		}
	}
	return b
}

func testFile() *File {
	m := meta.New(nil, 1<<40, "test", 0)
	m.OffsetSize, m.LengthSize, m.EOF = 8, 8, 1<<40
	m.GroupLeafK, m.GroupInternalK, m.ChunkK = 4, 16, 32
	return &File{File: m}
}

type (
	u1 = uint8
	u2 = uint16
	u4 = uint32
	u8 = uint64
)

// head starts a datatype of a class, version and bit field.
func head(class, version, bits, size int) []byte {
	return le(u1(version<<4|class), u1(bits), u1(bits>>8), u1(bits>>16), u4(size))
}

var i4 = le(head(0, 1, 8, 4), u2(0), u2(32))

func nested(depth int) []byte {
	if depth == 0 {
		return i4
	}
	return le(head(10, 3, 0, 4), u1(1), u4(1), nested(depth-1))
}

func TestHostileDatatypesAreRefused(t *testing.T) {
	f4 := func(exp, expSize, man, manSize u1) []byte {
		return le(head(1, 1, 31<<8|2<<4, 4), u2(0), u2(32), exp, expSize, man, manSize, u4(127))
	}
	for _, c := range []struct {
		what string
		b    []byte
		want string // "" is legal
	}{
		{"i4", i4, ""},
		{"empty", nil, "too few"},
		{"cut", i4[:10], "too few"},
		{"size 0", le(head(0, 1, 8, 0), u2(0), u2(32)), "0 bytes"},
		{"huge size", le(head(3, 1, 0, -1)), "bytes"},
		{"class 13", head(13, 1, 0, 4), "class 13"},
		{"version 0", head(3, 0, 0, 4), "version 0"},
		{"precision 0", le(head(0, 1, 0, 4), u2(0), u2(0)), "0 bits"},
		{"bits outside", le(head(0, 1, 0, 4), u2(8), u2(32)), "32 bits at bit 8"},
		{"f4", f4(23, 8, 0, 23), ""},
		{"exponent outside", f4(30, 8, 0, 23), "exponent 30+8"},
		{"mantissa outside", f4(23, 8, 20, 23), "mantissa 20+23"},
		{"no mantissa", f4(23, 8, 0, 0), "mantissa"},
		{"exponent in the mantissa", f4(22, 8, 0, 23), "overlap"},
		{"mantissa around the exponent", f4(10, 8, 0, 31), "overlap"},
		{"sign in the exponent", f4(24, 8, 0, 23), "overlap"},
		{"bit field", le(head(4, 1, 1, 4), u2(0), u2(32)), ""},
		{"bit field with a sign", le(head(4, 1, 8, 4), u2(0), u2(32)), "bits 0x8"},
		{"integer of no known kind", le(head(0, 1, 0x18, 4), u2(0), u2(32)), "bits 0x18"},
		{"string of encoding 8", head(3, 1, 0x81, 4), "encoding 8"},
		{"compound without members", head(6, 3, 0, 4), "without members"},
		{"more members than bytes", le(head(6, 3, 60000, 4), "a\x00", u1(0), i4), "60000 members"},
		{"compound", le(head(6, 3, 1, 4), "a\x00", u1(0), i4), ""},
		{"member outside", le(head(6, 3, 1, 4), "a\x00", u1(1), i4), "outside"},
		{"member without end", le(head(6, 3, 1, 4), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "without an end"},
		{"v1 member of rank 5", le(head(6, 1, 1, 4), "a\x00\x00\x00\x00\x00\x00\x00", u4(0), u1(5), make([]byte, 27), i4), "5 dimensions"},
		{"v1 member array outside", le(head(6, 1, 1, 4), "a\x00\x00\x00\x00\x00\x00\x00", u4(0), u1(1), make([]byte, 11), u4(2), make([]byte, 12), i4), "outside"},
		{"array", le(head(10, 3, 0, 12), u1(1), u4(3), i4), ""},
		{"array of another size", le(head(10, 3, 0, 16), u1(1), u4(3), i4), "12 bytes in an element of 16"},
		{"array of 0", le(head(10, 3, 0, 4), u1(1), u4(0), i4), "array"},
		{"array that overflows", le(head(10, 3, 0, 4), u1(3), u4(1<<31), u4(1<<31), u4(1<<31), i4), "array"},
		{"array of rank 0", le(head(10, 3, 0, 4), u1(0), i4), "rank 0"},
		{"nested 31 deep", nested(31), ""},
		{"nested 40 deep", nested(40), "nested"},
		{"enum", le(head(8, 3, 1, 4), i4, "a\x00", u4(1)), ""},
		{"enum of another size", le(head(8, 3, 1, 2), i4, "a\x00", u4(1)), "enumeration of 2 bytes"},
		{"enum of strings", le(head(8, 3, 1, 4), head(3, 1, 0, 4), "a\x00", u4(1)), "class 3"},
		{"enum with too many names", le(head(8, 3, 500, 4), i4, "a\x00", u4(1)), "500 names"},
		{"vlen", le(head(9, 1, 0, 16), i4), ""},
		{"vlen of 12 bytes", le(head(9, 1, 0, 12), i4), "12 bytes, not 16"},
		{"vlen of kind 2", le(head(9, 1, 2, 16), i4), "kind 2"},
		{"reference", head(7, 1, 0, 8), ""},
		{"reference of 4 bytes", head(7, 1, 0, 4), "4 bytes, not 8"},
		{"string padding 9", head(3, 1, 9, 4), "padding 9"},
		{"complex of integers", le(head(11, 5, 0, 8), i4), "class 0"},
	} {
		_, n, err := datatype.Parse(testFile().File, c.b, 0)
		switch {
		case c.want == "" && (err != nil || n != len(c.b)):
			t.Errorf("%s: %v, %d of %d bytes", c.what, err, n, len(c.b))
		case c.want != "" && (!errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestHostileMessagesAreRefused(t *testing.T) {
	f := testFile()
	space := func(b []byte) error { _, err := datatype.ParseSpace(f.File, b, 0); return err }
	layout := func(b []byte) error { _, err := dataset.ParseLayout(f.File, b, 0); return err }
	filters := func(b []byte) error { _, err := heap.ParseFilters(f.File, b, 0); return err }
	fill := func(b []byte) error { _, err := f.parseFill(message{typ: msgFill, data: b}, 4); return err }
	link := func(b []byte) error {
		l, err := f.parseLink(b, 0)
		if err == nil {
			err = l.Err
		}
		return err
	}
	attr := func(b []byte) error {
		a, err := f.parseAttribute(b, 0)
		if err == nil {
			err = a.Err
		}
		return err
	}
	scalar := le(u1(2), u1(0), u1(0), u1(0))
	for _, c := range []struct {
		what  string
		parse func([]byte) error
		b     []byte
		want  string
	}{
		{"scalar", space, scalar, ""},
		{"simple", space, le(u1(2), u1(2), u1(1), u1(1), u8(3), u8(0), u8(1<<64-1), u8(0)), ""},
		{"rank 33", space, le(u1(2), u1(33), u1(0), u1(1), make([]byte, 33*8)), "rank 33"},
		{"kind 3", space, le(u1(2), u1(0), u1(0), u1(3)), "kind 3"},
		{"scalar of rank 1", space, le(u1(2), u1(1), u1(0), u1(0), u8(3)), "rank 1"},
		{"version 3", space, le(u1(3), u1(0), u1(0), u1(0)), "version is 3"},
		{"max below size", space, le(u1(2), u1(1), u1(1), u1(1), u8(3), u8(2)), "at most 2"},
		{"sizes overflow", space, le(u1(2), u1(2), u1(0), u1(1), u8(1<<40), u8(1<<40)), "overflow"},
		{"cut space", space, le(u1(2), u1(2), u1(0), u1(1), u8(1)), "too few"},

		{"contiguous", layout, le(u1(3), u1(1), u8(100), u8(4)), ""},
		{"version 6", layout, le(u1(6), u1(1), u8(100), u8(4)), "version 6"},
		{"class 7", layout, le(u1(3), u1(7)), "class 7"},
		{"chunk size 0", layout, le(u1(3), u1(2), u1(2), u8(100), u4(0), u4(4)), "chunk size 0"},
		{"chunk of rank 40", layout, le(u1(3), u1(2), u1(40), u8(100)), "40 chunk sizes"},
		{"chunk overflows", layout, le(u1(4), u1(2), u1(0), u1(3), u1(8), u8(1<<40), u8(1<<40), u8(4), u1(2), u8(1)), "overflows"},
		{"index 6", layout, le(u1(4), u1(2), u1(0), u1(2), u1(1), u1(4), u1(4), u1(6), u8(1)), "kind 6"},
		{"compact outside", layout, le(u1(3), u1(0), u2(9), "12345678"), "too few"},
		{"old rank 0", layout, le(u1(1), u1(0), u1(1), make([]byte, 13)), "rank 0"},

		{"pipeline", filters, le(u1(2), u1(1), u2(1), u2(0), u2(1), u4(4)), ""},
		{"40 filters", filters, le(u1(2), u1(40)), "40 filters"},
		{"client data outside", filters, le(u1(2), u1(1), u2(1), u2(0), u2(60000), u4(4)), "too few"},

		{"fill", fill, le(u1(3), u1(1<<5), u4(4), u4(7)), ""},
		{"no fill", fill, le(u1(3), u1(1<<4)), ""},
		{"fill of 8 bytes", fill, le(u1(3), u1(1<<5), u4(8), u8(7)), "8 bytes for elements of 4"},
		{"fill outside", fill, le(u1(3), u1(1<<5), u4(4), u2(7)), "too few"},

		{"link", link, le(u1(1), u1(0), u1(1), "a", u8(50)), ""},
		{"link without a name", link, le(u1(1), u1(0), u1(0), u8(50)), "0 bytes"},
		{"link name outside", link, le(u1(1), u1(3), u8(1<<63), "a", u8(50)), "bytes"},
		{"link of kind 9", link, le(u1(1), u1(8), u1(9), u1(1), "a", u8(50)), "kind 9"},
		{"external link without an end", link, le(u1(1), u1(8), u1(64), u1(1), "a", u2(3), u1(0), "xy"), "without an end"},

		{"attribute", attr, le(u1(3), u1(0), u2(2), u2(len(i4)), u2(4), u1(0), "a\x00", i4, scalar, u4(7)), ""},
		{"attribute outside", attr, le(u1(3), u1(0), u2(2), u2(len(i4)), u2(4), u1(0), "a\x00", i4, scalar, u2(7)), "in 2 bytes"},
		{"attribute name outside", attr, le(u1(3), u1(0), u2(200), u2(len(i4)), u2(4), u1(0), "a\x00"), "too few"},
	} {
		err := c.parse(c.b)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestHeaderMessagesEndInsideTheirHeader(t *testing.T) {
	r := &headerReader{f: testFile()}
	if err := r.messages(le(u2(msgComment), u2(8), u4(0), "comment\x00"), 0); err != nil || len(r.msgs) != 1 {
		t.Fatal(err)
	}
	for _, v2 := range []bool{false, true} {
		r := &headerReader{f: testFile(), v2: v2}
		b := le(u2(msgComment), u2(16), u4(0), "comment\x00")
		if v2 {
			b = le(u1(msgComment), u2(9), u1(0), "comment\x00")
		}
		if err := r.messages(b, 0); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("v2 %v: %v", v2, err)
		}
	}
}

func TestVirtualMappings(t *testing.T) {
	f := openBytes(t, readTestdata(t, "virtual.h5"))
	l, err := f.Lookup("/v")
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.Object(l.Addr, "/v")
	if err != nil {
		t.Fatal(err)
	}
	ds, err := o.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	m, err := ds.Mappings()
	if err != nil || len(m) != 2 {
		t.Fatal(m, err)
	}
	if m[0].File != "src.h5" || m[0].Dataset != "a/x" || m[0].Source.Kind != dataset.SelectAll || len(m[0].Virtual.Boxes) != 2 || !slices.Equal(m[0].Virtual.Boxes[1].First, []int64{3, 0}) {
		t.Errorf("%+v", m[0])
	}
	if m[1].File != "." || m[1].Dataset != "y" || !slices.Equal(m[1].Source.Boxes[0].First, []int64{1, 2}) || !slices.Equal(m[1].Virtual.Boxes[0].Last, []int64{7, 1}) {
		t.Errorf("%+v", m[1])
	}
	if !slices.Equal(ds.Fill, []byte{7, 0, 0, 0}) {
		t.Errorf("fill %v", ds.Fill)
	}
}

// With short addresses a heap ID holds the place of a huge object itself.
func TestHugeObjectsWithoutAnIndex(t *testing.T) {
	f := openBytes(t, readTestdata(t, "sizes.h5"))
	if f.OffsetSize != 2 || f.LengthSize != 4 {
		t.Fatalf("%+v", f)
	}
	l, err := f.Lookup("/g/" + strings.Repeat("long", 1200) + "/n7/n3")
	if err != nil || l.Path != "/g" {
		t.Fatalf("%.40v %v", l, err)
	}
}

// A B-tree with fewer records than its header says has lost some.
func TestLostRecordsAreNoticed(t *testing.T) {
	b := readTestdata(t, "new.h5")
	found := 0
	for i := 0; ; {
		k := strings.Index(string(b[i:]), "BTHD")
		if k < 0 {
			break
		}
		i += k + 4
		total := i - 4 + 26 // after magic, version, type, sizes, depth, split, merge, root, root count
		b[total]++
		binary.LittleEndian.PutUint32(b[total+8:], codecs.Lookup3(b[i-4:total+8]))
		found++
	}
	if found == 0 {
		t.Fatal("no B-tree")
	}
	if err := walkAll(openBytes(t, b), nil); err == nil || !strings.Contains(err.Error(), "the header says") {
		t.Errorf("%v", err)
	}
}
