package shelf

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/race"
)

// numbers decodes rows of one byte each, which are their numbers.
func numbers(lo, hi int64) func(r *Row) error {
	return func(r *Row) error {
		r.Data = make([]byte, hi-lo)
		for i := range r.Data {
			r.Data[i] = byte(lo) + byte(i)
		}
		return nil
	}
}

func put(t *testing.T, s *Shelf, room Room, key any, lo, hi int64) {
	t.Helper()
	room.Bytes, room.Decoding = hi-lo, hi-lo
	if err := s.Put(context.Background(), room, key, lo, hi, numbers(lo, hi)); err != nil {
		t.Fatal(err)
	}
}

func TestTakeAndPut(t *testing.T) {
	s, a, b := &Shelf{}, new(int), new(int)
	take := func(key any, lo, hi int64) (got []byte, ok bool) {
		ok = s.Take(key, lo, hi, func(r *Row, from int64) { got = append(got, r.Data[from:from+hi-lo]...) })
		return got, ok
	}
	if _, ok := take(a, 0, 1); ok {
		t.Fatal("an empty shelf gives rows")
	}
	room := Room{Share: 100}
	put(t, s, room, a, 10, 20)
	for _, c := range []struct {
		key    any
		lo, hi int64
		want   string
	}{{a, 10, 20, "\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13"}, {a, 13, 15, "\x0d\x0e"}, {a, 19, 20, "\x13"}, {a, 9, 11, ""}, {a, 19, 21, ""}, {b, 13, 15, ""}} {
		if got, ok := take(c.key, c.lo, c.hi); string(got) != c.want || ok != (c.want != "") {
			t.Errorf("rows [%d, %d): %q, %v; want %q", c.lo, c.hi, got, ok, c.want)
		}
	}
	bad := errors.New("bad")
	room.Bytes = 1
	err := s.Put(context.Background(), room, b, 0, 1, func(r *Row) error { r.Data = []byte{1}; return bad })
	if _, ok := take(b, 0, 1); err != bad || ok {
		t.Errorf("rows that cannot be decoded: %v, kept: %v", err, ok)
	}
	if put(t, s, room, b, 0, 1); s.busy || len(s.rows) != 2 {
		t.Errorf("after an error: busy %v, %d rows", s.busy, len(s.rows))
	}
}

func TestTexts(t *testing.T) {
	s, key := &Shelf{}, new(int)
	texts := []string{"a", "", "bcd", "e", "fg", ""}
	err := s.Put(context.Background(), Room{Share: 100, Bytes: 50}, key, 0, 3, func(r *Row) error { // two in a row
		r.Pack(len(texts), func(i int) []byte { return []byte(texts[i]) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for lo := range int64(3) {
		for hi := lo + 1; hi <= 3; hi++ {
			got := make([]string, 2*(hi-lo))
			s.Take(key, lo, hi, func(r *Row, from int64) {
				r.Texts(2*from, 2*(hi-lo), func(i int64, text []byte) { got[i] = string(text) })
			})
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", texts[2*lo:2*hi]) {
				t.Errorf("rows [%d, %d): %q, want %q", lo, hi, got, texts[2*lo:2*hi])
			}
		}
	}
	if race.On {
		return
	}
	var to [64]byte
	if n := testing.AllocsPerRun(100, func() {
		s.Take(key, 1, 3, func(r *Row, from int64) {
			r.Texts(2*from, 4, func(i int64, text []byte) { copy(to[i:], text) })
		})
	}); n != 0 {
		t.Errorf("Take allocates %v times", n)
	}
}

// TestBound fills a shelf: what was not used of late leaves, and there is never more than the readers' share.
func TestBound(t *testing.T) {
	s, key := &Shelf{}, new(int)
	p := shardify.NewPool(8000)
	mem, err := p.Grant(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Release()
	room := Room{Arena: mem, Share: 100}
	s.Join()
	s.Join() // 200 bytes
	has := func(lo int64) bool { return s.Take(key, lo, lo+1, func(*Row, int64) {}) }
	if put(t, s, room, key, 0, 201); has(0) {
		t.Error("rows of more than the share are kept")
	}
	for lo := int64(0); lo < 240; lo += 60 {
		if put(t, s, room, key, lo, lo+60); s.bytes() > 200 {
			t.Fatalf("%d bytes", s.bytes())
		}
	}
	if !has(0) || !has(60) || !has(120) || has(180) {
		t.Error("rows used of late left for others")
	}
	for range 20 {
		has(60)
	}
	if put(t, s, room, key, 180, 240); has(0) || !has(60) || !has(180) {
		t.Error("rows not used of late stay")
	}
	s.Leave()
	if !has(60) {
		t.Error("a shelf is empty before its last reader leaves")
	}
	s.Leave()
	if has(60) || s.bytes() != 0 || s.scratch.Share() != 0 {
		t.Error("a shelf has rows after its last reader has left")
	}
}
