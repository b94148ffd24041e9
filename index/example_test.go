package index_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mmap"
)

// A shard is written, and one of its columns is found in the file again.
func ExampleParseShard() {
	schema := []shardify.Field{{Name: "x", DType: shardify.F32}}
	folder := memory.New()
	sink, _ := mmap.New(folder, format.ShardSpec{Name: "shard-000000.safetensors", Schema: schema, Samples: 3, Exact: true})
	sink.Write(&shardify.Batch{Samples: 3, Columns: []shardify.Column{{Field: schema[0], Data: shardify.Bytes([]float32{1, 2, 4})}}})
	record, err := sink.Commit(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	file := folder.Files()[record.Name]

	s, err := index.ParseShard(bytes.NewReader(file), record.Bytes)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := s.Tensor("x")
	fmt.Println(x.Type, x.Shape, "bytes", x.Lo, "to", x.Hi)
	fmt.Println(s.CheckTensor(bytes.NewReader(file), 0, make([]byte, 1<<20)))
	// Output:
	// F32 [3] bytes 4096 to 4108
	// <nil>
}
