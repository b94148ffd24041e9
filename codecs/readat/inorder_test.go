package readat

import (
	"bytes"
	"compress/flate"
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestInOrder takes, passes and fills, of a part of a file and of the same bytes packed: the places are the same.
func TestInOrder(t *testing.T) {
	part := strings.Repeat("0123456789", 1000)
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, 5)
	w.Write([]byte(part))
	w.Close()
	n := int64(packed.Len())
	started := New(strings.NewReader("ab"+strings.Repeat("?", 100)+part[100:]+"yz"), 2, 10000)
	started.Begin([]byte(part[:100]))
	for what, in := range map[string]*InOrder{
		"started": started,
		"plain":   New(strings.NewReader("ab"+part+"yz"), 2, 10000),
		"packed":  New(strings.NewReader("ab"+packed.String()), 2, n).Unpack(),
	} {
		in.Size = 10000
		dst := make([]byte, 9000)
		a, err := in.Peek(4)
		b, err2 := in.Take(12)
		if err != nil || err2 != nil || string(a) != "0123" || string(b) != "012345678901" || in.Pos != 12 {
			t.Errorf("%s: %q, %q at %d, %v, %v", what, a, b, in.Pos, err, err2)
		}
		err, err2 = in.Skip(3), in.Fill(dst)
		if err != nil || err2 != nil || string(dst) != part[15:9015] || in.Pos != 9015 {
			t.Errorf("%s: %.20q at %d, %v, %v", what, dst, in.Pos, err, err2)
		}
		if err := in.Skip(980); err != nil || in.End() {
			t.Errorf("%s: the end at %d, %v", what, in.Pos, err)
		}
		if b, err = in.Take(5); err != nil || string(b) != "56789" || !in.End() {
			t.Errorf("%s: %q at %d, %v", what, b, in.Pos, err)
		}
		if string(a) != "0123" {
			t.Errorf("%s: what was taken is %q", what, a)
		}
		var e *shardify.Error
		if _, err := in.Take(1); !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || what != "packed" && e.Offset != 10002 || what == "packed" && e.Offset != 2 {
			t.Errorf("%s: beyond the end: %v", what, err)
		}
	}
}

// TestDamage: what is packed ends early, or is no DEFLATE.
func TestDamage(t *testing.T) {
	for _, s := range []string{"", "\x4b\x4c", "\xff\xff\xff\xff\xff"} {
		in := New(strings.NewReader(s), 0, int64(len(s))).Unpack()
		in.Size = 100
		if _, err := in.Take(8); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
