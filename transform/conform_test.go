package transform

import (
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/transformtest"
)

const wide = transformtest.Wide

const seed = transformtest.Seed

func invent(t testing.TB, schema string, samples int, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	return transformtest.Invent(t, schema, samples, mem)
}

func schemaOf(b *shardify.Batch) []shardify.Field { return transformtest.SchemaOf(b) }

func arena(t testing.TB) *shardify.Arena { t.Helper(); return transformtest.Arena(t) }

// conform is transformtest.Conform on synthetic samples of a schema.
func conform(t *testing.T, tr shardify.Transform, schema string) *shardify.Batch {
	t.Helper()
	mem := arena(t)
	return conformOn(t, tr, invent(t, schema, 97, mem), mem)
}

func conformOn(t *testing.T, tr shardify.Transform, whole *shardify.Batch, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	return transformtest.Conform(t, tr, whole, mem)
}

// made is a transform, or the test's end.
func made(t testing.TB) func(shardify.Transform, error) shardify.Transform {
	return transformtest.Made[shardify.Transform](t)
}

func run(t testing.TB, tr shardify.Transform, b *shardify.Batch) *shardify.Batch {
	t.Helper()
	return transformtest.Run(t, tr, b)
}

// elsewhere are operations whose conformance other tests check.
var elsewhere = []string{Join, DropDuplicates, Copies, Augment, Tokenize, "sequences"}

func TestTransformsConform(t *testing.T) {
	cases := map[string]func() (shardify.Transform, error){
		"where": func() (shardify.Transform, error) { return New(Where, "nJet % 3 != 0 && eta < 1e9", nil) },
		"where lists": func() (shardify.Transform, error) {
			return New(Where, "any(Jet_id > 0) && count(Jet_eta > 0) >= 1 && len(hits) < 4", nil)
		},
		"where miss": func() (shardify.Transform, error) { return New(Where, "miss > 0 || (imiss ?? 0) > 5", nil) },
		"where text": func() (shardify.Transform, error) {
			return New(Where, `name >= "m" || nmiss contains "a" || len(tags) > 1`, nil)
		},
		"where all":   func() (shardify.Transform, error) { return New(Where, "id >= 0 || true", nil) },
		"where none":  func() (shardify.Transform, error) { return New(Where, "1 > 2", nil) },
		"patch":       func() (shardify.Transform, error) { return New(Patch, "1=1", nil) },
		"patch pad":   func() (shardify.Transform, error) { return New(Patch, "1=1,0=3,edge=pad", nil) },
		"define":      func() (shardify.Transform, error) { return New(Define, "ht=sum(abs(Jet_eta))", nil) },
		"define list": func() (shardify.Transform, error) { return New(Define, "p=Jet_pt*cosh(Jet_eta) + eta", nil) },
		"define miss": func() (shardify.Transform, error) { return New(Define, "first:i32=Jet_id[0]", nil) },
		"define vec":  func() (shardify.Transform, error) { return New(Define, "y:f16=x*0 + (flag ? 1 : 2)", nil) },
		"define own":  func() (shardify.Transform, error) { return New(Define, "z=hmiss + 1 > 0", nil) },
		"set":         func() (shardify.Transform, error) { return New(Set, "label=3", nil) },
		"set text":    func() (shardify.Transform, error) { return New(Set, `era="2018@A"`, nil) },
		"rename":      func() (shardify.Transform, error) { return New(Rename, "e=eta,eta=w", nil) },
		"cast": func() (shardify.Transform, error) {
			return New(Cast, "w=bf16,*=f16,f64=f32,imiss=i8:clip,hits=i64,flag=f32,big=f32", nil)
		},
		"fraction": func() (shardify.Transform, error) { return New(Fraction, "0.4", nil) },
		"nan keep": func() (shardify.Transform, error) { return New(NaN, "keep", nil) },
		"nan": func() (shardify.Transform, error) {
			return New(NaN, "Jet_*=fill=-1,w=drop,hmiss=drop,g=fill=0.5,fill=1e3", nil)
		},
		"encode":      func() (shardify.Transform, error) { return New(Encode, "name", nil) },
		"encode miss": func() (shardify.Transform, error) { return New(Encode, "nmiss", nil) },
		"encode list": func() (shardify.Transform, error) { return New(Encode, "tags", nil) },
		"encode int":  func() (shardify.Transform, error) { return New(Encode, "nJet", nil) },
		"encode u64":  func() (shardify.Transform, error) { return New(Encode, "big", nil) },
		"encode ints": func() (shardify.Transform, error) { return New(Encode, "Jet_id", nil) },
		"encode imis": func() (shardify.Transform, error) { return New(Encode, "imiss", nil) },
		"pick":        func() (shardify.Transform, error) { return New(Pick, "Jet=2", nil) },
		"pick prefer": func() (shardify.Transform, error) { return New(Pick, "Jet_pt=1,prefer=!Jet_id,top=-Jet_pt", nil) },
		"pick deep":   func() (shardify.Transform, error) { return New(Pick, "deep=1,last", nil) },
		"sort":        func() (shardify.Transform, error) { return New(Sort, "Jet=-Jet_pt", nil) },
		"sort up":     func() (shardify.Transform, error) { return New(Sort, "Jet_id=Jet_id", nil) },
		"sort deep":   func() (shardify.Transform, error) { return New(Sort, "hits=-hits", nil) },
		"stack": func() (shardify.Transform, error) {
			return New(Stack, "jets=Jet_pt,Jet_eta,Jet_id\nab=eta,h,nJet\nxs=x\nlone=hits\ndd=deep", nil)
		},
		"stack miss": func() (shardify.Transform, error) { return New(Stack, "m2=imiss,miss,flag", nil) },
		"pad":        func() (shardify.Transform, error) { return New(Pad, "Jet=3:-1", nil) },
		"pad one":    func() (shardify.Transform, error) { return New(Pad, "hmiss=2", nil) },
		"parse":      func() (shardify.Transform, error) { return New(Parse, "nmiss=u8", nil) },
		"pack":       func() (shardify.Transform, error) { return New(Pack, "f=[eghw]*,flag\ni=nJet,id", nil) },
		"cast wide":  func() (shardify.Transform, error) { return New(Cast, "f16=f64,bf16=f32,Jet_*=f64,nJet=u64,m=f16", nil) },
	}
	for name, tr := range cases {
		t.Run(name, func(t *testing.T) {
			x, err := tr()
			if err != nil {
				t.Fatal(err)
			}
			conform(t, x, wide)
		})
	}
	for i := range Table {
		name := Table[i].Name
		if _, ok := cases[name]; !ok && !slices.Contains(elsewhere, name) {
			t.Errorf("no case for %s", name)
		}
	}
}
