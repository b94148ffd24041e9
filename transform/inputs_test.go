package transform

import (
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

func files(names ...string) *format.Table {
	t := &format.Table{Roots: []string{"/data/run", ""}}
	for _, n := range names {
		t.Append(0, n, 1, 0)
	}
	return t
}

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

func TestSetFindsItsInputs(t *testing.T) {
	table := files("sig/a.root", "sig/b.root", "bg/a.root", "bg/c.root")
	for text, want := range map[string]string{ // values of the four inputs, or what is wrong
		"label=1@sig/*.root\nlabel=0@bg/*.root": "i64 1 1 0 0",
		"label=1@sig/*.root\nlabel=0":           "i64 1 1 0 0",
		"x:f32=0.5@a.root\nx:f32=2":             "f32 0.5 2 0.5 2",
		"x=1@sig/\nx=2.5@bg/":                   "f64 1 1 2.5 2.5",
		"b=true@sig/\nb=false":                  "bool true true false false",
		"big=18446744073709551615":              "!no i64", // as text it would be a guess
		"u:u64=18446744073709551615":            "u64 18446744073709551615 18446744073709551615 18446744073709551615 18446744073709551615",
		"label=1@sig/*.root":                    "!inputs that no glob takes: bg/a.root, bg/c.root",
		"label=1@sig/*.root\nlabel=0@*.root":    "!inputs that two globs take: sig/a.root (sig/*.root and *.root)",
		"label=1@sgi/*.root\nlabel=0":           "!no input matches sgi/*.root",
		"label=1\nlabel=0":                      "!two rules without",
		"label:i8=300":                          `!"300" is not of type i8`,
		"label:f16=1e6":                         `!"1e6" is not of type f16`,
		"label:complex=1":                       "!unknown type",
		"label":                                 "!want NAME=VALUE@GLOB",
		"#=1":                                   "!(reserved)",
		"label=":                                "!no value",
		"label=1@[":                             "!syntax error",
	} {
		s, err := newSet(text, table, nil)
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if text == "big=18446744073709551615" {
				if err != nil || s.Field.DType != shardify.F64 {
					t.Errorf("%s: %v", text, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%s: %v, want %s", text, err, msg)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := parseRuns(s.in.String())
		if err != nil {
			t.Fatal(err)
		}
		// On another machine the paths are others; what was found holds.
		s = made[*setField](t)(newSet(text, files("1", "2", "3", "4"), again))
		b := batchOf(4)
		b.IDs = []shardify.ID{{Input: 0}, {Input: 1}, {Input: 2}, {Input: 3}}
		out := run(t, s, b)
		got := out.Columns[0].DType.String()
		for i := range 4 {
			got += " " + text2(&out.Columns[0], i)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestTotalsAreThoseOfTheirInputs: a line's sum goes over the inputs that it takes.
func TestTotalsAreThoseOfTheirInputs(t *testing.T) {
	table := files("sig/a.root", "bg/a.root", "sig/b.root", "bg/b.root")
	sums := totals{table: table, known: map[total][]inputSum{
		{"Runs", "w"}:     {{Float: 1.5}, {Float: 10}, {Float: 2}, {Float: 20}},
		{"dir/Runs", "n"}: {{Int: 1, IsInt: true}, {Int: 2, IsInt: true}, {Int: 1<<63 - 4, IsInt: true}, {Int: 3, IsInt: true}},
	}}
	for text, want := range map[string]string{
		"s=sum(Runs:w)@sig/*.root\ns=sum(Runs:w)@bg/": "s=sum(Runs:w)=3.5@sig/*.root\ns=sum(Runs:w)=30.0@bg/",
		"s=sum( Runs : w )":                           "s=sum( Runs : w )=33.5",
		"s:f32=sum(Runs:w)@sig/\ns=1":                 "s:f32=sum(Runs:w)=3.5@sig/\ns=1",
		"s=sum(dir/Runs:n)@bg/\ns=0":                  "s=sum(dir/Runs:n)=5@bg/\ns=0",
		"s=sum(Runs:w)=7@bg/\ns=sum(Runs:w)":          "s=sum(Runs:w)=7@bg/\ns=sum(Runs:w)=3.5", // known already
		"s=1":                                         "s=1",
		`s="sum(Runs:w)"`:                             `s="sum(Runs:w)"`,
		"s=sum(dir/Runs:n)":                           "!leaves the range",
		"s=sum(Run:n)":                                "!no tables beside",
		"s=sum(Runs:w)@x.nc":                          "!no glob takes",
	} {
		got, err := sums.complete(t.Context(), text)
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%s: %v, want %s", text, err, msg)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := newSet("s=sum(Runs:w)", table, nil); err == nil || !strings.Contains(err.Error(), "not known yet") {
		t.Error(err)
	}
	sums.table = nil
	if _, err := sums.complete(t.Context(), "s=sum(Runs:w)"); err == nil {
		t.Error("a total without files")
	}
	s := made[*setField](t)(newSet("s=sum(Runs:w)=30.0@bg/\ns=sum(Runs:w)=3.5", table, nil))
	if s.Field.DType != shardify.F64 || valueText(s.Field.DType, s.rules[0].bytes, 0) != "30" {
		t.Errorf("%+v", s.Field)
	}
}

func text2(c *shardify.Column, i int) string { return valueText(c.DType, c.Data, i) }

func TestSetTexts(t *testing.T) {
	s := made[*setField](t)(newSet("era=\"2018@A\"@sig/\nera=long text", files("sig/a", "b"), nil))
	b := batchOf(3)
	b.IDs = []shardify.ID{{Input: 1}, {Input: 0}, {Input: 0}}
	out := run(t, s, b)
	if c := &out.Columns[0]; c.Media != "txt" || string(c.Data) != "long text2018@A2018@A" {
		t.Errorf("%+v %q", c.Field, c.Data)
	}
}

// TestFractionIsStable: the share is right, smaller ones are parts of larger ones,
// another seed takes others, and further inputs change nothing.
func TestFractionIsStable(t *testing.T) {
	const n = 20000
	keep := func(text string, seed uint64, table *format.Table, input uint32) map[int64]bool {
		b := batchOf(n)
		b.First.Input = input
		f := made[*sampleFraction](t)(newFraction(text, table, nil))
		if _, err := f.Schema(nil); err != nil {
			t.Fatal(err)
		}
		out, err := f.Apply(b, seed, arena(t))
		if err != nil {
			t.Fatal(err)
		}
		m := map[int64]bool{}
		for i := range out.Samples {
			m[out.ID(i).Sample] = true
		}
		return m
	}
	one := files("bg/a.root")
	half, tenth := keep("bg/=0.5", 1, one, 0), keep("bg/=0.1", 1, one, 0)
	if math.Abs(float64(len(half))-n/2) > 300 || math.Abs(float64(len(tenth))-n/10) > 200 {
		t.Errorf("%d and %d of %d", len(half), len(tenth), n)
	}
	for s := range tenth {
		if !half[s] {
			t.Fatalf("sample %d is in a tenth and not in the half", s)
		}
	}
	again := keep("bg/=0.5", 1, files("aa/new.root", "bg/a.root"), 1)
	other := keep("bg/=0.5", 2, one, 0)
	same := 0
	for s := range half {
		if !again[s] {
			t.Fatal("a further input changed the choice")
		}
		if other[s] {
			same++
		}
	}
	if math.Abs(float64(same)-n/4) > 300 {
		t.Errorf("two seeds have %d of %d in common", same, len(half))
	}
	if all := keep("bg/=1", 1, one, 0); len(all) != n {
		t.Errorf("%d of all", len(all))
	}
	if none := keep("bg/=0", 1, one, 0); len(none) != 0 {
		t.Errorf("%d of none", len(none))
	}
	for _, bad := range []string{"1.5", "x", "bg/=-1", "bg/=NaN", "q/=0.5"} {
		if _, err := newFraction(bad, one, nil); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
