package transform_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform"
)

// events are three samples with a list of momenta.
func events() *shardify.Batch {
	pt := shardify.Column{Field: shardify.Field{Name: "pt", DType: shardify.F32, Levels: 1}, Data: shardify.Bytes([]float32{10, 40, 25, 5, 60}), Offsets: [][]int64{{0, 2, 3, 5}}}
	return &shardify.Batch{Samples: 3, Columns: []shardify.Column{pt}}
}

// A transform gets the schema once, then gets batch after batch.
func Example() {
	mem, err := shardify.NewPool(1<<20).Grant(context.Background(), 1<<16)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Release()
	b := events()
	schema := []shardify.Field{b.Columns[0].Field}
	for _, step := range [][2]string{{transform.Where, "max(pt) > 30"}, {transform.Define, "ht=sum(pt)"}} {
		t, err := transform.New(step[0], step[1], nil)
		if err != nil {
			log.Fatal(err)
		}
		if schema, err = t.Schema(schema); err != nil {
			log.Fatal(err)
		}
		if b, err = t.Apply(b, 0, mem); err != nil {
			log.Fatal(err)
		}
	}
	for _, f := range schema {
		fmt.Println(f.Name, f.DType)
	}
	fmt.Println(b.Samples, shardify.View[float32](b.Columns[1].Data))
	// Output:
	// pt f32
	// ht f32
	// 2 [50 65]
}

// Settings are values by the names of flags. They become the operations of a plan.
func ExampleSettings_Ops() {
	s := transform.Settings{
		transform.Cast:   {"f64=f32"},
		transform.Where:  {"nJet >= 2"},
		transform.Define: {"ht=sum(Jet_pt)", "met2=met * met"},
	}
	ops, err := s.Ops(&format.Table{})
	if err != nil {
		log.Fatal(err)
	}
	for _, op := range ops {
		fmt.Println(op.Name, transform.Shown(op))
	}
	// Output:
	// where [nJet >= 2]
	// define [ht=sum(Jet_pt)]
	// define [met2=met * met]
	// cast [f64=f32]
}
