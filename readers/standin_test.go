package readers

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestFilesForWhichOthersStand: pairs are found by either file and by their folder, and a folder
// of tars with indexes of their own stays one of tars.
func TestFilesForWhichOthersStand(t *testing.T) {
	idx := append([]byte("MMIDIDX\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08"), make([]byte, 8)...)
	idx = binary.LittleEndian.AppendUint64(idx, 1)
	idx = append(idx, make([]byte, 8)...)
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	a, b := put("pairs/a.idx", idx), put("pairs/a.bin", nil)
	put("pairs/b.idx", idx)
	put("pairs/b.bin", nil)
	put("tars/x.tar", nil)
	put("tars/x.idx", []byte("v1.2 1"))
	lone := put("files/x.bin", []byte("x"))
	for _, c := range []struct {
		in, want string
		files    int
	}{
		{a, "megatron", 1},
		{b, "megatron", 1},
		{filepath.Join(dir, "pairs"), "megatron", 2},
		{filepath.Join(dir, "tars"), "tar", 1},
		{filepath.Join(dir, "files"), "files", 1},
	} {
		f, _, err := Choose(context.Background(), nil, "", []string{c.in})
		if err != nil || f.Name != c.want {
			t.Errorf("%s: %s, %v; want %s", c.in, f.Name, err, c.want)
			continue
		}
		table, left, err := List(context.Background(), f, Request{Inputs: []string{c.in}})
		if err != nil || table.Len() != c.files || c.want == "megatron" && len(left) > 0 {
			t.Errorf("%s: %d files, left %v, %v", c.in, table.Len(), left, err)
		}
	}
	if f, _, err := Choose(context.Background(), nil, "", []string{lone}); err == nil && f.Name == "megatron" {
		t.Error("a .bin alone is no pair")
	}
	if table, _, err := List(context.Background(), mustLookup(t, "megatron"), Request{Inputs: []string{a, b}}); err != nil || table.Len() != 1 {
		t.Errorf("both files of a pair: %v, %v", table, err)
	}
}

func mustLookup(t *testing.T, name string) format.Input {
	f, ok := Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	return f
}
