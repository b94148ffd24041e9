package readers_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// A source makes its spans from metadata; readers read them into arenas.
func Example() {
	ctx := context.Background()
	f, ok := readers.Lookup("synth")
	if !ok {
		log.Fatal(readers.Names())
	}
	in, err := readers.Open(ctx, f, readers.Request{Options: format.Options{"schema": "x:f32,n:i32*3", "samples": "1000"}})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Source.Close()
	for _, field := range in.Source.Schema() {
		fmt.Println(field.Name, field.DType, field.Levels)
	}
	r, err := in.Source.Reader(0)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	pool, samples := shardify.NewPool(8<<20), 0
	for span, err := range in.Source.Spans(ctx, 1<<12) {
		if err != nil {
			log.Fatal(err)
		}
		mem, err := pool.Grant(ctx, span.Bytes)
		if err != nil {
			log.Fatal(err)
		}
		b, err := r.Read(ctx, span, mem)
		if err != nil {
			log.Fatal(err)
		}
		samples += b.Samples
		mem.Release()
	}
	fmt.Println(samples, "samples")
	// Output:
	// x f32 0
	// n i32 1
	// 1000 samples
}
