package tar

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

func joinTexts(texts []string) (data []byte, offsets []int64) {
	offsets = []int64{0}
	for _, s := range texts {
		data = append(data, s...)
		offsets = append(offsets, int64(len(data)))
	}
	return data, offsets
}

var textLists = [][]string{
	{}, {""}, {"", ""}, {"a", "b"}, {`quo"te`, `back\slash`, "line\nfeed\ttab\r\b\f"}, {"\x00\x01\x1f\x7f"}, {"é", "日本", "😀"}, {"</script>&", ",", `","`, "]", "["},
}

// TestTextsAreJSON: every JSON parser reads our lists, and we read them back.
func TestTextsAreJSON(t *testing.T) {
	for _, texts := range textLists {
		data, offsets := joinTexts(texts)
		b, err := AppendTexts(nil, data, offsets)
		if err != nil {
			t.Fatal(err)
		}
		var std []string
		if err := json.Unmarshal(b, &std); err != nil || !slices.Equal(std, texts) {
			t.Errorf("%q is %s for encoding/json: %q, error %v", texts, b, std, err)
		}
		n, size, err := TextsSize(b)
		if err != nil || n != len(texts) || size != len(data) {
			t.Errorf("%s: %d texts of %d bytes, error %v; want %d of %d", b, n, size, err, len(texts), len(data))
			continue
		}
		got, ends := DecodeTexts(make([]byte, 0, size), []int64{0}, b)
		if !bytes.Equal(got, data) || !slices.Equal(ends, offsets) {
			t.Errorf("%s: decoded %q %v, want %q %v", b, got, ends, data, offsets)
		}
	}
	if _, err := AppendTexts(nil, []byte("a\xffb"), []int64{0, 3}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("text that is no UTF-8: %v", err)
	}
}

// FuzzTexts: what we accept, encoding/json reads as the same texts, and writing
// it again gives the same bytes.
func FuzzTexts(f *testing.F) {
	for _, texts := range textLists {
		data, offsets := joinTexts(texts)
		b, _ := AppendTexts(nil, data, offsets)
		f.Add(b)
	}
	for _, s := range []string{"null", "[", "]", `["a",]`, `[ "a"]`, `["\u0041"]`, `["\/"]`, `["a""b"]`, `["\u001F"]`, `["\u000a"]`, `["\u0022"]`, `["\`, `["\"]`, `[,"a"]`, "[\"\xff\"]", `[1]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, size, err := TextsSize(b)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		data, ends := DecodeTexts(nil, []int64{0}, b)
		if len(data) != size || len(ends) != n+1 || !utf8.Valid(b) {
			t.Fatalf("%q: %d texts of %d bytes, decoded %d of %d", b, n, size, len(ends)-1, len(data))
		}
		var std []string
		if err := json.Unmarshal(b, &std); err != nil || len(std) != n {
			t.Fatalf("%q: encoding/json reads %q, error %v", b, std, err)
		}
		for i, s := range std {
			if got := string(data[ends[i]:ends[i+1]]); got != s {
				t.Fatalf("%q: text %d is %q, encoding/json reads %q", b, i, got, s)
			}
		}
		if again, err := AppendTexts(nil, data, ends); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q: written again %q, error %v", b, again, err)
		}
	})
}
