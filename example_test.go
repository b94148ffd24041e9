package shardify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardify/shardify"
)

// A batch is columns of bytes. Lists have offsets; buffers come from an arena of a pool.
func Example() {
	pool := shardify.NewPool(1 << 20)
	mem, err := pool.Grant(context.Background(), 4096)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Release()

	field := shardify.Field{Name: "pt", DType: shardify.F32, Levels: 1}
	data, ends := mem.Alloc(3*4), mem.Int64s(3)
	copy(shardify.View[float32](data), []float32{10, 40, 25})
	copy(ends, []int64{0, 2, 3}) // two samples: [10 40] and [25]
	b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{{Field: field, Data: data, Offsets: [][]int64{ends}}}}

	fmt.Println(b.Match([]shardify.Field{field}))
	lo, hi := b.Columns[0].Range(0, 1)
	fmt.Println(shardify.View[float32](b.Columns[0].Data[lo:hi]))
	// Output:
	// <nil>
	// [10 40]
}
