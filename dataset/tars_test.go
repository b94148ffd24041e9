package dataset

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage/memory"
)

// foreignTar is a tar of another program: long names, PAX and GNU headers, members that belong to no sample.
func foreignTar(t testing.TB, form stdtar.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdtar.NewWriter(&b)
	add := func(name, data string) {
		err := w.WriteHeader(&stdtar.Header{Name: name, Size: int64(len(data)), Mode: 0o644, Format: form})
		if err == nil {
			_, err = w.Write([]byte(data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		key := fmt.Sprintf("./d/%d", i)
		if i == 2 && form != stdtar.FormatUSTAR {
			key += strings.Repeat("long", 40)
		}
		add(key+".JPG", strings.Repeat("image", 150*i))
		if i > 1 {
			add(key+".cls", fmt.Sprintf(" %d\n", i))
		}
		add(key+".v.npy", array(shardify.F32, "12345678", 2))
		add(key+".w.npy", array(shardify.U8, "123456"[:2*i], int64(i), 2))
		add(key+".r.npy", array(shardify.U8, "123456"[:2*i], 2, int64(i)))
		add("d/.hidden", "x")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openTar opens bytes as a set of one tar.
func openTar(b []byte) (*Set, error) {
	store := memory.New()
	store.Set("a.tar", b)
	in := memory.Files{Store: store, Prefix: "mem://"}
	table := &format.Table{Roots: []string{"mem://"}}
	table.Append(0, "a.tar", int64(len(b)), 1)
	s := &Set{FS: in, Path: "mem://", Foreign: true}
	return s, s.scan(context.Background(), table, nil, true)
}

// tryTar opens any bytes as a tar, and reads all samples that it found from other bytes.
func tryTar(t testing.TB, b, then []byte) (string, error) {
	t.Helper()
	ours := func(err error) bool {
		return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
	}
	s, err := openTar(b)
	if err != nil {
		if !ours(err) {
			t.Fatal(err)
		}
		return "", err
	}
	shard, err := s.Tar()
	if err != nil {
		t.Fatal(err)
	}
	at := s.loose.places[0]
	if int64(len(at)-1) != s.Samples || at[s.Samples] > int64(len(b)) {
		t.Fatalf("%d samples at %v in %d bytes", s.Samples, at, len(b))
	}
	w := NewWalk(shard)
	w.Hold(then, 0)
	text, err := values(w, shard, at)
	if err != nil && !ours(err) {
		t.Fatal(err)
	}
	if err != nil && bytes.Equal(b, then) {
		t.Fatalf("the index was made, and the samples are not read: %v", err)
	}
	return text, err
}

// TestTarsOfOthers: all forms of headers give the same values.
func TestTarsOfOthers(t *testing.T) {
	for _, form := range []stdtar.Format{stdtar.FormatUSTAR, stdtar.FormatPAX, stdtar.FormatGNU} {
		b := foreignTar(t, form)
		got, err := tryTar(t, b, b)
		if err != nil {
			t.Fatal(form, err)
		}
		for _, line := range []string{`d/1 v 1 true "12345678"`, `d/3 w 3 true "123456"`, `d/3 r 6 true "123456"`, `d/3 cls 1 true "\x03\x00\x00\x00\x00\x00\x00\x00"`, `d/0 jpg 0 true ""`} {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("%s: no %s in\n%s", form, line, got)
			}
		}
	}
}

// TestChangedTars: what is not as it was when the tar was indexed is an error, not another value.
func TestChangedTars(t *testing.T) {
	b := foreignTar(t, stdtar.FormatUSTAR)
	edit := func(member string, f func(h []byte)) []byte {
		c := bytes.Clone(b)
		at := bytes.Index(c, []byte(member))
		f(c[at : at+tar.Block])
		resumTar(c[at : at+tar.Block])
		return c
	}
	for what, then := range map[string][]byte{
		"another type":   edit("./d/2.cls", func(h []byte) { h[156] = 'D' }),
		"twice":          edit("./d/2.cls", func(h []byte) { copy(h, "./d/2.jpg\x00") }),
		"another sample": edit("./d/2.cls", func(h []byte) { copy(h, "./d/1.cls\x00") }),
		"another name":   edit("./d/2.cls", func(h []byte) { copy(h, "./d/2.cla\x00") }),
	} {
		if text, err := tryTar(t, b, then); err == nil {
			t.Errorf("%s is no error:\n%s", what, text)
		}
	}
}

// resumTar makes the checksum of a header right.
func resumTar(h []byte) {
	copy(h[148:156], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// TestMutatedTars: damaged tars are errors or other tars, and a tar that changes after it was indexed does not
// end the process.
func TestMutatedTars(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	refused, read := 0, 0
	var good [][]byte
	for _, form := range []stdtar.Format{stdtar.FormatUSTAR, stdtar.FormatPAX, stdtar.FormatGNU} {
		good = append(good, foreignTar(t, form))
	}
	for n := range 1000 {
		b := good[n%3]
		c := bytes.Clone(b)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(c)/tar.Block) * tar.Block
			h := c[at : at+tar.Block]
			switch rng.IntN(6) {
			case 0:
				c = c[:max(at, tar.Block)]
				continue
			case 1:
				copy(h, c[rng.IntN(len(c)/tar.Block)*tar.Block:][:tar.Block])
			case 2:
				copy(h[124:], fmt.Sprintf("%011o", rng.Uint64()>>(31+rng.IntN(33))))
			case 3:
				h[156] = "0x1LKgS75\x00"[rng.IntN(10)]
			case 4:
				h[rng.IntN(60)] = "0a.-_/\x00A"[rng.IntN(8)]
			default:
				h[rng.IntN(tar.Block)] = byte(rng.Uint32())
			}
			if string(h[257:262]) == "ustar" {
				resumTar(h)
			}
		}
		if _, err := tryTar(t, c, c); err != nil {
			refused++
		} else {
			read++
		}
		if len(c) < len(b) {
			c = append(c, b[len(c):]...)
		}
		_, _ = tryTar(t, b, c)
	}
	if refused < 200 || read < 50 {
		t.Errorf("%d refused, %d read", refused, read)
	}
}

// FuzzTars opens any bytes as a tar without an index.
func FuzzTars(f *testing.F) {
	for _, form := range []stdtar.Format{stdtar.FormatUSTAR, stdtar.FormatPAX, stdtar.FormatGNU} {
		f.Add(foreignTar(f, form))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		begin := time.Now()
		_, _ = tryTar(t, b, b)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%d bytes took %v", len(b), took)
		}
	})
}
