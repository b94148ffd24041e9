package index

import (
	"regexp"
	"strings"
	"testing"
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
