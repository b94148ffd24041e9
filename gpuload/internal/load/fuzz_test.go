package load

import (
	"errors"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

var fuzzSchema = []shardify.Field{
	{Name: "x", DType: shardify.F32, Shape: []int{2}},
	{Name: "flag", DType: shardify.Bool},
	{Name: "hits", DType: shardify.U16, Levels: 1, Counter: "J"},
	{Name: "more", DType: shardify.U8, Levels: 1, Counter: "J"},
	{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt", Nullable: true},
}

// fuzzSample is the members of a good sample.
func fuzzSample(words string) (b []byte) {
	array := func(d shardify.DType, data string, dims ...int64) string {
		return string(npy.AppendHeader(nil, d, dims)) + data
	}
	for _, m := range [][2]string{
		{"flag.npy", array(shardify.Bool, "\x01")}, {"hits.npy", array(shardify.U16, "abcdef", 3)}, {"more.npy", array(shardify.U8, "abc", 3)},
		{"words.json", words}, {"x.npy", array(shardify.F32, "12345678", 2)},
	} {
		h := make([]byte, tar.Block)
		tar.PutHeader(h, []byte("000000-000000000."+m[0]), int64(len(m[1])))
		b = append(append(append(b, h...), m[1]...), make([]byte, tar.Pad(int64(len(m[1]))))...)
	}
	return b
}

// FuzzTarSample reads the bytes of one sample of a tar: rubbish is an error, never
// a panic, and what is accepted has lengths that fit its bytes.
func FuzzTarSample(f *testing.F) {
	names, err := tar.MemberNames(fuzzSchema)
	if err != nil {
		f.Fatal(err)
	}
	layout, err := index.NewLayout(fuzzSchema, true)
	if err != nil {
		f.Fatal(err)
	}
	m := &index.Manifest{Format: index.FormatWDS, Schema: fuzzSchema, Members: names, Samples: 1, Shards: []shardify.Shard{{Name: "s.tar", Samples: 1, Bytes: 1 << 20}}}
	shards, err := NewShards([]*dataset.Set{{Manifest: m, Path: "set", Layout: layout}}, layout, VerifyNone)
	if err != nil {
		f.Fatal(err)
	}
	sh := shards.Shards[0]
	f.Add(fuzzSample(`["one","","three"]`))
	f.Add(fuzzSample("null"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = raw[:len(raw)&^(tar.Block-1)]
		if len(raw) == 0 || len(raw) > 1<<20 {
			return
		}
		one := Table{Layout: layout, mem: HostMemory{}, Data: make([][]byte, len(layout.Tensors)), Counts: make([]int64, len(layout.Tensors))}
		defer one.Close()
		if err := one.Reset(1); err != nil {
			t.Fatal(err)
		}
		s := span{Run: Run{Sh: sh, Lo: 0, Hi: 1}, h: &OpenShard{Shard: sh, Index: []int64{0, int64(len(raw))}}}
		s.take(raw)
		ld := Reader{Shards: shards, hold: true}
		err := s.parse(&one)
		if err == nil {
			err = layOut(&one, index.LeadOffsets)
		}
		if err == nil {
			err = s.measureTexts(&ld, &one)
		}
		if err == nil {
			err = layOut(&one, index.LeadLists)
		}
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		for i := range layout.Tensors {
			if layout.Tensors[i].Lead != index.LeadElements {
				continue
			}
			n := one.total(lastOffsets(layout.ColumnOf(i)))
			if n*layout.Tensors[i].Row > int64(len(raw)) {
				t.Fatalf("%d elements out of %d bytes", n, len(raw))
			}
			if err := one.setCount(i, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.fillTar(&ld, &one); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("error is %v", err)
		}
	})
}
