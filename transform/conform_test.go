package transform

import (
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/transformtest"
)

// wide is a schema with every form of field.
const wide = "id:i64,nJet:u8,eta:f32,w:f64,h:f16,g:bf16,flag:bool,x:f32[3],m:i16[2,2],big:u64,miss:f32?,imiss:i32?," +
	"Jet_pt:f32*5@Jet,Jet_eta:f32*5@Jet,Jet_id:i32*5@Jet,Jet_vec:f32*5[2]@Jet,hits:i32*4,hmiss:f64*3?,deep:f32**3,name:txt*6,nmiss:txt*4?,tags:txt**3"

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
func made[T shardify.Transform](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func TestTransformsConform(t *testing.T) {
	for name, tr := range map[string]func() (shardify.Transform, error){
		"where": func() (shardify.Transform, error) { return newWhere("nJet % 3 != 0 && eta < 1e9", nil) },
		"where lists": func() (shardify.Transform, error) {
			return newWhere("any(Jet_id > 0) && count(Jet_eta > 0) >= 1 && len(hits) < 4", nil)
		},
		"where miss": func() (shardify.Transform, error) { return newWhere("miss > 0 || (imiss ?? 0) > 5", nil) },
		"where text": func() (shardify.Transform, error) {
			return newWhere(`name >= "m" || nmiss contains "a" || len(tags) > 1`, nil)
		},
		"where all":   func() (shardify.Transform, error) { return newWhere("id >= 0 || true", nil) },
		"where none":  func() (shardify.Transform, error) { return newWhere("1 > 2", nil) },
		"patch":       func() (shardify.Transform, error) { return newPatch("1=1") },
		"patch pad":   func() (shardify.Transform, error) { return newPatch("1=1,0=3,edge=pad") },
		"define":      func() (shardify.Transform, error) { return newDefine("ht=sum(abs(Jet_eta))") },
		"define list": func() (shardify.Transform, error) { return newDefine("p=Jet_pt*cosh(Jet_eta) + eta") },
		"define miss": func() (shardify.Transform, error) { return newDefine("first:i32=Jet_id[0]") },
		"define vec":  func() (shardify.Transform, error) { return newDefine("y:f16=x*0 + (flag ? 1 : 2)") },
		"define own":  func() (shardify.Transform, error) { return newDefine("z=hmiss + 1 > 0") },
		"set":         func() (shardify.Transform, error) { return newSet("label=3", nil, nil) },
		"set text":    func() (shardify.Transform, error) { return newSet(`era="2018@A"`, nil, nil) },
		"rename":      func() (shardify.Transform, error) { return newRename("e=eta,eta=w") },
		"cast": func() (shardify.Transform, error) {
			return newCast("w=bf16,*=f16,f64=f32,imiss=i8:clip,hits=i64,flag=f32,big=f32")
		},
		"fraction": func() (shardify.Transform, error) { return newFraction("0.4", nil, nil) },
		"nan keep": func() (shardify.Transform, error) { return newNaN("keep") },
		"nan": func() (shardify.Transform, error) {
			return newNaN("Jet_*=fill=-1,w=drop,hmiss=drop,g=fill=0.5,fill=1e3")
		},
		"encode":      func() (shardify.Transform, error) { return newEncode("name") },
		"encode miss": func() (shardify.Transform, error) { return newEncode("nmiss") },
		"encode list": func() (shardify.Transform, error) { return newEncode("tags") },
		"encode int":  func() (shardify.Transform, error) { return newEncode("nJet") },
		"encode u64":  func() (shardify.Transform, error) { return newEncode("big") },
		"encode ints": func() (shardify.Transform, error) { return newEncode("Jet_id") },
		"encode imis": func() (shardify.Transform, error) { return newEncode("imiss") },
		"pick":        func() (shardify.Transform, error) { return newPick("Jet=2", nil) },
		"pick prefer": func() (shardify.Transform, error) { return newPick("Jet_pt=1,prefer=!Jet_id,top=-Jet_pt", nil) },
		"pick deep":   func() (shardify.Transform, error) { return newPick("deep=1,last", nil) },
		"sort":        func() (shardify.Transform, error) { return newSort("Jet=-Jet_pt", nil) },
		"sort up":     func() (shardify.Transform, error) { return newSort("Jet_id=Jet_id", nil) },
		"sort deep":   func() (shardify.Transform, error) { return newSort("hits=-hits", nil) },
		"stack": func() (shardify.Transform, error) {
			return newStack("jets=Jet_pt,Jet_eta,Jet_id\nab=eta,h,nJet\nxs=x\nlone=hits\ndd=deep")
		},
		"stack miss": func() (shardify.Transform, error) { return newStack("m2=imiss,miss,flag") },
		"pad":        func() (shardify.Transform, error) { return newPad("Jet=3:-1") },
		"pad one":    func() (shardify.Transform, error) { return newPad("hmiss=2") },
		"pack":       func() (shardify.Transform, error) { return newPack("f=[eghw]*,flag\ni=nJet,id") },
		"cast wide":  func() (shardify.Transform, error) { return newCast("f16=f64,bf16=f32,Jet_*=f64,nJet=u64,m=f16") },
	} {
		t.Run(name, func(t *testing.T) {
			x, err := tr()
			if err != nil {
				t.Fatal(err)
			}
			conform(t, x, wide)
		})
	}
}
