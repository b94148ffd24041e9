package index_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mmap"
)

var update = flag.Bool("update", false, "rewrite testdata/*.dump")

// tiny is two samples of one field of each kind.
func tiny() (schema []shardify.Field, b *shardify.Batch) {
	schema = []shardify.Field{
		{Name: "x", DType: shardify.F32, Shape: []int{2}, Attrs: map[string]string{"unit": "GeV"}},
		{Name: "hits", DType: shardify.I16, Levels: 1, Nullable: true},
		{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt"},
	}
	b = &shardify.Batch{Samples: 2, Columns: []shardify.Column{
		{Field: schema[0], Data: shardify.Bytes([]float32{1, -2, 0.5, 4})},
		{Field: schema[1], Data: shardify.Bytes([]int16{7, -1, 300}), Offsets: [][]int64{{0, 3, 3}}, Valid: []byte{1, 0}},
		{Field: schema[2], Data: []byte("hithere"), Offsets: [][]int64{{0, 2, 2}, {0, 2, 7}}},
	}}
	key := index.KeyField()
	b.Keys = &shardify.Column{Field: key, Data: []byte("a/0a/1"), Offsets: [][]int64{{0, 3, 6}}}
	return schema, b
}

// The bytes of version 1 of the layout. A change here that old readers could
// misread needs another version number.
func TestMmapShardBytes(t *testing.T) {
	schema, b := tiny()
	mem := memory.New()
	sink, err := mmap.New(mem, format.ShardSpec{Name: "tiny.safetensors", Schema: schema, Samples: 2, Exact: true, Keyed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(b); err != nil {
		t.Fatal(err)
	}
	sh, err := sink.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	file := mem.Files()[sh.Name]
	text := dump(t, file) + fmt.Sprintf("\nrecord: %d samples, %d bytes, digest %s\n", sh.Samples, sh.Bytes, sh.Digest)
	golden := filepath.Join("testdata", "mmap.dump")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the bytes changed (-update rewrites %s):\n%s", golden, text)
	}
}

// dump writes one line per item: offset range, bytes, meaning.
func dump(t *testing.T, file []byte) string {
	t.Helper()
	s, err := index.ParseShard(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	line := func(lo, hi int64, show, meaning string) {
		out.WriteString(strings.TrimRight(fmt.Sprintf("%5d-%-5d  %-26s %s", lo, hi, show, meaning), " ") + "\n")
	}
	hex := func(lo, hi int64) string { return fmt.Sprintf("% x", file[lo:hi]) }
	line(0, 8, hex(0, 8), "n, the length of the header text")
	at, text := int64(8), string(bytes.TrimRight(file[8:s.HeaderBytes], " "))
	for _, part := range strings.SplitAfter(strings.ReplaceAll(strings.ReplaceAll(text, `},"`, "},\x00\""), `,"shardify`, ",\x00\"shardify"), "\x00") {
		part = strings.TrimSuffix(part, "\x00")
		line(at, at+int64(len(part)), part, "")
		at += int64(len(part))
	}
	line(at, s.HeaderBytes, "20 ...", "padding: spaces")
	for i := range s.Places {
		p, spec := &s.Places[i], &s.Tensors[i]
		fmt.Fprintf(&out, "tensor %s: %s %v, crc32c %08x\n", p.Name, p.Type, p.Shape, s.CRC32C[i])
		for lo, row := p.Lo, max(spec.Row, 1); lo < p.Hi; lo += row {
			line(lo, lo+row, hex(lo, lo+row), fmt.Sprintf("%s[%d]%s", p.Name, (lo-p.Lo)/row, value(spec.DType, file[lo:lo+row])))
		}
	}
	return out.String()
}

func value(d shardify.DType, b []byte) string {
	b = append(make([]byte, 0, 64), b...)
	switch d {
	case shardify.F32:
		return fmt.Sprint(" = ", shardify.View[float32](b))
	case shardify.I64:
		return fmt.Sprint(" = ", shardify.View[int64](b)[0])
	case shardify.I16:
		return fmt.Sprint(" = ", shardify.View[int16](b)[0])
	case shardify.U8:
		return fmt.Sprintf(" = %q", b)
	}
	return fmt.Sprint(" = ", b[0])
}
