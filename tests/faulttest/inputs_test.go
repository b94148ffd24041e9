//go:build linux && amd64

package faulttest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Case is a small conversion of several shards.
type Case struct {
	Name  string
	In    []string
	Flags []string
	// Parts has the inputs planned in parts, by a program whose parts are small.
	Parts bool
}

// Program is the one that carries it out.
func (c *Case) Program() string {
	if c.Parts {
		return "shardify-parts"
	}
	return "shardify"
}

// Command is a command line of the program.
func (c *Case) Command(args ...string) []string { return append([]string{c.Program()}, args...) }

// Convert is the command that carries it out.
func (c *Case) Convert(out string, more ...string) []string {
	return append(append([]string{"convert"}, c.args(out)...), more...)
}

// Plan is the command that plans it.
func (c *Case) Plan(out string, more ...string) []string {
	return append(append([]string{"plan"}, c.args(out)...), more...)
}

func (c *Case) args(out string) []string {
	a := append([]string{}, c.In...)
	a = append(a, "-o", out, "--jobs", "1", "--quiet")
	return append(a, c.Flags...)
}

// Want is what an unbroken run gives.
func (c *Case) Want(t testing.TB) Files {
	t.Helper()
	out := filepath.Join(t.TempDir(), "unbroken")
	Must(t, c.Command(c.Convert(out)...)...)
	files, temps := Tree(t, out)
	if len(temps) > 0 {
		t.Fatalf("%s: left %v", c.Name, temps)
	}
	return files
}

// Cases are conversions of every format, to both kinds of shards, and of what has
// stages of its own.
func Cases(t testing.TB) []Case {
	t.Helper()
	tree, npz := Folder(t, 12), NPZ(t, 12)
	testdata := func(name string) string { return filepath.Join(Root(t), "readers", name) }
	hdf5, parquet := testdata("hdf5/testdata/calo.hdf5"), testdata("parquet/testdata/codec-zstd.parquet")
	root := testdata("root/testdata/events-0.root")
	five := []string{"--shard-samples", "5"}
	with := func(flags ...string) []string { return append(append([]string{}, five...), flags...) }
	return []Case{
		{Name: "files-wds", In: []string{tree}, Flags: with("--format", "wds")},
		{Name: "files-mmap", In: []string{tree}, Flags: with("--format", "mmap")},
		{Name: "npz-mmap", In: []string{npz}, Flags: with("--format", "mmap")},
		{Name: "npz-wds", In: []string{npz}, Flags: with("--format", "wds", "--dali")},
		{Name: "hdf5-mmap", In: []string{hdf5}, Flags: []string{"--shard-samples", "8", "--format", "mmap"}},
		{Name: "root-mmap", In: []string{root}, Flags: []string{"--shard-samples", "120", "--format", "mmap", "--object", "Events"}},
		{Name: "parquet-mmap", In: []string{parquet}, Flags: []string{"--shard-samples", "100", "--format", "mmap"}},
		{Name: "npz-mmap-global-split", In: []string{npz}, Flags: with("--format", "mmap", "--shuffle", "global", "--split", "train=0.6,val=0.4")},
		{Name: "jsonl-megatron-tokens", In: []string{Texts(t, 25)}, Flags: with("--columns", "text", "--tokenize", "text="+Ranks(t)+" pattern=gpt2 append-eod=300", "--format", "megatron")},
		{Name: "files-wds-global", In: []string{tree}, Flags: with("--format", "wds", "--shuffle", "global", "--provenance")},
	}
}

// CasesInParts are conversions whose inputs are planned in parts, some of which are measured again
// when the last one is known.
func CasesInParts(t testing.TB) []Case {
	t.Helper()
	tree := Folder(t, 20)
	late := Folder(t, 20)
	for i := 9; i < 20; i++ {
		p := filepath.Join(late, fmt.Sprintf("c%d", i%2), fmt.Sprintf("%03d.txt", i))
		if err := os.WriteFile(p, fmt.Appendf(nil, "text of %d", i), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return []Case{
		{Name: "parts-wds", In: []string{tree}, Flags: []string{"--shard-size", "1KiB", "--format", "wds"}, Parts: true},
		{Name: "parts-mmap", In: []string{late}, Flags: []string{"--shard-size", "1KiB", "--format", "mmap", "--missing", "fill"}, Parts: true},
	}
}

// Find is the case of a name.
func Find(t testing.TB, cases []Case, name string) Case {
	t.Helper()
	for _, c := range cases {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case %s", name)
	return Case{}
}

// Folder makes a tree of n small files in two folders.
func Folder(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for i := range n {
		p := filepath.Join(dir, fmt.Sprintf("c%d", i%2), fmt.Sprintf("%03d.bin", i))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, bytes.Repeat([]byte{byte(i)}, 100+i*37), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pairFolder is a folder of n images, and a tar of their masks.
func pairFolder(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	var masks bytes.Buffer
	w := tar.NewWriter(&masks)
	err := os.Mkdir(filepath.Join(dir, "images"), 0o777)
	for i := range n {
		b := bytes.Repeat([]byte{byte(i)}, 10+i*7)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "images", fmt.Sprintf("%03d.jpg", i)), bytes.Repeat(b, 9), 0o666),
			w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%03d_m.png", i), Size: int64(len(b)), Mode: 0o644}))
		_, e := w.Write(b)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close(), os.WriteFile(filepath.Join(dir, "masks.tar"), masks.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// array is an NPY file of n rows.
func array(n, columns int) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, columns)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00\x76\x00"), head...)
	for i := range n * columns * 4 {
		b = append(b, byte(i*7+i>>8))
	}
	return b
}

// NPY makes an array file of 12 rows.
func NPY(t testing.TB) string {
	t.Helper()
	return file(t, "a.npy", array(12, 5))
}

// NPZ makes an archive of two arrays of n rows, one of them deflated.
func NPZ(t testing.TB, n int) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, m := range []string{"x.npy", "y.npy"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m, Method: []uint16{zip.Deflate, zip.Store}[i]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(array(n, 5-i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "a.npz", b.Bytes())
}

// Texts makes JSON lines of n texts.
func Texts(t testing.TB, n int) string {
	t.Helper()
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, "{\"id\": %d, \"text\": %q}\n", i, strings.Repeat("It was the age of foolishness. ", i))
	}
	return file(t, "texts.jsonl", b)
}

// Ranks makes a tokenizer of bytes and a few words.
func Ranks(t testing.TB) string {
	t.Helper()
	var b []byte
	for i := range 256 {
		b = fmt.Appendf(b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, word := range []string{"It", " w", "as", " was", "th", "ag"} {
		b = fmt.Appendf(b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(word)), 256+i)
	}
	return file(t, "ranks.tiktoken", b)
}

func file(t testing.TB, name string, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}
