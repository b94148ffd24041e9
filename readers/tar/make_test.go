package tar

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// part is a member of a tar to be made.
type part struct {
	name string
	data []byte
	typ  byte
	link string
}

// pack makes a tar in one of the forms of archive/tar.
func pack(t testing.TB, form stdtar.Format, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdtar.NewWriter(&b)
	for _, p := range parts {
		h := &stdtar.Header{Name: p.name, Size: int64(len(p.data)), Mode: 0o644, Format: form, Typeflag: p.typ, Linkname: p.link}
		if form == stdtar.FormatPAX && p.typ == 0 {
			h.PAXRecords = map[string]string{"SHARDIFY.test": "1"}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// v7 makes headers as they were before USTAR: no magic, folders end in a slash.
func v7(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+512 <= len(b); at += 512 {
		h := b[at : at+512]
		if string(h[257:262]) != "ustar" {
			continue
		}
		clear(h[257:])
		h[156] = 0
		resum(h)
	}
	return b
}

// resum gives a header its checksum.
func resum(h []byte) {
	copy(h[148:], "        ")
	copy(h[148:], fmt.Sprintf("%06o\x00", tar.Sum(h)))
}

// arrayFile is a NumPy file of f32.
func arrayFile(rng *rand.Rand, dims ...int64) []byte {
	b := npy.AppendHeader(nil, shardify.F32, dims)
	n, _ := npy.Bytes(shardify.F32, dims)
	for range n {
		b = append(b, byte(rng.Uint32()))
	}
	return b
}

// samples are n samples with a member of every kind.
func samples(rng *rand.Rand, prefix string, n int) (all []part) {
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for i := range n {
		key := fmt.Sprintf("%s%04d", prefix, i)
		add := func(ext string, data []byte) { all = append(all, part{name: key + "." + ext, data: data}) }
		add("cls", fmt.Appendf(nil, "%d", rng.IntN(10)-2))
		add("fixed.npy", arrayFile(rng, 2, 3))
		add([]string{"jpg", "png"}[rng.IntN(2)], text(rng.IntN(900)))
		add("json", []byte(`{"a":1}`))
		add("list.npy", arrayFile(rng, int64(rng.IntN(5)), 2))
		add("seg.png", text(rng.IntN(40)))
		add("vol.npy", arrayFile(rng, int64(1+rng.IntN(3)), int64(1+rng.IntN(4)), 2))
	}
	return all
}

// write puts files into a folder of their own and makes their table.
func write(t testing.TB, files map[string][]byte, order ...string) *format.Table {
	t.Helper()
	dir := t.TempDir()
	tab := &format.Table{Roots: []string{dir}}
	for _, n := range order {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, n)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, n), files[n], 0o666); err != nil {
			t.Fatal(err)
		}
		tab.Append(0, n, int64(len(files[n])), 0)
	}
	return tab
}

func openAll(tab *format.Table, columns []string, state []byte, set ...string) (shardify.Source, error) {
	o := format.Options{}
	for i := 0; i+1 < len(set); i += 2 {
		o[set[i]] = set[i+1]
	}
	o, err := format.CheckOptions(options, o)
	if err != nil {
		return nil, err
	}
	return Format.Open(context.Background(), format.OpenArgs{Table: tab, Columns: columns, Options: o, State: state})
}

// one opens a single tar.
func one(t testing.TB, name string, b []byte, set ...string) (shardify.Source, error) {
	return openAll(write(t, map[string][]byte{name: b}, name), nil, nil, set...)
}
