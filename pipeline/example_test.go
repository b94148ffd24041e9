package pipeline_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
)

func ExampleConvert() {
	s := pipeline.Settings{
		Inputs: []string{"photos/"}, Output: "photos-shards",
		Shuffle: "global", Split: "train=0.9,val=0.1", Options: map[string]string{"labels": "folder"},
	}
	ctx := pipeline.WithHooks(context.Background(), pipeline.Hooks{
		Progress: func(p pipeline.Progress) { fmt.Printf("%d of %d shards\n", p.Shards, p.AllShards) },
	})
	r, err := pipeline.Convert(ctx, s)
	if err != nil {
		log.Fatal(err, shardify.Hints(err))
	}
	fmt.Println(r.Manifest.Samples, "samples in", r.Shards(), "shards")
}
