package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
)

// npyBytes makes an NPY file. data is as in the file.
func npyBytes(descr string, fortran bool, shape []int, data []byte) []byte {
	if !strings.HasPrefix(descr, "[") {
		descr = "'" + descr + "'"
	}
	order := "False"
	if fortran {
		order = "True"
	}
	dims := ""
	for _, d := range shape {
		dims += fmt.Sprintf("%d,", d)
	}
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': (%s), }", descr, order, dims)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(npyHeader(1, text), data...)
}

// random is n bytes that repeat themselves enough to be compressed.
func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		if rng.IntN(3) == 0 {
			b[i] = byte(rng.Uint32())
		}
	}
	return b
}

// floats are little-endian float32 of small whole numbers.
func floats(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, 4*n)
	for range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(rng.IntN(64))<<23|uint32(rng.IntN(256)))
	}
	return b
}

// member is a file to be put into an archive.
type member struct {
	name   string
	method uint16
	data   []byte
}

func archive(members ...member) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err == nil {
			_, err = f.Write(m.data)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func writeFile(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// folder writes files and lists them, in the order given.
func folder(t testing.TB, files ...member) *format.Table {
	t.Helper()
	dir := t.TempDir()
	table := &format.Table{Roots: []string{dir}}
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, f.data)
		table.Append(0, f.name, int64(len(f.data)), 0)
	}
	return table
}

// roots makes a table of several roots, each a list of files.
func roots(t testing.TB, groups ...[]member) *format.Table {
	t.Helper()
	var all format.Table
	for _, g := range groups {
		sub := folder(t, g...)
		all.Roots = append(all.Roots, sub.Roots[0])
		for i := range sub.Len() {
			all.Append(len(all.Roots)-1, sub.Name(i), sub.Size(i), 0)
		}
	}
	return &all
}

// npyHeader frames a header text as version v does.
func npyHeader(v byte, text string) []byte {
	b := []byte(npy.Magic)
	b = append(b, v, 0)
	if v == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(b, text...)
}
