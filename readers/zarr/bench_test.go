package zarr

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/shardify/shardify"
)

// BenchmarkRead reads a store to its end. SHARDIFY_ZARR names another one than that made here.
func BenchmarkRead(b *testing.B) {
	dir := os.Getenv("SHARDIFY_ZARR")
	if dir == "" {
		x := &madeArray{dtype: "<f4", size: 4, shape: []int{40, 181, 360}, chunk: []int{1, 181, 360}, data: randomBytes(rand.New(rand.NewPCG(1, 2)), 40*181*360*4)}
		dir = writeStore(b, 3, map[string]*madeArray{"x": x})
	}
	src, err := openStores(b, nil, nil, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	ctx, pool := context.Background(), shardify.NewPool(1<<30)
	for b.Loop() {
		r, err := src.Reader(0)
		if err != nil {
			b.Fatal(err)
		}
		bytes := int64(0)
		for sp, err := range src.Spans(ctx, 8<<20) {
			if err != nil {
				b.Fatal(err)
			}
			mem, err := pool.Grant(ctx, sp.Bytes)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Read(ctx, sp, mem); err != nil {
				b.Fatal(err)
			}
			mem.Release()
			bytes += sp.Bytes
		}
		r.Close()
		b.SetBytes(bytes)
	}
}
