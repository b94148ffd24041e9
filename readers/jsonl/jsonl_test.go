package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(items string, columns []string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, Options: format.Options{"null-items": items}, Jobs: 2})
}

// random is lines with values of every kind.
func random(seed uint64, rows int) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	var b strings.Builder
	for i := range rows {
		x := map[string]any{"id": i, "x": rng.NormFloat64(), "big": uint64(i)<<63 | 1<<63, "s": []string{"", "a\"b\\\n", "ünï😀", "plain"}[rng.IntN(4)]}
		if rng.IntN(3) > 0 {
			x["hole"] = rng.IntN(9) - 4
		}
		if rng.IntN(4) > 0 {
			x["p"] = map[string]any{"on": rng.IntN(2) == 0, "q": map[string]any{"y": rng.IntN(5)}}
		}
		hits := []any{}
		v := [][]int{}
		words := []string{}
		for range rng.IntN(4) {
			hits = append(hits, map[string]any{"t": rng.NormFloat64(), "w": []int{1, rng.IntN(100)}[:rng.IntN(3)], "n": words})
			v = append(v, []int{rng.IntN(9), 2, 3}[:rng.IntN(4)])
			words = append(words, "w", "")
		}
		x["hits"], x["v"], x["words"] = hits, v, words
		if rng.IntN(9) == 0 {
			x["words"] = nil
		}
		j, _ := json.Marshal(x)
		b.Write(j)
		b.WriteString([]string{"\n", "\r\n", "\n\n"}[rng.IntN(3)])
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	for name, files := range map[string][]string{
		"plain":          {readertest.Put(t, "a.jsonl", random(1, 200)), readertest.Put(t, "b.ndjson", random(2, 150)), readertest.Put(t, "c.jsonl", "")},
		"packed":         {readertest.Put(t, "a.jsonl.gz", readertest.Gzip(random(3, 200))), readertest.Put(t, "b.jsonl", random(4, 100))},
		"several pieces": {readertest.Put(t, "a.jsonl", random(5, 9000))},
	} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Jobs: 3})
			})
		})
	}
}

// row is a sample as encoding/json would have it, by the names of fields.
func row(b *shardify.Batch, k int) map[string]any {
	out := map[string]any{}
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Valid != nil && c.Valid[k] == 0 {
			continue
		}
		out[c.Name] = item(c, 0, int64(k))
	}
	return out
}

func item(c *shardify.Column, level int, k int64) any {
	if level < len(c.Offsets) {
		lo, hi := c.Offsets[level][k], c.Offsets[level][k+1]
		if c.Media == "txt" && level == len(c.Offsets)-1 {
			return string(c.Data[lo:hi])
		}
		list := []any{}
		for j := lo; j < hi; j++ {
			list = append(list, item(c, level+1, j))
		}
		return list
	}
	switch c.DType {
	case shardify.Bool:
		return c.Data[k] == 1
	case shardify.F64:
		return fmt.Sprint(shardify.View[float64](c.Data)[k])
	case shardify.U64:
		return fmt.Sprint(shardify.View[uint64](c.Data)[k])
	}
	return fmt.Sprint(shardify.View[int64](c.Data)[k])
}

// flatten is what a line says, by the names of fields.
func flatten(name string, v any, out map[string]any, of map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(strings.TrimPrefix(name+"."+k, "."), x, out, of)
		}
	case []any:
		keys := map[string]bool{}
		for field := range of {
			if rest, ok := strings.CutPrefix(field, name+"."); ok {
				keys[rest] = true
			}
		}
		if len(keys) == 0 {
			out[name] = numbers(v)
			return
		}
		for k := range keys {
			list := []any{}
			for _, x := range v {
				list = append(list, numbers(x.(map[string]any)[k]))
			}
			out[name+"."+k] = list
		}
	case nil:
	default:
		out[name] = numbers(v)
	}
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".e") {
			f, _ := v.Float64()
			return fmt.Sprint(f)
		}
		return v.String()
	case []any:
		list := []any{}
		for _, x := range v {
			list = append(list, numbers(x))
		}
		return list
	}
	return v
}

// TestEqualsTheStandardLibrary compares all values.
func TestEqualsTheStandardLibrary(t *testing.T) {
	data := random(11, 500)
	src, err := openFiles("fail", nil, readertest.Put(t, "a.jsonl", data))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	of := map[string]string{}
	for _, f := range src.Schema() {
		of[f.Name] = f.DType.String()
	}
	if len(of) != 11 {
		t.Errorf("fields %v", of)
	}
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	n := 0
	readertest.Each(t, src, readertest.Spans(t, src, 3000), func(b *shardify.Batch) {
		for k := range b.Samples {
			var line map[string]any
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			flatten("", line, want, of)
			if got := row(b, k); !reflect.DeepEqual(got, want) {
				t.Fatalf("sample %d:\n%v, want\n%v", n, got, want)
			}
			n++
		}
	})
	if n != 500 {
		t.Errorf("%d samples", n)
	}
}

// TestCorpus reads the files of the corpus of events as its JSON says.
func TestCorpus(t *testing.T) {
	dir := corpus.Dir(t, "events")
	for name, want := range map[string]string{
		"big.jsonl": "line 1: c", "cut.jsonl": "line 2", "deep.jsonl": "depth", "dup_key.jsonl": "line 1: a twice", "mixed.jsonl": "line 2: a is text, a number before",
		"scalar_list.jsonl": "line 2", "surrogate.jsonl": "line 1",
		"array.json": "", "blank_bom.jsonl": "", "jagged2.jsonl": "", "missing.jsonl": "", "nan.jsonl": "", "nested.jsonl": "", "plain.jsonl": "", "lhc.jsonl": "",
	} {
		src, err := openFiles("fail", nil, filepath.Join(dir, name))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var rows []map[string]any
		readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) {
			for k := range b.Samples {
				rows = append(rows, row(b, k))
			}
		})
		src.Close()
		text := fmt.Sprint(rows)
		if want := map[string]string{
			"blank_bom.jsonl": "[map[a:1] map[a:2]]",
			"jagged2.jsonl":   "[map[a:[[1 2] []]] map[a:[]]]",
			"missing.jsonl":   "[map[a:1] map[a:2] map[a:3 b:4 c:5]]",
			"nan.jsonl":       "[map[x:NaN] map[x:+Inf] map[x:-Inf]]",
			"nested.jsonl":    "[map[hits.c:[1 2] hits.t:[1.5 2.5] id:1 p.q.y:2 p.x:1 v:[1 2 3]] map[hits.c:[] hits.t:[] id:2 p.q.y:4 p.x:3 v:[]]]",
			"plain.jsonl":     "[map[id:1 s:a x:1.5] map[id:2 s:ä😀 x:2]]",
		}[name]; want != "" && text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
	src, err := openFiles("fail", []string{"!c"}, filepath.Join(dir, "big.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
}

func TestMissingItems(t *testing.T) {
	name := readertest.Put(t, "a.jsonl", `{"v":[1.5,null],"w":["a",null],"h":[{"x":1},{}],"l":[[1],null]}`+"\n")
	src, err := openFiles("fill", nil, name)
	if err != nil {
		t.Fatal(err)
	}
	readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) {
		if got := fmt.Sprint(row(b, 0)); got != "map[h.x:[1 0] l:[[1] []] v:[1.5 NaN] w:[a ]]" {
			t.Error(got)
		}
	})
	src.Close()
	for _, c := range []string{"v", "w", "h.x", "l"} {
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openFiles("fail", []string{c}, name) }, 1, nil)
		if err == nil || !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "null-items fill") || !strings.Contains(err.Error(), c) {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// TestANumberThatNoTypeHasAmongOthers is no value of a list, a text or an object, either.
func TestANumberThatNoTypeHasAmongOthers(t *testing.T) {
	for _, other := range []string{"[1]", `"x"`, `{"b":1}`, "true"} {
		_, err := openFiles("fail", nil, readertest.Put(t, "a.jsonl", `{"a":`+other+"}\n"+`{"a":123456789012345678901}`+"\n"))
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "line 2: a is a number beyond 64 bits") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestFilesAreOneTable: the schema is the union of all.
func TestFilesAreOneTable(t *testing.T) {
	a := readertest.Put(t, "a.jsonl", `{"x":1,"l":[]}`+"\n")
	b := readertest.Put(t, "b.jsonl", `{"x":1.5,"y":"a","l":[{"q":1}]}`+"\n")
	src, err := openFiles("fail", nil, a, b)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var rows []map[string]any
	readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) { rows = append(rows, row(b, 0)) })
	if got := fmt.Sprint(rows); got != "[map[l.q:[] x:1] map[l.q:[1] x:1.5 y:a]]" {
		t.Error(got)
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func walk(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: format.Options{"null-items": "fill"}, Jobs: 1})
	}, 4<<10, nil)
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little memory, and
// errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := []string{random(1, 12), random(2, 3), `{"a":[[1,2],[]],"b":{"c":null,"d":[{"e":"\ud83d\ude00"},{}]},"f":-1.5e-3,"g":NaN}` + "\n"}
	m := readertest.Mutants{Format: "jsonl", Quick: 3000, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		b := []byte(all[rng.IntN(len(all))])
		for range 1 + rng.IntN(2) {
			at := rng.IntN(len(b))
			switch rng.IntN(7) {
			case 0:
				b[at] ^= 1 << rng.IntN(8)
			case 1:
				b[at] = "\n\"{}[]:,.-+eE019\\unt "[rng.IntN(21)]
			case 2, 3: // a digit
				if k := bytes.IndexAny(b[at:], "0123456789"); k >= 0 {
					b[at+k] = byte('0' + rng.IntN(10))
				}
			case 4: // a letter
				if k := bytes.IndexAny(b[at:], "abcdefghijklmnopqrstuvw"); k >= 0 {
					b[at+k] = byte('a' + rng.IntN(26))
				}
			case 5: // a piece as another one
				k := rng.IntN(len(b))
				copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(32), len(b))]))
			case 6:
				if rng.IntN(3) == 0 {
					b = b[:at+1]
				}
			}
		}
		return readertest.Mutant{Seed: "m.jsonl", Data: b, Read: walk}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	f.Add([]byte(random(1, 4)))
	f.Add([]byte(`{"a":[[1,2],[]],"b":{"c":null,"d":[{"e":"\ud83d\ude00"},{}]},"f":-1.5e-3,"g":NaN}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walk(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := readertest.TableOf(readertest.Put(f, "a.jsonl", random(1, 9)), readertest.Put(f, "b.jsonl.gz", readertest.Gzip(random(2, 9))))
	text, _ := randomCOCO(1, 20)
	coco := readertest.TableOf(readertest.Put(f, "a.json", text))
	readertest.FuzzState(f, 2, func(which int, state []byte) (shardify.Source, error) {
		if which == 1 {
			return Format.Open(context.Background(), format.OpenArgs{Table: coco, State: state, Options: format.Options{"object": "annotations"}})
		}
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state})
	})
}

// TestDamagedLines are errors, left out, or made UTF-8.
func TestDamagedLines(t *testing.T) {
	good := `{"a":"one","n":[1]}` + "\n"
	data := "{\"a\":\"t\xffwo\xe2\x82\"}\n" + good + `{"a":tru}` + "\n\n" + good + `{"a":"\ud800z","b":"x` + "\xc3\xa4" + `"}` + "\n" + `{"a":"x","a":"y"}` + "\n"
	open := func(data string, skip, mend bool, state []byte) (shardify.Source, error) {
		o := format.Options{}
		if mend {
			o["bad-utf8"] = "replace"
		}
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(readertest.Put(t, "a.jsonl", data), readertest.Put(t, "b.jsonl.gz", readertest.Gzip(data))), Options: o, SkipDamaged: skip, State: state, Jobs: 2})
	}
	texts := func(src shardify.Source) (all []string, counts int64) {
		i := shardify.FieldIndex(src.Schema(), "a")
		readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) {
			c := &b.Columns[i]
			for k := range b.Samples {
				all = append(all, string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]]))
			}
			for _, n := range b.Counts {
				counts += n.N
			}
		})
		return all, counts
	}
	var e *shardify.Error
	if _, err := open(data, false, false, nil); !errors.As(err, &e) || e.Offset != 7 || !strings.Contains(err.Error(), "line 1 is not UTF-8") || !strings.Contains(err.Error(), "--bad-utf8 replace") {
		t.Error(err)
	}
	src, err := open(data, true, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := texts(src); !reflect.DeepEqual(got, []string{"one", "one", "one", "one"}) || len(src.Schema()) != 2 {
		t.Errorf("%q, %v", got, src.Schema())
	}
	var where []string
	for _, s := range src.(format.Skipper).Skipped() {
		where = append(where, fmt.Sprintf("%s %s %d", filepath.Base(s.Input), s.Object, s.Hi-s.Lo))
	}
	if got := strings.Join(where, ", "); got != "a.jsonl line 1 1, a.jsonl line 3 1, a.jsonl line 6 1, a.jsonl line 7 1, b.jsonl.gz line 1 1, b.jsonl.gz line 3 1, b.jsonl.gz line 6 1, b.jsonl.gz line 7 1" {
		t.Error(got)
	}
	state, err := src.(interface{ State() ([]byte, error) }).State()
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
	if src, err = open(data, true, false, state); err != nil {
		t.Fatal(err)
	}
	if got, _ := texts(src); len(got) != 4 {
		t.Errorf("of a state: %q", got)
	}
	src.Close()
	lines := strings.SplitAfter(data, "\n")
	if src, err = open(lines[0]+lines[1]+lines[5], false, true, nil); err != nil {
		t.Fatal(err)
	}
	if got, n := texts(src); n != 6 || !reflect.DeepEqual(got[:3], []string{"t\uFFFDwo\uFFFD", "one", "\uFFFDz"}) {
		t.Errorf("%q, %d replaced", got, n)
	}
	src.Close()
	if _, err := open(lines[0]+lines[2], true, false, nil); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("no line is right: %v", err)
	}
}
