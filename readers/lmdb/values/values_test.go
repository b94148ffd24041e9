package values

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGuess: the bytes are those of Python's json, pickle, msgpack, zlib, and of Caffe.
func TestGuess(t *testing.T) {
	atoms := `{"numbers": [1], "positions": [], "cell": [], "pbc": []}`
	for value, want := range map[string]string{
		"a text\n":                     "text",
		"":                             "text",
		"a\x00":                        "bytes",
		"\xff\xfe":                     "bytes",
		` {"a": 1} `:                   "json",
		atoms:                          "atoms",
		string(packed(t, atoms)):       "atoms, packed",
		string(packed(t, `{"a": 1}`)):  "json, packed",
		string(packed(t, "no object")): "bytes",
		"\x81\xa1a\x01":                "msgpack",
		"\x08\x01\x10\x02\x18\x03\x22\x06abcdef\x28\x07":             "a Datum of u8 [1 2 3]",
		"\x08\x01\x10\x01\x18\x02\x32\x08\x00\x00\x80?\x00\x00\x00@": "a Datum of f32 [1 1 2]",
		"\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 20):             "png",
		"\x80\x04K\x07.": "pickle",
		string(packed(t, "\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00K\x07.")): "pickle",
	} {
		k, err := Guess([]byte(value), "the value")
		got := ""
		switch {
		case errors.Is(err, shardify.ErrUnsupported) && len(shardify.Hints(err)) == 2:
			got = "pickle" // and the two lines that convert it
		case err == nil:
			if got = k.String(); k.Zlib {
				got += ", packed"
			}
		}
		if got != want {
			t.Errorf("%.40q: %s, %v; want %s", value, got, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"f32": "numbers f32 []", "f32[6]": "numbers f32 [6]", "u8[2,3]": "numbers u8 [2 3]", "image": "image invalid []", "text": "text invalid []",
		"": "", "f33": "", "f32[": "", "f32[0]": "", "f32[-1]": "", "f32[2,]": "", "f32[65536,65536]": "", "f32[9999999999999]": "",
	} {
		k, err := Parse(text)
		got := ""
		if err == nil {
			got = fmt.Sprint(k.Is, " ", k.DType, " ", k.Shape)
		}
		if got != want || (want == "") != errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	if k, err := Parse("i16[]"); err != nil || k.Shape != nil {
		t.Errorf("any length: %+v, %v", k, err)
	}
}

func TestJoin(t *testing.T) {
	kinds := map[string]*Kind{"png": {Is: Image, Ext: "png"}, "jpg": {Is: Image, Ext: "jpg"}, "wav": {Is: File, Ext: "wav"}, "text": {Is: Text}, "bytes": {Is: Bytes}, "json": {Is: JSON}}
	for pair, want := range map[string]string{"png png": "png", "png jpg": "image", "text bytes": "bytes", "text text": "bytes", "wav png": "", "json text": "", "json json": "json"} {
		a, b, _ := strings.Cut(pair, " ")
		for range 2 {
			got := ""
			if k := kinds[a].Join(kinds[b]); k != nil {
				got = k.String()
			}
			if pair == "text text" && got == "text" {
				got = "bytes" // the same kind is itself
			}
			if got != want {
				t.Errorf("%s and %s: %q, want %q", a, b, got, want)
			}
			a, b = b, a
		}
	}
}

func TestUnpackIsBounded(t *testing.T) {
	long := packed(t, strings.Repeat("a", 1<<20))
	if b, err := Unpack(nil, long); err != nil || len(b) != 1<<20 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	for what, b := range map[string][]byte{"cut": long[:len(long)-5], "bytes behind": append(bytes.Clone(long), 1), "no zlib": []byte("x\x9cabc")} {
		if _, err := Unpack(nil, b); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzGuess(f *testing.F) {
	f.Add([]byte("\x08\x01\x10\x01\x18\x02\x32\x08\x00\x00\x80?\x00\x00\x00@"))
	f.Add([]byte("\x81\xa1a\x01"))
	f.Add(packed(f, `{"a": 1}`))
	f.Fuzz(func(t *testing.T, v []byte) {
		k, err := Guess(v, "the value")
		if err != nil && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
		if err == nil && k.Join(k) == nil {
			t.Errorf("%s and itself have nothing in common", k)
		}
	})
}

func TestMost(t *testing.T) {
	atoms, json, text, bytes := &Kind{Is: Atoms, Zlib: true}, &Kind{Is: JSON}, &Kind{Is: Text}, &Kind{Is: Bytes}
	for _, c := range []struct {
		all  []*Kind
		most *Kind
		odd  int
	}{
		{nil, nil, -1}, {[]*Kind{text, bytes, text}, nil, -1}, {[]*Kind{bytes, atoms, bytes}, atoms, 0}, {[]*Kind{atoms, atoms}, atoms, -1},
		{[]*Kind{json, text, json}, json, 1}, {[]*Kind{json, text}, nil, -1}, {[]*Kind{text, json, text}, nil, -1},
	} {
		if most, odd := Most(c.all); most != c.most || odd != c.odd {
			t.Errorf("%v: %v and %d, want %v and %d", c.all, most, odd, c.most, c.odd)
		}
	}
}
