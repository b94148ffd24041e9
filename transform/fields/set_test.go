package fields

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

func files(names ...string) *format.Table {
	t := &format.Table{Roots: []string{"/data/run", ""}}
	for _, n := range names {
		t.Append(0, n, 1, 0)
	}
	return t
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
		s, err := newSet(&op.Env{Table: table}, text)
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if text == "big=18446744073709551615" {
				if err != nil || s.field.DType != shardify.F64 {
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
		again, err := op.ParseRuns(s.in.String())
		if err != nil {
			t.Fatal(err)
		}
		// On another machine the paths are others; what was found holds.
		s = transformtest.Made[*setField](t)(newSet(&op.Env{Table: files("1", "2", "3", "4"), Runs: again}, text))
		b := &shardify.Batch{Samples: 4}
		b.IDs = []shardify.ID{{Input: 0}, {Input: 1}, {Input: 2}, {Input: 3}}
		out := transformtest.Run(t, s, b)
		got := out.Columns[0].DType.String()
		for i := range 4 {
			got += " " + cast.Text(out.Columns[0].DType, out.Columns[0].Data, i)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestTotalsAreThoseOfTheirInputs: a line's sum goes over the inputs that it takes.
func TestTotalsAreThoseOfTheirInputs(t *testing.T) {
	table := files("sig/a.root", "bg/a.root", "sig/b.root", "bg/b.root")
	sums := Totals{table: table, known: map[total][]inputSum{
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
		got, err := sums.Complete(t.Context(), text)
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
	if _, err := newSet(&op.Env{Table: table}, "s=sum(Runs:w)"); err == nil || !strings.Contains(err.Error(), "not known yet") {
		t.Error(err)
	}
	sums.table = nil
	if _, err := sums.Complete(t.Context(), "s=sum(Runs:w)"); err == nil {
		t.Error("a total without files")
	}
	s := transformtest.Made[*setField](t)(newSet(&op.Env{Table: table}, "s=sum(Runs:w)=30.0@bg/\ns=sum(Runs:w)=3.5"))
	if s.field.DType != shardify.F64 || cast.Text(s.field.DType, s.rules[0].bytes, 0) != "30" {
		t.Errorf("%+v", s.field)
	}
}

func TestSetTexts(t *testing.T) {
	s := transformtest.Made[*setField](t)(newSet(&op.Env{Table: files("sig/a", "b")}, "era=\"2018@A\"@sig/\nera=long text"))
	b := &shardify.Batch{Samples: 3}
	b.IDs = []shardify.ID{{Input: 1}, {Input: 0}, {Input: 0}}
	out := transformtest.Run(t, s, b)
	if c := &out.Columns[0]; c.Media != "txt" || string(c.Data) != "long text2018@A2018@A" {
		t.Errorf("%+v %q", c.Field, c.Data)
	}
}
