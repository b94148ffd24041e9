package wds_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
)

var update = flag.Bool("update", false, "rewrite the golden dump")

// TestGolden pins every byte of a small shard: a change of the dump changes
// every data set. -update rewrites it.
func TestGolden(t *testing.T) {
	b := keyed("cat/0001", "cat/0002")
	b.Columns[0].Data = []byte{7, 12}
	add := func(f shardify.Field, data string, offsets ...[]int64) {
		b.Columns = append(b.Columns, shardify.Column{Field: f, Data: []byte(data), Offsets: offsets})
	}
	words := media("words", "txt")
	words.Levels = 2
	add(media("image", "image"), "\x89PNG\xff\xd8jpeg", []int64{0, 4, 10})
	add(labelled(field("image.ext", shardify.U8), "jpg\npng"), "\x01\x00")
	add(field("x", shardify.F32, 2), "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40")
	add(shardify.Field{Name: "Jet_pt", DType: shardify.I16, Levels: 1}, "\x01\x00\x02\x00\x03\x00", []int64{0, 3, 3})
	add(words, "one\"two\"", []int64{0, 2, 2}, []int64{0, 3, 8})
	var schema []shardify.Field
	for i := range b.Columns {
		schema = append(schema, b.Columns[i].Field)
	}
	files, rec := shard(t, schema, b)
	got := fmt.Appendf(nil, "%s: %d samples, %d bytes, %s\n", rec.Name, rec.Samples, rec.Bytes, rec.Digest)
	got = dumpTar(got, files[rec.Name])
	got = append(got, rec.Files[0].Name+": "+rec.Files[0].Digest+"\n"...)
	for i, idx := 0, files[rec.Files[0].Name]; i < len(idx); i += 8 {
		got = fmt.Appendf(got, "%08x  u64 %d\n", i, binary.LittleEndian.Uint64(idx[i:]))
	}
	const name = "testdata/shard.dump"
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the bytes are not those of %s:\n%s", name, got)
	}
}

// dumpTar lists all bytes but rows of zeros, under a title for every part.
func dumpTar(dst, b []byte) []byte {
	for at := 0; at < len(b); {
		h, err := tar.ParseHeader(b[at:])
		if err != nil {
			return append(dump(append(dst, "end blocks\n"...), b, at, len(b)), "\n"...)
		}
		dst = fmt.Appendf(dst, "header of %s, %d bytes\n", h.Name, h.Size)
		dst = append(dump(dst, b, at, at+tar.Block), "data\n"...)
		end := at + tar.Block + int(h.Size)
		dst = dump(dst, b, at+tar.Block, end)
		at = end + int(tar.Pad(h.Size))
		dst = dump(append(dst, "filler\n"...), b, end, at)
	}
	return dst
}

func dump(dst, b []byte, lo, hi int) []byte {
	for ; lo < hi; lo += 16 {
		row := b[lo:min(lo+16, hi)]
		if len(bytes.Trim(row, "\x00")) == 0 {
			continue
		}
		text := bytes.Map(func(r rune) rune {
			if r < 0x20 || r > 0x7e {
				return '.'
			}
			return r
		}, row)
		dst = fmt.Appendf(dst, "%08x  % -47x  %s\n", lo, row, text)
	}
	return dst
}
