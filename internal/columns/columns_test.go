package columns

import (
	"slices"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	names := []string{"x", "y", "Info/run", "Info/deep/lumi", "Jet_pt", "Jet_id", "Infos"}
	for _, c := range []struct{ patterns, want, unmatched string }{
		{"", "x y Info/run Info/deep/lumi Jet_pt Jet_id Infos", ""},
		{"x,Jet_*", "x Jet_pt Jet_id", ""},
		{"!x", "y Info/run Info/deep/lumi Jet_pt Jet_id Infos", ""},
		{"!Info/*", "x y Jet_pt Jet_id Infos", ""}, // and what is deeper
		{"!Info", "x y Jet_pt Jet_id Infos", ""},
		{"Jet_*,!*_id", "Jet_pt", ""},
		{"!*_id,Jet_*,x", "x Jet_pt", ""}, // in any order
		{"!Jet_pt,!!Jet_pt,x", "x Jet_pt", ""},
		{"!Jet_*,!!Jet_id", "x y Info/run Info/deep/lumi Jet_id Infos", ""},
		{"x,!!y", "x y", ""},
		{"x,z,!w,!!v", "x", "z !w v"},
	} {
		var list []string
		if c.patterns != "" {
			list = strings.Split(c.patterns, ",")
		}
		w, err := New(list)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range names {
			if hit, _ := w.Match(n, "/"+n); hit {
				got = append(got, n)
			}
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%q: %s, want %s", c.patterns, g, c.want)
		}
		if u := strings.Join(w.Unmatched(), " "); u != c.unmatched {
			t.Errorf("%q: unmatched %s, want %s", c.patterns, u, c.unmatched)
		}
	}
	for _, bad := range []string{"[x", "![x"} {
		if _, err := New([]string{bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestWholeGroups(t *testing.T) {
	w, err := New([]string{"!a/*", "!b", "!c/x*"})
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]bool{"/a": true, "/a/deep": true, "/b": true, "/c": false, "/d": false} {
		if got := w.Whole(group); got != want {
			t.Errorf("%s: %v", group, got)
		}
	}
	if u := w.Unmatched(); !slices.Equal(u, []string{"!c/x*"}) {
		t.Errorf("unmatched: %v", u)
	}
}
