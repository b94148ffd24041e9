package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// arrayOf makes an array of lines, on one line or on many.
func arrayOf(t *testing.T, text string, pretty bool) string {
	var items []json.RawMessage
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			items = append(items, json.RawMessage(line))
		}
	}
	b, err := json.Marshal(items)
	if pretty {
		b, err = json.MarshalIndent(items, "", "  ")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func openObject(object string, state []byte, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), State: state, Options: format.Options{"object": object}, Jobs: 3})
}

// TestArraysAreTheTablesOfTheirLines: in several pieces, packed, as a member of an object.
func TestArraysAreTheTablesOfTheirLines(t *testing.T) {
	text := random(8, 9000)
	src, err := openObject("", nil, readertest.Put(t, "a.jsonl", text))
	if err != nil {
		t.Fatal(err)
	}
	want := readertest.ReadAll(t, src, 1<<20)
	src.Close()
	one, many := arrayOf(t, text, false), arrayOf(t, text, true)
	in := `{"version": "1]", "more": [[1], {"a": [{}]}], "data" :` + many + "\r\n, \"rest\": [{\"a\": \"\\\"}\"}] }\n"
	for _, c := range []struct{ name, text, object string }{
		{"one.json", one, ""}, {"many.json", "\ufeff\n " + many + "\n\n", ""}, {"one.json.gz", readertest.Gzip(one), ""}, {"many.json.zst", readertest.Zstd(many), ""},
		{"in.json", in, "data"}, {"in.json.gz", readertest.Gzip("\ufeff" + in), "data"},
	} {
		file := readertest.Put(t, c.name, c.text)
		src, err := openObject(c.object, nil, file)
		if err != nil {
			t.Fatal(c.name, err)
		}
		for _, target := range []int64{1 << 12, 1 << 30} {
			if err := readertest.ReadAll(t, src, target).Equal(want); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		src.Close()
		if c.name == "in.json" {
			t.Run(c.name, func(t *testing.T) {
				readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
					return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(file), Columns: columns, State: state, Options: format.Options{"object": c.object}, Jobs: 3})
				})
			})
		}
	}
}

// TestWhatIsNoArray: the place is named, and what there is.
func TestWhatIsNoArray(t *testing.T) {
	for _, c := range []struct{ text, object, want string }{
		{`[{"a":1}`, "", "ends within an array"},
		{`[{"a":1},`, "", "ends within an array"},
		{`[{"a":1},]`, "", "byte 9: item 2: a comma without an item"},
		{`[,{"a":1}]`, "", "byte 1: item 1: a comma without an item"},
		{`[{"a":1},,{"a":1}]`, "", "byte 9: item 2: a comma without an item"},
		{`[{"a":1}}]`, "", "a brace that closes nothing"},
		{`[{"a":1}] x`, "", "byte 10: item 1: text behind the array"},
		{"[{\"a\":1}]\n[{\"a\":1}]", "", "text behind the array"},
		{`[{"a":1} {"a":1}]`, "", "byte 9: item 1: text behind the object"},
		{`[{"a":[1}, {"a":2]}]`, "", "want a comma or ]"},
		{`[{"a":1}, 2]`, "", "item 2: no object"},
		{"[{\"a\":1},\n{\"a\":\"x\ny\"}]", "", "item 2: a control character in a string"},
		{"[{\"a\":1},\n{\"a\":\n\"x\"}]", "", "item 2: a is text, a number before"},
		{"[{\"a\":1},\n{\"a\":\"\xff\"}]", "", "item 2 is not UTF-8"},
		{strings.Repeat("[", 100), "", "item 1: no object"},
		{`[{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}]`, "", "depth"},
		{`{"x":[{"a":1}],"y":[{"a":1},{"a":2}]}`, "", "one object, with several tables: --object y makes 2 samples of y; --object x makes 1 sample of x"},
		{`{"x":[{"a":1}],"y":1}`, "y", "it is no array of objects"},
		{`{"x":[{"a":1}],"y":1}`, "z", "there is no z in the file; there is x, y"},
		{`[{"a":1}]`, "z", "the file is an array"},
		{"{\"a\":1}\n{\"a\":2}", "z", "more than one object"},
		{`{"x":[{"a":1}],"x":1}`, "x", `"x" twice`},
		{`{"x":[{"a":1}],`, "x", "does not go on"},
		{`{"x":[{"a":1}`, "x", "not closed"},
		{`{"x":[{"a":"1`, "x", "string without an end"},
		{`{"version":1,"refs":{}}`, "", "kerchunk"},
	} {
		src, err := openObject(c.object, nil, readertest.Put(t, "a.json", c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %s", c.text, err, c.want)
		}
		if err == nil {
			src.Close()
		}
	}
}

// TestDamagedItemsAreLeftOutOnRequest: those whose brackets match.
func TestDamagedItemsAreLeftOutOnRequest(t *testing.T) {
	file := readertest.Put(t, "a.json", "[{\"a\":1},\n{\"a\":\ntru}, {\"a\":3}, 4]")
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(file), SkipDamaged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got []string
	readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) {
		for k := range b.Samples {
			got = append(got, fmt.Sprint(row(b, k)))
		}
	})
	skipped := src.(format.Skipper).Skipped()
	if fmt.Sprint(got) != "[map[a:1] map[a:3]]" || len(skipped) != 2 || skipped[0].Object != "item 2" {
		t.Error(got, skipped)
	}
}

// FuzzArray compares arrays and objects of them with encoding/json.
func FuzzArray(f *testing.F) {
	f.Add([]byte("[{\"a\":1},\n {\"b\":[\"x,]\\\"\"]}]"))
	f.Add([]byte(`{"data":[{"a":1}],"x":{"y":[1,[2]]},"z":-1.5e3,"w":"\u00e9"}`))
	f.Add([]byte(`[]`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(dir, "a.json")
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		checkMembers(t, b, name)
		var items []map[string]json.RawMessage
		valid := json.Unmarshal(b, &items) == nil && bytes.TrimSpace(b)[0] == '['
		samples := 0
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openObject("", nil, name) }, 64, func(b *shardify.Batch) { samples += b.Samples })
		switch {
		case err != nil && !isKind(err):
			t.Errorf("error of no kind: %v", err)
		case err == nil && valid && samples != len(items):
			t.Errorf("%d samples of %d items", samples, len(items))
		}
	})
}

// checkMembers compares the members of an object with those that encoding/json finds.
func checkMembers(t *testing.T, b []byte, name string) {
	var want map[string]json.RawMessage
	if json.Unmarshal(b, &want) != nil || want == nil || len(want) > maxTables {
		return
	}
	r := reader{r: bytes.NewReader(b)}
	if _, err := r.next(); err != nil {
		t.Fatal(err)
	}
	all, err := r.members()
	if err != nil {
		if errors.Is(err, shardify.ErrUnsupported) || strings.Contains(err.Error(), "twice") {
			return
		}
		t.Fatal(err)
	}
	if len(all) != len(want) {
		t.Fatalf("%d members of %d", len(all), len(want))
	}
	for _, m := range all {
		raw, ok := want[m.name]
		if !ok {
			t.Fatalf("no member %q", m.name)
		}
		var items []json.RawMessage
		if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &items) == nil && int64(len(items)) != m.items {
			t.Fatalf("%q: %d items of %d", m.name, m.items, len(items))
		}
	}
}
