package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
)

func arena(t testing.TB) *shardify.Arena {
	a, err := shardify.NewPool(1<<30).Grant(context.Background(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// few is a batch with every kind of field that expressions take.
func few() *shardify.Batch {
	off := []int64{0, 3, 3, 4, 9}
	own := []int64{0, 1, 1, 3, 3}
	text := []byte("tauelmu")
	col := func(name string, d shardify.DType, data []byte) shardify.Column {
		return shardify.Column{Field: shardify.Field{Name: name, DType: d}, Data: data}
	}
	list := func(c shardify.Column, counter string, o []int64) shardify.Column {
		c.Levels, c.Counter, c.Offsets = 1, counter, [][]int64{o}
		return c
	}
	b := &shardify.Batch{Samples: 4, First: shardify.ID{Sample: 10}}
	m := col("m", shardify.I32, shardify.Bytes([]int32{1, 0, -3, 7}))
	m.Nullable, m.Valid = true, []byte{1, 0, 1, 1}
	v := col("v", shardify.F32, shardify.Bytes([]float32{1, 2, 3, 4, 5, 6, 7, 8}))
	v.Shape = []int{2}
	cls := col("cls", shardify.I64, shardify.Bytes([]int64{0, 1, 0, 1}))
	cls.Attrs = map[string]string{"labels": "cat\ndog"}
	t := list(col("t", shardify.U8, text), "", []int64{0, 3, 5, 5, 7})
	t.Media = "txt"
	tt := list(col("tt", shardify.U8, text), "", []int64{0, 2, 2, 3, 3})
	tt.Media, tt.Levels, tt.Offsets = "txt", 2, append(tt.Offsets, []int64{0, 3, 5, 7})
	nl := list(col("nl", shardify.F64, shardify.Bytes([]float64{1, 2, 3})), "", own)
	nl.Nullable, nl.Valid = true, []byte{1, 0, 1, 1}
	b.Columns = []shardify.Column{
		col("i", shardify.I64, shardify.Bytes([]int64{1, -2, math.MaxInt64, 0})), col("f", shardify.F32, shardify.Bytes([]float32{0.5, -1, float32(math.NaN()), 1e30})),
		col("d", shardify.F64, shardify.Bytes([]float64{1, math.Inf(1), -0.5, 3})), col("u", shardify.U64, shardify.Bytes([]uint64{1, 2, 3, 1 << 40})),
		col("b", shardify.Bool, []byte{1, 0, 1, 0}), m, v, cls, t, tt, nl,
		list(col("pt", shardify.F32, shardify.Bytes([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9})), "J", off),
		list(col("id", shardify.I16, shardify.Bytes([]int16{1, -2, 3, -4, 5, -6, 7, -8, 9})), "J", off),
		list(col("ok", shardify.Bool, []byte{1, 0, 1, 0, 1, 0, 1, 0, 1}), "J", off),
		list(col("own", shardify.F16, shardify.Bytes([]uint16{0x3c00, 0x4000, 0x4200})), "", own),
		col("evt.P3.Px", shardify.F32, shardify.Bytes([]float32{1, 2, 3, 4})), col("a-b c", shardify.I8, []byte{1, 2, 3, 4}),
	}
	return b
}

func schema(b *shardify.Batch) []shardify.Field {
	var s []shardify.Field
	for i := range b.Columns {
		s = append(s, b.Columns[i].Field)
	}
	return s
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"a + b * a":                              "a b",
		"evt.P3.Px > field(\"a-b c\") && len(x)": "evt.P3.Px a-b c x",
		"pt[argmax(id)] ?? 0":                    "pt id",
		"c ? x in [1, y] : not z":                "c x y z",
		"count(count > 1)":                       "count",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(e.Names(), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for name, want := range map[string]string{"x": "x", "evt.P3": "evt.P3", "a-b": `field("a-b")`, "1x": `field("1x")`} {
		e, err := Parse(Quote(name) + " > 0")
		if Quote(name) != want || err != nil || e.Names()[0] != name {
			t.Errorf("%s is quoted %s (%v)", name, Quote(name), err)
		}
	}
}

// FuzzExpression: no text makes the parser, the types or the evaluation fail in another
// way than by an error, and a sample's result does not depend on its neighbours.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"i >= 2 && abs(f) < 2.5", "any(pt > 3) || all(ok)", "pt[0] ?? -1", "sum(pt[ok]) / len(pt)", "m == nil || m in [1,2,3]", "cls == 'dog' and t != 'el'", "u % 3 ** 2", "field('a-b c') + evt.P3.Px",
		"b ? v : 1", "max(pt) > min(1, f)", "argmax(id)", "pt * 2 + id", "t matches '^t' or t startsWith 'e'", "len(tt) + len(t) + len(v)", "int(d) ?? 5", "nl + own", "0 < i <= 5 ? 1 : 2", "v[-1]", "id[ok][-1]", "count(own > 1)", "-(-i)", "round(d) - dphi(f, d)", "any_of(b*, m, all_of(?))", "count_of('b', i > 0) - 1",
		"regex(key, '(é|c)')", "regex(t, '^.', 'x')", "part(key(), -2, '-') == 'b' ? 1 : len(stem(key))", "path(0)", "lower(folder(key))", "lower(t)",
	} {
		f.Add(s)
	}
	if g, err := os.ReadFile("../testdata/golden.json"); err == nil {
		var cases struct{ Cases []struct{ Expr string } }
		if json.Unmarshal(g, &cases) == nil {
			for _, c := range cases.Cases {
				f.Add(c.Expr)
			}
		}
	}
	b := keyed(few(), "a/b.c", "É/x", "..c/", "\xff/é")
	in := schema(b)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return
		}
		e, err := Parse(text)
		if err != nil {
			return
		}
		e.Keyed = true
		p, err := e.Bind(in, nil)
		if err != nil {
			return
		}
		mem := arena(t)
		whole, err := p.Column(b, "z", mem)
		if err == nil {
			c := whole
			check := shardify.Batch{Samples: b.Samples, Columns: []shardify.Column{c}}
			if c.Media != "txt" && c.DType != shardify.F64 && c.DType != shardify.I64 && c.DType != shardify.Bool {
				t.Fatalf("%s gives %s", text, c.DType)
			}
			if err := check.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range b.Samples {
			one, err2 := b.Take([]int32{int32(i)}, mem)
			if err2 != nil {
				t.Fatal(err2)
			}
			got, err2 := p.Column(one, "z", mem)
			if err == nil && err2 != nil {
				t.Fatalf("%s: sample %d alone: %v", text, i, err2)
			}
			if err != nil || err2 != nil {
				continue
			}
			lo, hi := whole.Range(i, i+1)
			if !bytes.Equal(got.Data, whole.Data[lo:hi]) || whole.Valid != nil && got.Valid[0] != whole.Valid[i] {
				t.Fatalf("%s: sample %d is %v alone and %v among others", text, i, got.Data, whole.Data[lo:hi])
			}
		}
		if p.Condition() == nil {
			keep := make([]byte, b.Samples)
			if p.Keep(b, keep) == nil && bytes.ContainsFunc(keep, func(r rune) bool { return r > 1 }) {
				t.Fatalf("%s keeps %v", text, keep)
			}
		}
	})
}

func TestHostileTexts(t *testing.T) {
	deep := func(open, shut string, n int) string { return strings.Repeat(open, n) + "i" + strings.Repeat(shut, n) }
	for _, text := range []string{
		deep("(", ")", 100000), deep("[", "]", 100000), strings.Repeat("!", 100000) + "b", strings.Repeat("- ", 50000) + "i", strings.Repeat("not ", 50000) + "b",
		"i" + strings.Repeat("?i:i", 50000), strings.Repeat("i+", 100000) + "i", strings.Repeat("abs(", 5000) + "i" + strings.Repeat(")", 5000), "i" + strings.Repeat("**i", 20000),
		strings.Repeat("i ?? ", 12000) + "i", "i in [" + strings.Repeat("1,", 30000) + "1]", strings.Repeat("if b {", 3000) + "i" + strings.Repeat("} else {i}", 3000), strings.Repeat("let x=1;", 8000) + "x",
	} {
		if e, err := Parse(text); err == nil {
			if _, err := e.Bind(schema(few()), nil); err == nil {
				t.Logf("%.20s... is taken", text)
			}
		}
	}
}

// TestBlocksJoin: batches of several blocks, with lists longer than one.
func TestBlocksJoin(t *testing.T) {
	const n = 3*blockSamples + 17
	off := []int64{0}
	var pt []float32
	x := make([]float64, n)
	for i := range n {
		k := i % 5
		if i == 2000 {
			k = 3 * blockElems
		}
		for j := range k {
			pt = append(pt, float32(i+j))
		}
		off = append(off, int64(len(pt)))
		x[i] = float64(i)
	}
	b := &shardify.Batch{Samples: n, Columns: []shardify.Column{
		{Field: shardify.Field{Name: "pt", DType: shardify.F32, Levels: 1}, Data: shardify.Bytes(pt), Offsets: [][]int64{off}},
		{Field: shardify.Field{Name: "x", DType: shardify.F64}, Data: shardify.Bytes(x)},
	}}
	e, err := Parse("sum(pt - x) + 1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Bind(schema(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time with vectors that were used
		c, err := p.Column(b, "z", arena(t))
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range shardify.View[float64](c.Data) {
			k := float64(off[i+1] - off[i])
			if want := k*(k-1)/2 + 1; got != want {
				t.Fatalf("sample %d: %v, want %v", i, got, want)
			}
		}
	}
}

// cpu is the processor time of the process so far, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkKeep(b *testing.B) {
	const n = 1 << 16
	r := uint64(1)
	next := func() uint64 { r = r*6364136223846793005 + 1442695040888963407; return r >> 33 }
	nj, eta, off, pt := make([]uint8, n), make([]float32, n), []int64{0}, []float32{}
	for i := range n {
		nj[i], eta[i] = uint8(next()%8), float32(next()%600)/100-3
		for range nj[i] {
			pt = append(pt, float32(next()%1000)/10)
		}
		off = append(off, int64(len(pt)))
	}
	batch := &shardify.Batch{Samples: n, Columns: []shardify.Column{
		{Field: shardify.Field{Name: "nJet", DType: shardify.U8}, Data: nj},
		{Field: shardify.Field{Name: "eta", DType: shardify.F32}, Data: shardify.Bytes(eta)},
		{Field: shardify.Field{Name: "Jet_pt", DType: shardify.F32, Levels: 1}, Data: shardify.Bytes(pt), Offsets: [][]int64{off}},
	}}
	keep := make([]byte, n)
	for _, text := range []string{"nJet >= 2 && abs(eta) < 2.5", "any(Jet_pt > 35)", "sum(Jet_pt * Jet_pt + 1) > 2", "max(Jet_pt) > 30 && count(Jet_pt > 20 && Jet_pt < 90) >= 2"} {
		e, _ := Parse(text)
		p, err := e.Bind(schema(batch), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(text, " ", ""), func(b *testing.B) {
			b.ReportAllocs()
			start := cpu()
			for b.Loop() {
				if err := p.Keep(batch, keep); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu()-start)*1e9/float64(b.N)/n, "cpu-ns/sample")
		})
	}
}

func ExampleParse() {
	b := few()
	e, _ := Parse("any(pt > 3) && (m ?? 0) != 0")
	p, err := e.Bind(schema(b), nil)
	if err != nil {
		fmt.Println(err)
	}
	keep := make([]byte, b.Samples)
	fmt.Println(p.Keep(b, keep), keep, e.Names())
	// Output: <nil> [0 0 1 1] [pt m]
}
