package op

import (
	"strings"
	"testing"
)

func TestGlobsMatchTheEndOfAPath(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.root", "sig/a.root", true}, {"sig/*.root", "/x/y/sig/a.root", true}, {"sig/*.root", "sig/b/a.root", false}, {"sig/**", "/x/sig/b/a.root", true},
		{"sig/", "sig/b/a.root", true}, {"sig/", "asig/a.root", false}, {"**/a.root", "x/a.root", true}, {"s*/**/a.root", "q/sig/a/b/a.root", true},
		{"a.root", "ba.root", false}, {"/x/*.root", "/x/a.root", true}, {"/x/*.root", "/y/x/a.root", false}, {"tt[12]*", "tt1_a.root", true}, {"tt[12]*", "tt3.root", false},
	} {
		g, err := parseGlob(c.glob)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.match(strings.Split(c.path, "/")); got != c.want {
			t.Errorf("%s matches %s: %v", c.glob, c.path, got)
		}
	}
	for _, g := range []string{"[", "a//b", ""} {
		if _, err := parseGlob(g); err == nil {
			t.Errorf("glob %q is taken", g)
		}
	}
}
