package rfile

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// framed is an object with a byte count.
func framed(version int, body ...[]byte) []byte {
	b := u16(u32(nil, 0), version)
	for _, x := range body {
		b = append(b, x...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4)|byteCountBit)
	return b
}

// slotted is a slot with a new object, whose class is named again.
func slotted(class string, body []byte) []byte {
	b := append(append(u32(nil, 0, -1), class...), 0)
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4)|byteCountBit)
	return b
}

func named(name, title string) []byte {
	return framed(1, u32(u16(nil, 1), 0, 0), cstr(nil, name), cstr(nil, title))
}

func array(slots ...[]byte) []byte {
	return framed(3, append([][]byte{u32(u16(nil, 1), 0, 0), cstr(nil, ""), u32(nil, len(slots), 0)}, slots...)...)
}

// element is the body that all kinds of elements have.
func element(name, title, typeName string, code int, dims ...int) []byte {
	n := 0
	for _, d := range dims {
		n = max(n, 1) * d
	}
	five := append(append([]int{}, dims...), make([]int, 5-len(dims))...)
	return framed(4, named(name, title), u32(u32(nil, code, 8, n, len(dims)), five...), cstr(nil, typeName))
}

// infoOf is the slot of a TStreamerInfo and the option behind it.
func infoOf(class string, version, sum int, elements ...[]byte) []byte {
	return append(slotted("TStreamerInfo", framed(9, named(class, ""), u32(nil, sum, version), slotted("TObjArray", array(elements...)))), 0)
}

// infoFile is a file with a list of these infos.
func infoFile(list ...[]byte) []byte {
	m := &maker{layout: layout{begin: 100}, b: makeFile(layout{}, sample)}
	at := len(m.b)
	payload := framed(5, append([][]byte{u32(u16(nil, 1), 0, 0), cstr(nil, ""), u32(nil, len(list))}, list...)...)
	k := m.record("TList", "StreamerInfo", 1, payload)
	copy(m.b[12:], u32(nil, len(m.b)))
	copy(m.b[37:], u32(nil, at, len(k)+len(payload)))
	return m.b
}

// TestStreamerInfos: all kinds of elements are framed differently; an info that is
// damaged, or no info, does not hide the others.
func TestStreamerInfos(t *testing.T) {
	good := infoOf("Good", 3, 0x1234,
		slotted("TStreamerBase", framed(3, element("TObject", "", "BASE", 66), u32(nil, 1))),
		slotted("TStreamerBasicType", framed(2, element("m", "[0,1,10]", "Double32_t", 29, 2, 3))),
		slotted("TStreamerBasicPointer", framed(2, element("p", "[n]", "float*", 45), u32(nil, 1), cstr(nil, "n"), cstr(nil, "Base"))),
		slotted("TStreamerSTLstring", framed(2, framed(3, element("s", "", "string", 500), u32(nil, 365, 365)))),
		slotted("TStreamerSTL", framed(3, element("v", "", "vector<int>", 500), u32(nil, 1, 3))))
	broken := infoOf("Broken", 1, 7, slotted("TStreamerBase", framed(3, u32(nil, 1, 2, 3))))
	rules := append(slotted("TList", framed(5, u32(nil, 1, 2, 3))), 0)
	f := openBytes(t, infoFile(broken, rules, good, infoOf("Good", 4, 0x99)))
	infos := f.Streamers()
	if len(infos.All()) != 2 || !errors.Is(infos.Problem, shardify.ErrCorrupt) || !strings.Contains(infos.Problem.Error(), "made.root") {
		t.Fatalf("%d infos, problem %v", len(infos.All()), infos.Problem)
	}
	i := infos.Version("Good", 3)
	if i == nil || i != infos.checkSum("Good", 0x1234) || infos.Latest("Good").Version != 4 || infos.Find("Good", 0, 0x99).Version != 4 || infos.Find("Good", 5, 0) != nil {
		t.Fatalf("lookups give %+v", i)
	}
	if len(i.Elements) != 5 {
		t.Fatalf("%d elements", len(i.Elements))
	}
	m, p, s, v := i.Element("m"), i.Element("p"), i.Element("s"), i.Element("v")
	if m.Len != 6 || len(m.Dims) != 2 || m.Dims[1] != 3 || m.Title != "[0,1,10]" || m.Type != 29 {
		t.Errorf("array: %+v", m)
	}
	if p.CountName != "n" || p.CountClass != "Base" || i.Elements[0].BaseVersion != 1 {
		t.Errorf("pointer: %+v", p)
	}
	if s.Type != 500 || s.STLType != 365 || v.STLType != 1 || v.CType != 3 {
		t.Errorf("string %+v, vector %+v", s, v)
	}
	if none := openBytes(t, makeFile(layout{}, sample)).Streamers(); len(none.All()) != 0 || none.Problem != nil {
		t.Errorf("a file without infos: %v", none.Problem)
	}
}
