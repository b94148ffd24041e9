package xyz

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
)

// training is frames as programs of the field write them.
func training(frames, atoms int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range frames {
		fmt.Fprintf(&b, "%d\nLattice=\"10.0 0.0 0.0 0.0 10.0 0.0 0.0 0.0 10.0\" Properties=species:S:1:pos:R:3:forces:R:3 energy=%v config_type=bulk pbc=\"T T T\"\n", atoms, rng.NormFloat64())
		for range atoms {
			fmt.Fprintf(&b, "%-8s", []string{"H", "C", "Si"}[rng.IntN(3)])
			for range 6 {
				fmt.Fprintf(&b, " %16.8f", rng.NormFloat64())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func BenchmarkPlan(b *testing.B) {
	text := training(3000, 40)
	name := readertest.Put(b, "a.xyz", text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		src, err := openFiles(nil, nil, name)
		if err != nil {
			b.Fatal(err)
		}
		src.Close()
	}
}

func BenchmarkRead(b *testing.B) {
	text := training(3000, 40)
	src, err := openFiles(nil, nil, readertest.Put(b, "a.xyz", text))
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	spans := readertest.Spans(b, src, 1<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		readertest.Each(b, src, spans, func(*shardify.Batch) {})
	}
}
