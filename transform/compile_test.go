package transform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/synth"
)

const schema = "nJet:u8,eta:f32,w:f64,run:u32,Jet_pt:f32*9@nJet,Jet_eta:f32*9@nJet,particle:txt*2,miss:f32?"

func source(t testing.TB) (shardify.Source, []shardify.Field) {
	t.Helper()
	o, err := format.CheckOptions(synth.Format.Options, format.Options{"schema": schema, "samples": "100"})
	if err != nil {
		t.Fatal(err)
	}
	src, err := synth.Format.Open(context.Background(), format.OpenArgs{Table: &format.Table{}, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return src, src.Schema()
}

func table(names ...string) *format.Table {
	t := &format.Table{Roots: []string{"data"}}
	for _, n := range names {
		t.Append(0, n, 1, 0)
	}
	return t
}

// schemas runs the schemas of a pipeline and returns the fields of its end.
func schemas(p *flow.Pipeline, in []shardify.Field) ([]shardify.Field, error) {
	var err error
	for _, s := range append(slices.Clone(p.Before), p.After...) {
		if in, err = s.Schema(in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func names(fields []shardify.Field) string {
	var out []string
	for i := range fields {
		out = append(out, fields[i].Name)
	}
	return strings.Join(out, " ")
}

// TestOrderIsFixed: flags in any order give the same operations, in the documented
// order.
func TestOrderIsFixed(t *testing.T) {
	s := Settings{
		Pack: {"f=ht,eta32"}, Cast: {"*=f16", "f64=f32"}, Rename: {"eta32=eta"}, Pad: {"jets=4"}, Stack: {"jets=Jet_pt,Jet_eta"}, Sort: {"jets=-Jet_pt"},
		Encode: {"particle,run"}, NaN: {"drop"}, Define: {"ht=sum(Jet_pt)", "lead=Jet_pt[0] ?? 0"}, Where: {"nJet > 1", "ht > 3"}, Fraction: {"a=0.5", "b=0.1"},
		Set: {"label=1@a", "x=2", "label=0@b"}, Copies: {"3"},
	}
	list, err := s.Ops(table("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	want := `set label=1@a|label=0@b
set x=2
fraction a=0.5|b=0.1
where nJet > 1
where ht > 3
copies 3
define ht=sum(Jet_pt)
define lead=Jet_pt[0] ?? 0
nan drop
encode particle
encode run
sort jets=-Jet_pt
stack jets=Jet_pt,Jet_eta
pad jets=4
rename eta32=eta
cast *=f16,f64=f32
pack f=ht,eta32
`
	got := ""
	for _, op := range list {
		got += op.Name + " " + strings.Join(Shown(op), "|") + "\n"
	}
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	src, in := source(t)
	defer src.Close()
	p, err := Compile(list, flow.Env{Schema: in, Table: table("1", "2")})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Before) != 5 || p.Copies != 3 || p.Before[4].Op != 4 || p.After[0].Op != 6 {
		t.Errorf("%d before, %d copies, %+v", len(p.Before), p.Copies, p.After[0])
	}
	out, err := schemas(p, in)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(out), "nJet w run jets particle miss label x f lead jets_mask"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFieldsForOperationsAreReadAndDropped narrows by --columns.
func TestFieldsForOperationsAreReadAndDropped(t *testing.T) {
	src, in := source(t)
	defer src.Close()
	for _, c := range []struct {
		columns             []string
		s                   Settings
		others              []string
		open, helpers, left string
	}{
		{nil, Settings{Where: {"nJet > 1"}}, nil, "", "", "nJet eta w run Jet_pt Jet_eta particle miss"},
		{[]string{"eta"}, Settings{Where: {"nJet > 1 && eta > 0"}}, nil, "eta nJet", "nJet", "eta"},
		{[]string{"e*"}, Settings{Define: {"ht=sum(Jet_pt)"}, Where: {"ht > w"}}, nil, "e* Jet_pt w", "Jet_pt w", "eta ht"},
		{[]string{"eta"}, Settings{Stack: {"jets=Jet_pt,Jet_eta"}, Sort: {"jets=-Jet_pt"}, Pad: {"jets=3"}}, nil, "eta Jet_pt Jet_eta", "", "eta jets jets_mask"},
		{[]string{"eta"}, Settings{Encode: {"particle"}, Rename: {"w32=w"}, Cast: {"w32=f32"}}, nil, "eta w particle", "", "eta w32 particle"},
		{[]string{"eta"}, Settings{Set: {"label=1"}, Where: {"label == 1"}, Pack: {"f=eta,label,nJet"}}, nil, "eta nJet", "", "f"},
		{[]string{"eta"}, Settings{}, []string{"run"}, "eta run", "run", "eta"},
		{[]string{"!w", "!Jet_*", "!miss"}, Settings{Where: {"w > len(Jet_pt)"}}, nil, "!w !Jet_* !miss !!w !!Jet_pt", "w Jet_pt", "nJet eta run particle"},
		{[]string{"eta"}, Settings{Where: {"w > 0"}, Pack: {"f=*"}}, nil, "eta w", "w", "f"},
		{[]string{"eta"}, Settings{Sort: {"Jet=Jet_pt"}, Where: {"len(Jet_pt) > 1"}, Pad: {"Jet_pt=2"}, Cast: {"Jet_pt=f16"}}, nil, "eta Jet_pt", "", "eta Jet_pt Jet_pt_mask"},
		{[]string{"eta"}, Settings{Where: {"any_of(n*, r?n)"}}, nil, "eta n* r?n", "n* r?n", "eta"},
		{[]string{"eta", "run"}, Settings{Where: {"any_of(n*, r*, eta > 1)"}, Rename: {"n=nJet"}}, nil, "eta run nJet n* r*", "n* r*", "n eta run"},
		{[]string{"?un"}, Settings{Define: {"k=count_of(*un, nJet)"}}, nil, "?un *un nJet", "*un nJet", "run k"},
	} {
		open, helpers, err := c.s.Columns(c.columns, c.others...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(open, " ") != c.open || strings.Join(helpers, " ") != c.helpers {
			t.Errorf("%v with %v opens %v and drops %v", c.columns, c.s, open, helpers)
			continue
		}
		fields := slices.DeleteFunc(slices.Clone(in), func(f shardify.Field) bool {
			w, err := columns.New(open)
			if err != nil {
				t.Fatal(err)
			}
			hit, _ := w.Match(f.Name)
			return !hit
		})
		list, err := c.s.Ops(nil)
		if err != nil {
			t.Fatal(err)
		}
		if helpers, err = c.s.Helpers(helpers, c.columns, fields); err != nil {
			t.Fatal(err)
		}
		p, err := Compile(list, flow.Env{Schema: fields, Helpers: helpers})
		if err != nil {
			t.Fatal(err)
		}
		out, err := schemas(p, fields)
		if err != nil {
			t.Errorf("%v: %v", c.s, err)
		} else if names(out) != c.left {
			t.Errorf("%v leaves %s, want %s", c.s, names(out), c.left)
		}
	}
}

// TestAFieldIsLeftOutOrKept: not both.
func TestAFieldIsLeftOutOrKept(t *testing.T) {
	for _, s := range []Settings{{Cast: {"eta=f32"}}, {Rename: {"e=eta"}}, {Stack: {"jets=eta,nJet"}}} {
		_, _, err := s.Columns([]string{"!eta"})
		if !errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), "keeps the field eta, which --columns leaves out") {
			t.Errorf("%v: %v", s, err)
		}
		if _, _, err := s.Columns([]string{"!run"}); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestMistakesNameFlagAndCure: every error says which flag, and the line to paste.
func TestMistakesNameFlagAndCure(t *testing.T) {
	src, in := source(t)
	defer src.Close()
	for _, c := range []struct {
		s          Settings
		want, cure string
	}{
		{Settings{Where: {"nJets > 1"}}, "no field nJets; did you mean nJet?", "--where 'nJet > 1'"},
		{Settings{Where: {`particle == "nJets" and nJets > 1`}}, "no field nJets", `--where 'particle == "nJets" and nJet > 1'`},
		{Settings{Where: {`particle != 'a\'nJets' and nJets > 1`}}, "no field nJets", `--where 'particle != '\''a\'\''nJets'\'' and nJet > 1'`},
		{Settings{Define: {"x=sum(jet_pt) + sum(Jet_pt)"}}, "no field jet_pt", "--define 'x=sum(Jet_pt) + sum(Jet_pt)'"},
		{Settings{Stack: {"j=Jet_pt,Jet_etta"}}, "no field Jet_etta", "--stack 'j=Jet_pt,Jet_eta'"},
		{Settings{Cast: {"ww=f32"}}, "no field ww", "--cast 'w=f32'"},
		{Settings{Where: {"nJet >"}}, "--where 'nJet >': column", ""},
		{Settings{Define: {"ht"}}, "--define 'ht': want NAME=EXPRESSION", ""},
		{Settings{Set: {"label=1@x"}}, "--set 'label=1@x': the inputs are not files", ""},
		{Settings{Pad: {"jets"}}, "--pad 'jets': want NAME=LENGTH", ""},
		{Settings{Sort: {"Jet_pt"}}, "--sort 'Jet_pt': want TARGET=KEY", ""},
		{Settings{NaN: {"x"}}, "--nan 'x': ", ""},
		{Settings{Rename: {"a"}}, "--rename 'a': ", ""},
		{Settings{Pack: {"f"}}, "--pack 'f': want NAME=GLOB", ""},
		{Settings{Fraction: {"2"}}, "--fraction '2': ", ""},
		{Settings{Copies: {"0"}}, "--copies 0", ""},
	} {
		list, err := c.s.Ops(nil)
		if err == nil {
			var p *flow.Pipeline
			if p, err = Compile(list, flow.Env{Schema: in}); err == nil {
				_, err = schemas(p, in)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.s, err, c.want)
			continue
		}
		if got := c.s.Correct(err); got != c.cure {
			t.Errorf("%v: %q, want %q", c.s, got, c.cure)
		}
		if c.cure != "" {
			if e := c.s.Check(in); e == nil || c.s.Correct(e) != c.cure {
				t.Errorf("%v: checked by names: %v", c.s, e)
			}
		}
	}
}

// FuzzFlags: no text of a flag makes parsing, planning or compiling fail in another way
// than by an error, and what is compiled from the plan is what was asked for.
func FuzzFlags(f *testing.F) {
	for k, texts := range map[int][]string{
		0: {"label=1", "a:f16=2.5", `e="x@y"`, "b=true"}, 1: {"0.5", "a=0.1"}, 2: {"nJet > 1"}, 3: {"2"}, 5: {"ht:f16=sum(Jet_pt)", "cls=regex(particle, '^(.)')", "cls=path(1)"}, 6: {"fill=0", "w=drop,keep"},
		7: {"particle", "run"}, 8: {"Jet=-Jet_pt"}, 9: {"j=Jet_pt,Jet_eta"}, 10: {"Jet=3:-1"}, 11: {"a=eta,b=w"}, 12: {"*=f16,f64=f32,run=i16:clip"}, 13: {"f=[ew]*"},
	} {
		for _, s := range texts {
			f.Add(k, s)
		}
	}
	src, in := source(f)
	defer src.Close()
	f.Fuzz(func(t *testing.T, k int, text string) {
		if k < 0 || k >= len(Table) || len(text) > 300 {
			return
		}
		s := Settings{Table[k].Name: {text}}
		s.Columns([]string{"eta"})
		list, err := s.Ops(nil)
		if err != nil {
			return
		}
		p, err := Compile(list, flow.Env{Schema: in})
		if err != nil {
			if Table[k].Name != Augment {
				_, _ = fmt.Sprint(err), s.Correct(err)
			}
			return
		}
		out, err := schemas(p, slices.Clone(in))
		if err != nil {
			return
		}
		// Companions and doubles are ValidateSchema's business; what a transform lets
		// through must be a schema.
		if err := shardify.ValidateSchema(out); err != nil && len(out) > 0 {
			t.Fatalf("--%s %q: %v", Table[k].Name, text, err)
		}
		r, err := src.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		pool := shardify.NewPool(64 << 20)
		mem, err := pool.Grant(context.Background(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(context.Background(), shardify.Span{Hi: 5}, mem)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range append(slices.Clone(p.Before), p.After...) {
			if c := st.Cost(in); c.Sample > 1<<20 {
				return
			}
			if b, err = st.Apply(b, 1, mem); err != nil {
				return
			}
		}
		if err := b.Match(out); err != nil {
			t.Fatalf("--%s %q: %v", Table[k].Name, text, err)
		}
	})
}
