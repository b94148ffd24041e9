package arrow

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

var fields = []Field{
	{Name: "x", Kind: Float, Bits: 32},
	{Name: "names", Kind: List, Children: []Field{{Name: "element", Kind: Text}}},
	{Name: "image", Kind: Struct, Children: []Field{{Name: "bytes", Kind: Binary}, {Name: "path", Kind: Text}}},
	{Name: "m", Kind: FixedList, Size: 3, Children: []Field{{Name: "element", Kind: Int, Bits: 8}}},
	{Name: "b", Kind: Bool},
}

// TestMessagesEndWhereTheyShould: what follows a message begins at a multiple of 8 or 64 bytes, and the
// length in front of it is its own.
func TestMessagesEndWhereTheyShould(t *testing.T) {
	for _, c := range []struct{ at, align int }{{-1, 8}, {0, Align}, {8, Align}} {
		for n := range 70 {
			b := Schema(fields, [][2]string{{"key", string(bytes.Repeat([]byte("v"), n))}}, c.at)
			if (max(c.at, 0)+len(b))%c.align != 0 {
				t.Errorf("at %d: %d bytes", c.at, len(b))
			}
			if mark, size := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:])); mark != 0xffffffff || size != len(b)-8 {
				t.Errorf("at %d: mark %x, length %d of %d", c.at, mark, size, len(b)-8)
			}
			if !bytes.Contains(b, []byte("names\x00")) || !bytes.Contains(b, []byte("element\x00")) {
				t.Error("a name is missing")
			}
		}
	}
}

// TestHeadsSayWhatWasWritten: a head is parsed to what it was made of, and no other head is.
func TestHeadsSayWhatWasWritten(t *testing.T) {
	h := NewHeads(fields)
	if len(h.Nodes) != 9 || len(h.Sizes) != 2+(2+3)+(1+3+3)+(1+2)+2 {
		t.Fatalf("%d nodes, %d buffers", len(h.Nodes), len(h.Sizes))
	}
	for i := range h.Nodes {
		h.Nodes[i] = Node{int64(100 + i), int64(i)}
	}
	want := int64(0)
	for i := range h.Sizes {
		h.Sizes[i] = int64(i * 31)
		want += Padded(h.Sizes[i])
	}
	head, body := h.Next(100)
	head = bytes.Clone(head)
	if body != want || len(head)%Align != 0 || len(head) != h.Bytes() {
		t.Errorf("head of %d bytes, body of %d, want %d", len(head), body, want)
	}
	again := NewHeads(fields)
	if rows, size, ok := again.Parse(head); !ok || rows != 100 || size != body || again.Nodes[3] != (Node{103, 3}) || again.Sizes[5] != 155 {
		t.Errorf("parsed: %d rows, %d bytes, %v, %v", rows, size, again.Nodes, ok)
	}
	for i := range head {
		bad := bytes.Clone(head)
		bad[i] ^= 0x80
		rows, _, ok := again.Parse(bad)
		if ok && rows == 100 && slices.Equal(again.Nodes, h.Nodes) && slices.Equal(again.Sizes, h.Sizes) {
			t.Errorf("byte %d is not looked at", i)
		}
	}
	if _, _, ok := again.Parse(head[:len(head)-8]); ok {
		t.Error("a cut head is parsed")
	}
}

// TestFooterNamesItsBlocks: the last block is in front of the length, which is that of the footer.
func TestFooterNamesItsBlocks(t *testing.T) {
	a := Footer(fields, nil, []Block{{64, 128, 640}})
	b := Footer(fields, nil, []Block{{64, 128, 640}, {832, 192, 1 << 40}})
	if len(b) != len(a)+24 || string(b[len(b)-6:]) != "ARROW1" || int(binary.LittleEndian.Uint32(b[len(b)-10:])) != len(b)-10 {
		t.Fatalf("footers of %d and %d bytes", len(a), len(b))
	}
	last := b[len(b)-34:]
	if off, head, body := binary.LittleEndian.Uint64(last), binary.LittleEndian.Uint32(last[8:]), binary.LittleEndian.Uint64(last[16:]); off != 832 || head != 192 || body != 1<<40 {
		t.Errorf("block %d %d %d", off, head, body)
	}
	if (len(a)-10-24)%8 != 0 {
		t.Error("blocks are not aligned")
	}
}
