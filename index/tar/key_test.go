package tar

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// The expression of webdataset, Energon and Hugging Face datasets.
var keyExpr = regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)

// FuzzSplitKey: keys and fields are those that the expression finds; a key that
// CheckKey accepts is what loaders find; row keys have one form.
func FuzzSplitKey(f *testing.F) {
	for _, s := range []string{
		"a.jpg", "d/a.jpg", "dir.v1/a.jpg", "22.05.png", "./a.jpg", ".a", "d/.a", "d/._a.jpg", "x/d/.a", "d.1/.a", "/.a", "//.a", "a//.b", "d/..b", "..", "a", "a/",
		"a.", "a.b.c", "a./b", "a.b/c", "", "/", ".", "x.y/z/.a", "z/x.y/.a", "./.a",
		"000001-000000002", "000000-000000000-003", "4294967296-000000000", "d/__a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\n") {
			t.Skip("a dot in the expression does not match a line feed")
		}
		if CheckKey([]byte(s)) == nil {
			if key, field, ok := SplitKey([]byte(s + ".x.npy")); !ok || string(key) != s || string(field) != "x.npy" {
				t.Fatalf("%q: loaders would find key %q and field %q", s, key, field)
			}
		}
		if id, ok := ParseRowKey([]byte(s)); ok && string(AppendRowKey(nil, id)) != s {
			t.Fatalf("%q: row %+v", s, id)
		}
		key, field, ok := SplitKey([]byte(s))
		m := keyExpr.FindStringSubmatch(s)
		if ok != (m != nil) || ok && (string(key) != m[1] || string(field) != m[2]) {
			t.Fatalf("%q: key %q, field %q, %v; the expression finds %q", s, key, field, ok, m)
		}
	})
}

// TestBadKeysNameTheCharacter: and not one of its bytes.
func TestBadKeysNameTheCharacter(t *testing.T) {
	for key, want := range map[string]string{"a\u2028b": `has "\u2028" at 1`, "\u0085/a": `has "\u0085" at 0`, "a b": `has " " at 1`, "a\tb": `has "\t" at 1`, "\xff": "at 0"} {
		if err := CheckKey([]byte(key)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--format mmap") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestCheckKey: keys that a tar carries, and those that some loader would split,
// skip or misread.
func TestCheckKey(t *testing.T) {
	for _, k := range []string{"a", "000000-000000001", "d/a", "d.v1/a_B-9", "_a", "-", "d/__a", "a.b.c/d", strings.Repeat("k", 98), "café", "日本.v1/写真", "e\u0301", "👩\u200d👧", "IMG(1)+2", "a:b", "a*", "x,y=1@#~", "\ufffd"} {
		if err := CheckKey([]byte(k)); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		if key, _, ok := SplitKey([]byte(k + ".x.npy")); !ok || string(key) != k {
			t.Errorf("%s: loaders would find key %q", k, key)
		}
	}
	for _, k := range []string{
		"", "/a", "a/", "a//b", ".a", "d/.a", "./a", "../a", "a/../b", ".d/a", "a.b", "d/a.b", "a b", "a\\b", "a\x00", "a\n", "a\x7f", "\xff", "\xff/a", "caf\xc3", "\xc3\xa9\xa9", "a\u0085", "a\u2028", "é.b", strings.Repeat("é", 49) + "e", "__a", "__d__/a", strings.Repeat("k", 99),
	} {
		if err := CheckKey([]byte(k)); !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%q: %v", k, err)
		}
	}
}

func TestRowKeys(t *testing.T) {
	for _, c := range []struct {
		id  shardify.ID
		key string
	}{
		{shardify.ID{}, "000000-000000000"},
		{shardify.ID{Input: 12, Sample: 345}, "000012-000000345"},
		{shardify.ID{Input: 999999, Sample: 999999999}, "999999-999999999"},
		{shardify.ID{Input: 1000000, Sample: 1000000000}, "1000000-1000000000"},
		{shardify.ID{Input: math.MaxUint32, Sample: math.MaxInt64, Copy: math.MaxUint16}, "4294967295-9223372036854775807-65535"},
		{shardify.ID{Sample: 7, Copy: 2}, "000000-000000007-002"},
	} {
		if got := AppendRowKey(nil, c.id); string(got) != c.key {
			t.Errorf("%+v: %s, want %s", c.id, got, c.key)
		}
		if id, ok := ParseRowKey([]byte(c.key)); !ok || id != c.id {
			t.Errorf("%s: %+v %v, want %+v", c.key, id, ok, c.id)
		}
		if err := CheckKey([]byte(c.key)); err != nil {
			t.Error(err)
		}
	}
	for _, k := range []string{"", "a", "0-0", "000000", "000000-", "000000-00000000", "0000000-000000000", "000000-+00000000", "000000--00000001", "000000-000000000-000", "000000-000000000-1", "000000-000000000-001-"} {
		if id, ok := ParseRowKey([]byte(k)); ok {
			t.Errorf("%q parses to %+v", k, id)
		}
	}
}
