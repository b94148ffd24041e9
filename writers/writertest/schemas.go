// Package writertest holds every Sink to the same contract: Run is called by the
// test of each format in writers/.
//
//	func TestFormat(t *testing.T) {
//		writertest.Run(t, wds.Format, writertest.OpenWith(wdsreader.Format, nil))
//	}
package writertest

import "github.com/shardify/shardify"

// Schema is a schema to write, with a name for the test's output.
type Schema struct {
	Name   string
	Fields []shardify.Field
	Keyed  bool
}

// Schemas are the kinds of fields that batches may hold. A format is tested on
// those that its Check accepts.
func Schemas() []Schema {
	f := func(name string, d shardify.DType, shape ...int) shardify.Field {
		return shardify.Field{Name: name, DType: d, Shape: shape}
	}
	jagged := func(name, counter string, d shardify.DType, shape ...int) shardify.Field {
		return shardify.Field{Name: name, DType: d, Shape: shape, Levels: 1, Counter: counter}
	}
	media := func(name, kind string) shardify.Field {
		return shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: kind}
	}
	nullable := func(f shardify.Field) shardify.Field { f.Nullable = true; return f }
	levels2 := func(f shardify.Field) shardify.Field { f.Levels = 2; return f }
	ragged := func(f shardify.Field) shardify.Field { f.Ragged = true; return f }
	attr := func(f shardify.Field, k, v string) shardify.Field {
		f.Attrs = map[string]string{k: v}
		return f
	}
	var scalars []shardify.Field
	for d := shardify.Bool; d <= shardify.F64; d++ {
		scalars = append(scalars, f("s_"+d.String(), d))
	}
	ext := attr(f("image"+shardify.ExtSuffix, shardify.U8), "labels", "jpg\npng\nwebp")
	return []Schema{
		{Name: "scalars", Fields: scalars},
		{Name: "arrays", Fields: []shardify.Field{
			f("a", shardify.F32, 3, 4), f("b", shardify.U8, 5), f("c", shardify.I64, 1),
			f("d", shardify.BF16, 2, 1, 3), f("e", shardify.Bool, 2),
		}},
		{Name: "elements of no values", Fields: []shardify.Field{f("none", shardify.F32, 0, 3), f("x", shardify.U8)}},
		{Name: "jagged", Fields: []shardify.Field{
			jagged("x", "", shardify.F32), jagged("n", "", shardify.I64), jagged("p", "", shardify.I16, 2), f("w", shardify.F64),
		}},
		{Name: "tokens", Fields: []shardify.Field{jagged("tokens", "", shardify.U16)}},
		{Name: "shared counter", Fields: []shardify.Field{
			jagged("Jet_pt", "Jet", shardify.F32), jagged("MET", "", shardify.F32),
			jagged("Jet_id", "Jet", shardify.U8), jagged("Jet_p4", "Jet", shardify.F64, 4),
		}},
		{Name: "two levels", Fields: []shardify.Field{
			levels2(jagged("hits", "", shardify.I32)), levels2(jagged("xy", "", shardify.F32, 2)), f("n", shardify.U32),
		}},
		{Name: "two levels, shared counter", Fields: []shardify.Field{
			levels2(jagged("Trk_hits", "Trk", shardify.U16)), jagged("Trk_pt", "Trk", shardify.F32),
		}},
		{Name: "lists of texts", Fields: []shardify.Field{levels2(media("words", "txt")), f("n", shardify.U32)}},
		{Name: "ragged", Fields: []shardify.Field{
			ragged(jagged("vol", "", shardify.F32)), f("vol"+shardify.ShapeSuffix, shardify.I64, 3),
			ragged(jagged("mask", "", shardify.U8)), f("mask"+shardify.ShapeSuffix, shardify.I64, 2),
		}},
		{Name: "texts", Fields: []shardify.Field{media("txt", "txt"), media("meta", "json"), media("blob", "bin")}},
		{Name: "images of several types", Fields: []shardify.Field{media("image", "image"), ext, f("cls", shardify.I64)}},
		{Name: "nullable numbers", Fields: []shardify.Field{
			nullable(f("x", shardify.F32)), nullable(jagged("v", "", shardify.F64)), f("y", shardify.I8),
		}},
		{Name: "nullable bytes", Fields: []shardify.Field{nullable(media("caption", "txt")), media("jpg", "jpg")}},
		{Name: "keyed", Keyed: true, Fields: []shardify.Field{
			media("jpg", "jpg"), attr(f("cls", shardify.I64), "labels", "cat\ndog\nowl"), media("txt", "txt"),
		}},
		{Name: "attributes", Fields: []shardify.Field{attr(f("E", shardify.F32), "unit", `"GeV" \ <b>&é`), attr(f("t", shardify.I64), "time", "ns")}},
	}
}
