package megatron_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/megatron"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, megatron.Format, nil) }

// TestIndexFindsEverySequence reads the pair as Megatron-LM does.
func TestIndexFindsEverySequence(t *testing.T) {
	f := shardify.Field{Name: "tokens", DType: shardify.I32, Levels: 1}
	s := writertest.Schema{Name: "tokens", Fields: []shardify.Field{f}}
	const n = 50
	b := writertest.Batches(s, n, 5, n)[0]
	want := writertest.Slice(b, 0, n)
	mem := memory.New()
	sink, err := megatron.Format.New(mem, format.ShardSpec{Name: "shard-000000.bin", Schema: s.Fields, Samples: n, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	bin, idx := mem.Files()["shard-000000.bin"], mem.Files()["shard-000000.idx"]
	u64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(idx[at:])) }
	if string(idx[:9]) != "MMIDIDX\x00\x00" || u64(9) != 1 || idx[17] != 4 || u64(18) != n || u64(26) != n+1 || len(idx) != 34+12*n+8*(n+1) {
		t.Fatalf("head %x, %d bytes", idx[:34], len(idx))
	}
	for i := range n {
		tokens, at := int64(binary.LittleEndian.Uint32(idx[34+4*i:])), u64(34+4*n+8*i)
		lo, hi := want.Columns[0].Range(i, i+1)
		if string(bin[at:at+4*tokens]) != string(want.Columns[0].Data[lo:hi]) || u64(34+12*n+8*i) != int64(i) {
			t.Fatalf("sequence %d: %d tokens at %d", i, tokens, at)
		}
	}
	if u64(34+12*n+8*n) != n {
		t.Errorf("the last document ends at %d", u64(34+20*n))
	}
}

func TestOnlyTokensAreTaken(t *testing.T) {
	ok := shardify.Field{Name: "t", DType: shardify.U16, Levels: 1}
	bad := map[string][]shardify.Field{
		"two fields": {ok, {Name: "u", DType: shardify.U16, Levels: 1}},
		"text":       {{Name: "t", DType: shardify.U8, Levels: 1, Media: "txt"}},
		"floats":     {{Name: "t", DType: shardify.F32, Levels: 1}},
		"u32":        {{Name: "t", DType: shardify.U32, Levels: 1}},
		"a scalar":   {{Name: "t", DType: shardify.I32}},
		"a matrix":   {{Name: "t", DType: shardify.I32, Shape: []int{2, 3}}},
		"nullable":   {{Name: "t", DType: shardify.I32, Levels: 1, Nullable: true}},
	}
	for name, schema := range bad {
		if megatron.Format.Check(schema, false, nil) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := megatron.Format.Check([]shardify.Field{ok}, false, nil); err != nil {
		t.Error(err)
	}
	if err := megatron.Format.Check([]shardify.Field{{Name: "t", DType: shardify.I64, Shape: []int{128}}}, false, nil); err != nil {
		t.Error(err)
	}
}
