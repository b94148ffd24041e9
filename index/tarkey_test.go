package index

import (
	"regexp"
	"strings"
	"testing"
)

// The expression of webdataset, Energon and Hugging Face datasets.
var keyExpr = regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)

func FuzzSplitKey(f *testing.F) {
	for _, s := range []string{
		"a.jpg", "d/a.jpg", "dir.v1/a.jpg", "22.05.png", "./a.jpg", ".a", "d/.a", "d/._a.jpg", "x/d/.a", "d.1/.a", "/.a", "//.a", "a//.b", "d/..b", "..", "a", "a/",
		"a.", "a.b.c", "a./b", "a.b/c", "", "/", ".", "x.y/z/.a", "z/x.y/.a", "./.a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\n") {
			t.Skip("a dot in the expression does not match a line feed")
		}
		key, field, ok := SplitKey([]byte(s))
		m := keyExpr.FindStringSubmatch(s)
		if ok != (m != nil) || ok && (string(key) != m[1] || string(field) != m[2]) {
			t.Fatalf("%q: key %q, field %q, %v; the expression finds %q", s, key, field, ok, m)
		}
	})
}
