package writers_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers"
)

// A sink writes one shard. No reader sees it before Commit.
func Example() {
	f, ok := writers.Lookup("mmap")
	if !ok {
		log.Fatal(writers.Names())
	}
	field := shardify.Field{Name: "x", DType: shardify.F32}
	sink, err := f.New(memory.New(), format.ShardSpec{Name: "shard-000000" + f.Ext, Schema: []shardify.Field{field}, Samples: 3, Exact: true})
	if err != nil {
		log.Fatal(err)
	}
	defer sink.Abort()
	b := &shardify.Batch{Samples: 3, Columns: []shardify.Column{{Field: field, Data: shardify.Bytes([]float32{1, 2, 3})}}}
	if err := sink.Write(b); err != nil {
		log.Fatal(err)
	}
	shard, err := sink.Commit(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(shard.Name, shard.Samples)
	// Output: shard-000000.safetensors 3
}
