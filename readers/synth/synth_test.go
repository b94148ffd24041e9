package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	_ "github.com/shardify/shardify/tests/race"
)

const everything = "b:bool,i1:i8[3],x:f32[4,2],h:f16,w:bf16*[2],d:f64?,n:u16*9?,pt:f32*20@Jet,eta:f64*20@Jet[2],trk:i32**,img:jpg*2000,note:txt,doc:json*12,words:txt**5,z:f32[0]"

func open1(t testing.TB, columns []string, state []byte, kv ...string) shardify.Source {
	t.Helper()
	o := format.Options{}
	for i := 0; i < len(kv); i += 2 {
		o[kv[i]] = kv[i+1]
	}
	src, err := Format.Open(context.Background(), format.OpenArgs{Columns: columns, State: state, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestConformance(t *testing.T) {
	for name, o := range map[string]format.Options{
		"independent": {"schema": everything, "samples": "120"},
		"fixed":       {"schema": "x:f32[64,7],y:i64?", "samples": "300"},
		"runs":        {"schema": everything, "samples": "120", "run-samples": "30", "keyed": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Columns: columns, State: state, Options: o})
			})
		})
	}
}

func TestValuesFollowFromSeedFieldAndSample(t *testing.T) {
	all := readertest.ReadAll(t, open1(t, nil, nil, "schema", everything, "samples", "200"), 1000)
	for _, name := range []string{"x", "words", "pt", "d"} {
		other := readertest.ReadAll(t, open1(t, nil, nil, "schema", "q:i8,"+pick(name), "samples", "200"), 1<<30)
		if err := all.EqualField(other, name); err != nil {
			t.Errorf("%s beside other fields: %v", name, err)
		}
		seeded := readertest.ReadAll(t, open1(t, nil, nil, "schema", pick(name), "samples", "200", "synth-seed", "1"), 1<<30)
		if all.EqualField(seeded, name) == nil {
			t.Errorf("%s: another seed gives the same values", name)
		}
	}
	a := readertest.ReadAll(t, open1(t, nil, nil, "schema", "x:u64", "samples", "100"), 1<<30)
	b := readertest.ReadAll(t, open1(t, nil, nil, "schema", "y:u64", "samples", "100"), 1<<30)
	if string(a.Digest("x")) == string(b.Digest("y")) {
		t.Error("two fields have the same values")
	}
}

func pick(name string) string {
	for _, f := range splitFields(everything) {
		if strings.HasPrefix(f, name+":") {
			return f
		}
	}
	return ""
}

func TestValuesAreLegal(t *testing.T) {
	var total, missing, most, samples int64
	src := open1(t, nil, nil, "schema", everything, "samples", "2000")
	readertest.Each(t, src, readertest.Spans(t, src, 1<<16), func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			switch c.Name {
			case "b":
				for _, v := range c.Data {
					if v > 1 {
						t.Fatalf("bool %d", v)
					}
				}
			case "x":
				for _, v := range shardify.View[float32](c.Data) {
					if !(v >= -1 && v < 1) {
						t.Fatalf("x %v", v)
					}
				}
			case "h":
				for _, v := range shardify.View[uint16](c.Data) {
					if e := v >> 10 & 31; e < 7 || e > 14 {
						t.Fatalf("f16 %x", v)
					}
				}
			case "d":
				for _, v := range c.Valid {
					samples++
					missing += int64(1 - v)
				}
			case "pt":
				o := c.Offsets[0]
				for k := range b.Samples {
					total += o[k+1] - o[k]
					most = max(most, o[k+1]-o[k])
				}
			case "note", "doc", "words":
				o := c.Offsets[len(c.Offsets)-1]
				for k := 1; k < len(o); k++ {
					if s := c.Data[o[k-1]:o[k]]; c.Name == "doc" && !json.Valid(s) || !utf8.Valid(s) {
						t.Fatalf("%s %q", c.Name, s)
					}
				}
			}
		}
	})
	if mean := float64(total) / 2000; math.Abs(mean-10) > 1 || most != 20 {
		t.Errorf("lengths 0 to 20: mean %v, most %d", mean, most)
	}
	if share := float64(missing) / float64(samples); math.Abs(share-0.125) > 0.04 {
		t.Errorf("%v are missing", share)
	}
}

func TestGoldenValues(t *testing.T) {
	c := readertest.ReadAll(t, open1(t, nil, nil, "schema", everything, "samples", "50", "synth-seed", "7"), 1<<30)
	got := ""
	for _, f := range splitFields(everything) {
		name, _, _ := strings.Cut(f, ":")
		got += fmt.Sprintf("%s %x\n", name, c.Digest(name)[:4])
	}
	if got != golden {
		t.Errorf("values changed, which changes every data set made from them:\n%s", got)
	}
}

const golden = `b a404d4e1
i1 b61ea3af
x e6edbd94
h fdf7a608
w a7ce261f
d 9a2bdf45
n d2e945ae
pt 85d4b193
eta b6451ccf
trk a70d7d7e
img 5f84bd7b
note be1c5d91
doc ff8a909f
words 48117185
z e3b0c442
`

func TestSchemaText(t *testing.T) {
	for text, want := range map[string]string{
		"x:f32[64,7],y:i64,jets:f32*[4]": "x f32 [64 7] 0 | y i64 [] 0 | jets f32 [4] 1",
		" a:u8 , b:txt** ":               "a u8 [] 0 | b u8 [] 2 txt",
		"img:jpg*9000?":                  "img u8 [] 1 jpg ?",
	} {
		fields, err := parse(text)
		var got []string
		for _, f := range fields {
			s := strings.TrimSpace(fmt.Sprint(f.Name, " ", f.DType, " ", f.Shape, " ", f.Levels, " ", f.Media))
			if f.Nullable {
				s += " ?"
			}
			got = append(got, s)
		}
		if err != nil || strings.Join(got, " | ") != want {
			t.Errorf("%s: %s, %v", text, strings.Join(got, " | "), err)
		}
	}
	for _, text := range []string{"", "x", "x:", ":f32", "x:f33[", "x:f32[3", "x:f32[a]", "x:f32[-1]", "x:f32*a", "x:f32***", "x:jpg[3]", "x:f32@c", "x:i8,x:i8", "x:f32*3@c,y:f32*4@c", "x:image", "x:f32[99999999999]", "x:f32,,y:f32"} {
		if f, err := parse(text); err == nil {
			t.Errorf("%q is %+v", text, f)
		}
	}
}

func FuzzSchemaText(f *testing.F) {
	f.Add(everything)
	f.Add("x:f32[64,7]@a*?,:")
	f.Fuzz(func(t *testing.T, s string) {
		fields, err := parse(s)
		if err == nil {
			if err := shardify.ValidateSchema(schemaOf(fields)); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	src := open1(b, nil, nil, "samples", "2000")
	spans := readertest.Spans(b, src, 1<<30)
	r, _ := src.Reader(0)
	pool := shardify.NewPool(1 << 30)
	b.SetBytes(spans[0].Bytes)
	for range b.N {
		mem, _ := pool.Grant(context.Background(), spans[0].Bytes)
		if _, err := r.Read(context.Background(), spans[0], mem); err != nil {
			b.Fatal(err)
		}
		mem.Release()
	}
}
