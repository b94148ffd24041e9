package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestDifferencesNameFieldAndFiles(t *testing.T) {
	f := func(name string, d shardify.DType, shape ...int) Field {
		return Field{Field: shardify.Field{Name: name, DType: d, Shape: shape}, SampleBytes: 4, Bytes: 40}
	}
	m := merger{byField: map[string][]variant{}, paths: map[string][]string{}}
	m.add("a.npz", "a.npz", []Field{f("x", shardify.F32, 8), f("y", shardify.I64)})
	m.add("b.npz", "b.npz", []Field{f("x", shardify.F32, 8)})
	m.add("c.npz", "c.npz", []Field{f("x", shardify.F64, 8), f("y", shardify.I64)})
	fields, diff := m.result()
	var got []string
	for _, d := range diff {
		got = append(got, fmt.Sprint(d.Field, " ", d.Type, " ", d.Files, " ", d.Examples))
	}
	want := []string{"x f32 [8] 2 [a.npz b.npz]", "x f64 [8] 1 [c.npz]", "y i64 2 [a.npz c.npz]", "y missing 1 [b.npz]"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("differences %q, want %q", got, want)
	}
	if len(fields) != 3 || fields[0].Files != 2 || fields[0].Bytes != 80 {
		t.Errorf("merged table %+v", fields)
	}
	same := merger{byField: map[string][]variant{}, paths: map[string][]string{}}
	same.add("a.npz", "a.npz", []Field{f("x", shardify.F32, 8)})
	same.add("b.npz", "b.npz", []Field{f("x", shardify.F32, 8)})
	if fields, diff := same.result(); diff != nil || fields[0].Files != 0 || fields[0].Bytes != 80 {
		t.Errorf("equal files differ: %v %+v", diff, fields)
	}
}

func TestManyFieldsAreGroupedByPrefix(t *testing.T) {
	var fields []Field
	for i := range 60 {
		fields = append(fields, Field{Field: shardify.Field{Name: fmt.Sprintf("Jet_v%d", i), DType: shardify.F32}, SampleBytes: 4, Bytes: 400})
	}
	fields = append(fields, Field{Field: shardify.Field{Name: "run", DType: shardify.I64}, SampleBytes: 8, Bytes: 800},
		Field{Field: shardify.Field{Name: "Jet_id", DType: shardify.U8}, SampleBytes: 1, Bytes: 100})
	var b bytes.Buffer
	writeFields(&b, fields, 1)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 || !strings.Contains(b.String(), "Jet_*") || !strings.Contains(b.String(), "60 fields, Jet_v0 ... Jet_v59") ||
		!strings.Contains(b.String(), "Jet_id") || !strings.Contains(b.String(), "240 B") {
		t.Errorf("%s", &b)
	}
}

func TestNumbersAreShownByType(t *testing.T) {
	for _, c := range []struct {
		t    shardify.DType
		v    any
		want string
	}{
		{shardify.Bool, uint8(1), "true"}, {shardify.I8, int8(-3), "-3"}, {shardify.U8, uint8(200), "200"},
		{shardify.I16, int16(-300), "-300"}, {shardify.I32, int32(math.MinInt32), "-2147483648"},
		{shardify.I64, int64(math.MinInt64), "-9223372036854775808"}, {shardify.U64, uint64(math.MaxUint64), "18446744073709551615"},
		{shardify.F32, float32(1.5), "1.5"}, {shardify.F64, math.Inf(-1), "-Inf"}, {shardify.BF16, uint16(0x3fc0), "1.5"},
		{shardify.F16, uint16(0x3e00), "1.5"}, {shardify.F16, uint16(0xfc00), "-Inf"}, {shardify.F16, uint16(0x8001), "-5.96e-08"},
		{shardify.F16, uint16(0x7bff), "6.55e+04"}, {shardify.F16, uint16(0x7e00), "NaN"},
	} {
		var b bytes.Buffer
		binary.Write(&b, binary.LittleEndian, c.v)
		if got := number(c.t, b.Bytes()); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.t, c.v, got, c.want)
		}
	}
}

// TestSampleShowsEveryKindOfField builds one batch by hand and reads its text.
func TestSampleShowsEveryKindOfField(t *testing.T) {
	col := func(f shardify.Field, data []byte, offsets ...[]int64) shardify.Column {
		return shardify.Column{Field: f, Data: data, Offsets: offsets}
	}
	long := strings.Repeat("é", 100)
	b := &shardify.Batch{Samples: 2, First: shardify.ID{Sample: 5}, Columns: []shardify.Column{
		col(shardify.Field{Name: "y", DType: shardify.U8, Attrs: map[string]string{"labels": "cat\ndog"}}, []byte{0, 1}),
		col(shardify.Field{Name: "v", DType: shardify.U8, Shape: []int{10}}, []byte("0123456789abcdefghij")),
		col(shardify.Field{Name: "text", DType: shardify.U8, Levels: 1, Media: "txt"}, []byte("x"+long), []int64{0, 1, 201}),
		col(shardify.Field{Name: "bad", DType: shardify.U8, Levels: 1, Media: "txt"}, []byte("\xff\xfe"), []int64{0, 0, 2}),
		col(shardify.Field{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt"}, []byte("abc"), []int64{0, 0, 2}, []int64{0, 1, 3}),
		col(shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: "image"}, []byte("12345"), []int64{0, 2, 5}),
		col(shardify.Field{Name: "image.ext", DType: shardify.U8, Attrs: map[string]string{"labels": "jpg\npng"}}, []byte{0, 1}),
		{Field: shardify.Field{Name: "maybe", DType: shardify.U8, Nullable: true}, Data: []byte{1, 2}, Valid: []byte{1, 0}},
	}}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	s := Show(b, 1)
	got := map[string]string{}
	for _, v := range s.Values {
		got[v.Field] = v.Text
	}
	want := map[string]string{
		"y": "1 (dog)", "v": "[97 98 99 100 101 102 103 104 ... 10 in all]", "text": fmt.Sprintf("%q... (200 bytes)", long[:120]),
		"bad": "2 bytes, not UTF-8", "words": `["a", "bc"]`, "image": "png of 3 B", "maybe": "nothing",
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("%s: %s, want %s", k, got[k], w)
		}
	}
	if len(got) != len(want) || s.In != 6 {
		t.Errorf("shown %v, sample %d of the input", got, s.In)
	}
}

func TestOutputIsNamedAfterTheInput(t *testing.T) {
	for in, want := range map[string]string{"photos/": "photos-shards", "a/train.npz": "train-shards", "data/*.npz": "data-shards", "*.npz": "data-shards", ".": "data-shards", "/": "data-shards", "x/1.npy 2": "1.npy 2-shards"} {
		if got := Output([]string{in}); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got := Output([]string{"run/a.npz", "run/b.npz"}); got != "run-shards" {
		t.Errorf("two files of a folder: %s", got)
	}
}
