package gpuload_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
)

func Example() {
	ctx := context.Background()
	set, err := gpuload.Open(ctx, "data/train")
	if err != nil {
		log.Fatal(err)
	}
	l, err := set.Loader(gpuload.Config{Batch: 256, Shuffle: gpuload.Block, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for epoch := range 10 {
		for {
			b, err := l.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			_ = b.Host("x") // 256 samples, row-major
			b.Release()
		}
		fmt.Println(epoch, l.Stats().Verdict)
	}
}

// A state is written beside the model's and continues at the same sample, on any
// number of ranks.
func ExampleLoader_Restore() {
	set, err := gpuload.Open(context.Background(), "data/train")
	if err != nil {
		log.Fatal(err)
	}
	l, err := set.Loader(gpuload.Config{Batch: 256, Shuffle: gpuload.Global, Rank: 3, World: 8})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	s := l.State()
	text, err := s.Encode()
	if err != nil {
		log.Fatal(err)
	}
	if s, err = gpuload.DecodeState(text); err != nil {
		log.Fatal(err)
	}
	if err := l.Restore(s); err != nil {
		log.Fatal(err)
	}
}

// Images are stored as bytes and delivered as normalised half floats; on a GPU its
// kernel converts them. The whole set is kept there if it fits into 40 GiB.
func ExampleCast() {
	set, err := gpuload.Open(context.Background(), "data/train")
	if err != nil {
		log.Fatal(err)
	}
	l, err := set.Loader(gpuload.Config{
		Batch: 256, Shuffle: gpuload.Block, DeviceMemory: 40 << 30,
		Cast: map[string]gpuload.Cast{"image": {
			DType: shardify.F16,
			Scale: []float32{0.0171, 0.0175, 0.0174}, Shift: []float32{-2.118, -2.036, -1.804}, // by channel, axis 0
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	fmt.Println(l.Notes(), l.Device().Name, l.Stats().DeviceMemory)
}
