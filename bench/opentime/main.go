// Command opentime prints the seconds that it takes to open inputs, learn their schema
// and lay out all reads, and to read the first samples, as the best of several rounds.
//
//	opentime [-object NAME] FILE...
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
)

func main() {
	object := flag.String("object", "", "what to read in the file")
	rounds := flag.Int("rounds", 5, "the best of so many")
	flag.Parse()
	best := time.Hour
	for range *rounds {
		start := time.Now()
		if err := once(*object, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "opentime:", err)
			os.Exit(1)
		}
		best = min(best, time.Since(start))
	}
	fmt.Printf("%.6f\n", best.Seconds())
}

func once(object string, inputs []string) error {
	ctx := context.Background()
	f, _, err := readers.Choose(ctx, nil, "", inputs)
	if err != nil {
		return err
	}
	given := format.Options{}
	if object != "" {
		given["object"] = object
	}
	options, err := format.CheckOptions(f.Options, given)
	if err != nil {
		return err
	}
	o, err := readers.Open(ctx, f, readers.Request{Inputs: inputs, Options: options, Jobs: 2})
	if err != nil {
		return err
	}
	defer o.Source.Close()
	var first shardify.Span
	n := 0
	for s, err := range o.Source.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return err
		}
		if n == 0 {
			first = s
		}
		n++
	}
	if n == 0 {
		return nil
	}
	mem, err := shardify.NewPool(1<<30).Grant(ctx, first.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	r, err := o.Source.Reader(first.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Read(ctx, first, mem)
	return err
}
