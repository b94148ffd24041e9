package convert_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// A conversion from Go: what shardify convert does. Run again it goes on where it was.
func ExampleJob_Convert() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	samples, err := convertTo(context.Background(), filepath.Join(dir, "out"), "synth", nil, format.Options{"samples": "500"})
	fmt.Println(samples, err)
	// Output: 500 <nil>
}

// convertTo converts inputs of a format; if it is "", the inputs decide.
func convertTo(ctx context.Context, folder, kind string, inputs []string, given format.Options) (int64, error) {
	f, _, err := readers.Choose(ctx, nil, kind, inputs)
	if err != nil {
		return 0, err
	}
	options, err := format.CheckOptions(f.Options, given)
	if err != nil {
		return 0, err
	}
	in, err := readers.Open(ctx, f, readers.Request{Inputs: inputs, Options: options})
	if err != nil {
		return 0, err
	}
	defer in.Source.Close()
	sink, _ := writers.Lookup("mmap")
	plan, err := convert.MakePlan(ctx, convert.Request{Input: f.Name, Source: in.Source, Args: in.Args, Output: sink})
	if err != nil {
		return 0, err
	}
	job := convert.Job{Plan: plan, Source: in.Source, Sink: sink, Store: convert.Folder(folder)}
	m, err := job.Convert(ctx)
	if err != nil {
		return 0, err
	}
	return m.Samples, nil
}
