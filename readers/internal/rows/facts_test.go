package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// made is an input that is nothing but its facts.
type made struct {
	name string
	f    Facts
	err  error
}

func field(name string, d shardify.DType, shape ...int) Field {
	return Field{Field: shardify.Field{Name: name, DType: d, Shape: shape}}
}

func jagged(name string, d shardify.DType, bytes int64) Field {
	return Field{Field: shardify.Field{Name: name, DType: d, Levels: 1}, Bytes: bytes}
}

// file has ten samples.
func file(name string, fields ...Field) made {
	return made{name: name, f: Facts{Samples: 10, Size: 100, Fields: fields}}
}

func tableOf(files []made) *format.Table {
	t := &format.Table{Roots: []string{""}}
	for _, f := range files {
		t.Append(0, f.name, f.f.Size, 0)
	}
	return t
}

func formatOf(files []made) Format {
	byName := map[string]*made{}
	for i := range files {
		byName[files[i].name] = &files[i]
	}
	return Format{Name: "made", Look: func(_ context.Context, path string, want *Wanted) (*Facts, error) {
		m := byName[path]
		if m.err != nil {
			return nil, m.err
		}
		f := m.f
		f.Fields, f.Left = nil, nil
		for _, x := range m.f.Fields {
			if hit, _ := want.Match(x.Name); hit {
				f.Fields = append(f.Fields, x)
			}
		}
		for _, x := range m.f.Left {
			if hit, _ := want.Match(x.Name); hit {
				f.Left = append(f.Left, x)
			}
		}
		f.Void = slices.DeleteFunc(slices.Clone(f.Void), func(name string) bool {
			hit, _ := want.Match(name)
			return !hit
		})
		return &f, nil
	}}
}

func openMade(files []made, missing Missing, columns ...string) (*Set, error) {
	return openAs(formatOf(files), files, missing, columns...)
}

func openAs(f Format, files []made, missing Missing, columns ...string) (*Set, error) {
	return Open(context.Background(), format.OpenArgs{
		Table: tableOf(files), Columns: columns, Options: format.Options{"missing": string(missing)}, Jobs: 3,
	}, f)
}

// show is a set in a line: schema, then samples by input with the source of each
// column.
func show(s *Set) string {
	var b strings.Builder
	for i, f := range s.schema {
		fmt.Fprintf(&b, "%s%s %s", []string{"", ", "}[min(i, 1)], f.Name, typeOf(&f))
		if f.Nullable {
			b.WriteString("?")
		}
		if f.Counter != "" {
			b.WriteString(" #" + f.Counter)
		}
	}
	for in := range s.Inputs() {
		fmt.Fprintf(&b, " | %s:%d", in.Name(), in.Samples)
		for i := range s.schema {
			fmt.Fprintf(&b, " %d", in.Field(i))
		}
	}
	return b.String()
}

func shownLeft(s *Set) string {
	var all []string
	for _, l := range s.Leftovers() {
		t := l.Name + ": " + l.Reason
		if l.Count > 0 {
			t = fmt.Sprintf("%s (%d)", t, l.Count)
		}
		all = append(all, t)
	}
	return strings.Join(all, "; ")
}

func TestFieldsThatSomeInputsLack(t *testing.T) {
	x, y, z := field("x", shardify.F32), field("y", shardify.I64, 2), jagged("z", shardify.U8, 100)
	files := []made{file("a", x, y), file("b", y, x, z), file("c", x), file("d", y, x)}
	for _, c := range []struct {
		missing     Missing
		columns     []string
		want, left  string
		err, errToo string
	}{
		{Fail, nil, "", "", "field y is in 3 inputs (a, b, d), not in 1 input (c)", "field z is in 1 input (b), not in 3 inputs (a, c, d)"},
		{"", nil, "", "", "--missing intersect", "--missing fill"},
		{Intersect, nil, "x f32 | a:10 0 | b:10 1 | c:10 0 | d:10 1",
			"y: not in 1 input (c) of 4 (--missing intersect); z: not in 3 inputs (a, c, d) of 4 (--missing intersect)", "", ""},
		{Intersect, []string{"x", "y"}, "", "", "y was asked for by name", "1 input (c)"},
		{Intersect, []string{"[xy]"}, "x f32 | a:10 0 | b:10 1 | c:10 0 | d:10 1", "y: not in 1 input (c) of 4 (--missing intersect)", "", ""},
		{Drop, []string{"x", "y"}, "x f32, y i64 [2] | a:10 0 1 | b:10 1 0 | d:10 1 0", "c: lacks y (--missing drop) (1)", "", ""},
		{Drop, nil, "x f32, y i64 [2], z jagged u8 | b:10 1 0 2", "a: lacks z (--missing drop) (3)", "", ""},
		{Drop, []string{"x"}, "x f32 | a:10 0 | b:10 0 | c:10 0 | d:10 0", "", "", ""},
		{Fill, nil, "x f32, y i64 [2]?, z jagged u8? | a:10 0 1 -1 | b:10 1 0 2 | c:10 0 -1 -1 | d:10 1 0 -1", "", "", ""},
	} {
		s, err := openMade(files, c.missing, c.columns...)
		if c.err != "" {
			if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), c.errToo) {
				t.Errorf("%s %v: error %v, want one with %q and %q", c.missing, c.columns, err, c.err, c.errToo)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %v: %v", c.missing, c.columns, err)
			continue
		}
		if got := show(s); got != c.want {
			t.Errorf("%s %v: %s\nwant %s", c.missing, c.columns, got, c.want)
		}
		if got := shownLeft(s); got != c.left {
			t.Errorf("%s %v: left out %q\nwant %q", c.missing, c.columns, got, c.left)
		}
	}
}

func TestDropThatLeavesNothingAndIntersectWithoutCommonFieldsAreErrors(t *testing.T) {
	files := []made{file("a", field("x", shardify.F32)), file("b", field("y", shardify.F32))}
	for _, m := range []Missing{Drop, Intersect} {
		if _, err := openMade(files, m); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "nothing is left") {
			t.Errorf("%s: %v", m, err)
		}
	}
}

func TestDroppedInputsHaveNoSayInTypes(t *testing.T) {
	files := []made{file("a", field("x", shardify.F32), field("y", shardify.F32)), file("b", field("x", shardify.F64, 3))}
	s, err := openMade(files, Drop)
	if err != nil || show(s) != "x f32, y f32 | a:10 0 1" {
		t.Errorf("error %v", err)
	}
}

// with changes a field.
func with(f Field, change func(*shardify.Field)) Field {
	change(&f.Field)
	return f
}

func attrs(f Field, kv ...string) Field {
	f.Attrs = map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		f.Attrs[kv[i]] = kv[i+1]
	}
	return f
}

func TestFieldsThatDiffer(t *testing.T) {
	counter := func(name string) func(*shardify.Field) { return func(f *shardify.Field) { f.Counter = name } }
	text := with(jagged("x", shardify.U8, 1), func(f *shardify.Field) { f.Media = "txt" })
	for _, c := range []struct {
		a, b  Field
		want  string // of the schema, or of the error if it begins with !
		attrs string
	}{
		{field("x", shardify.I16), field("x", shardify.I32), "x i32", ""},
		{field("x", shardify.F64, 3), field("x", shardify.F32, 3), "x f64 [3]", ""},
		{field("x", shardify.U16), field("x", shardify.I16), "x i32", ""},
		{field("x", shardify.I64), field("x", shardify.F64), "!field x differs in type: i64 in 1 input (a), f64 in 1 input (b)", ""},
		{field("x", shardify.U64), field("x", shardify.I8), "!differs in type", ""},
		{field("x", shardify.Bool), field("x", shardify.U8), "!differs in type", ""},
		{jagged("x", shardify.F32, 1), jagged("x", shardify.I16, 1), "x jagged f32", ""},
		{field("x", shardify.F32), jagged("x", shardify.F32, 1), "!field x differs in levels: f32 in 1 input (a), jagged f32 in 1 input (b)", ""},
		{field("x", shardify.F32, 3), field("x", shardify.F32, 4), "!field x differs in shape: f32 [3] in 1 input (a), f32 [4] in 1 input (b)", ""},
		{field("x", shardify.F32, 3), field("x", shardify.F32), "!differs in shape", ""},
		{jagged("x", shardify.U8, 1), text, "!field x differs in type: jagged u8 in 1 input (a), txt in 1 input (b)", ""},
		{with(jagged("x", shardify.F32, 1), counter("n")), with(jagged("x", shardify.F32, 1), counter("n")), "x jagged f32 #n", ""},
		{with(jagged("x", shardify.F32, 1), counter("n")), with(jagged("x", shardify.F32, 1), counter("m")), "x jagged f32", ""},
		{field("x", shardify.F32), with(field("x", shardify.F32), func(f *shardify.Field) { f.Nullable = true }), "x f32?", ""},
		{field("x", shardify.F64), with(field("x", shardify.F32), func(f *shardify.Field) { f.Nullable = true }), "x f64?", ""},
		{attrs(field("x", shardify.U8), "labels", "a\nb"), attrs(field("x", shardify.U8), "labels", "b\na"), `!field x differs in labels: "a,b" in 1 input (a), "b,a" in 1 input (b)`, ""},
		{attrs(field("x", shardify.U8), "labels", "a\nb"), attrs(field("x", shardify.U8), "labels", "a\nb\nc"), "x u8", "labels=a\nb\nc"},
		{attrs(field("x", shardify.U8), "labels", "a\nb"), attrs(field("x", shardify.U8), "labels", "a\nbc"), "!differs in labels", ""},
		{attrs(field("x", shardify.U8), "labels", "a\nb"), field("x", shardify.U8), "!differs in labels", ""},
		{attrs(field("x", shardify.F32), "unit", "GeV"), attrs(field("x", shardify.F32), "unit", "MeV"), "!differs in unit", ""},
		{attrs(field("x", shardify.F32), "title", "p"), attrs(field("x", shardify.F32), "unit", "MeV"), "x f32", "unit=MeV"},
		{attrs(field("x", shardify.F32), "title", "p", "made", "1"), attrs(field("x", shardify.F32), "title", "p", "made", "2"), "x f32", "title=p"},
		{attrs(field("x", shardify.I64), "time", "ns"), field("x", shardify.I64), "!differs in time", ""},
	} {
		for i, files := range [][]made{{file("a", c.a), file("b", c.b)}, {file("a", c.a), file("b", c.b), file("c", c.a)}} {
			s, err := openMade(files, Fail)
			if want, bad := strings.CutPrefix(c.want, "!"); bad {
				if i > 0 {
					want = want[:strings.IndexByte(want+":", ':')] // the counts are others
				}
				if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: error %v", c, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v: %v", c, err)
				continue
			}
			if got := show(s); !strings.HasPrefix(got, c.want+" |") {
				t.Errorf("%s, want %s", got, c.want)
			}
			var kv []string
			for k, v := range s.schema[0].Attrs {
				kv = append(kv, k+"="+v)
			}
			if got := strings.Join(kv, ","); got != c.attrs {
				t.Errorf("attributes %q, want %q", got, c.attrs)
			}
			if widened := c.a.DType != c.b.DType; widened != strings.Contains(strings.Join(s.Describe(), ";"), "widened to "+s.schema[0].DType.String()) {
				t.Errorf("%s: notes are %q", got(s), s.Describe())
			}
		}
	}
}

func got(s *Set) string { return show(s) }

func TestFilledFieldsLeaveTheirCounter(t *testing.T) {
	n := func(name, counter string) Field {
		return with(jagged(name, shardify.F32, 40), func(f *shardify.Field) { f.Counter = counter })
	}
	a := file("a", n("jet_pt", "jet"), n("jet_phi", "jet"), n("jet_eta", "jet"))
	b := file("b", n("jet_pt", "jet"), n("jet_phi", "jet"))
	s, err := openMade([]made{a, b}, Fill)
	if err != nil {
		t.Fatal(err)
	}
	want := "jet_pt jagged f32 #jet, jet_phi jagged f32 #jet, jet_eta jagged f32? | a:10 0 1 2 | b:10 0 1 -1"
	if got := show(s); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFieldsWithoutForm: what no input can deliver is left out; what some can is an error
// that says how to leave it out.
func TestFieldsWithoutForm(t *testing.T) {
	bad := func(name string) made {
		m := file(name, field("x", shardify.F32))
		m.f.Left = []format.Leftover{{Name: "y", Reason: "szip of " + name, Unreadable: true}}
		return m
	}
	files := []made{file("a", field("x", shardify.F32), field("y", shardify.F32)), bad("b"), bad("c")}
	for _, missing := range []Missing{Fail, Intersect, Drop, Fill} {
		_, err := openMade(files, missing)
		want := "open b: field y is in the other inputs, not in 2 inputs (b, c) of 3: szip of b; --columns '!y' leaves out such fields: not supported"
		if err == nil || err.Error() != want || !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v\nwant %s", missing, err, want)
		}
	}
	if s, err := openMade(files, Fail, "!y"); err != nil || show(s) != "x f32 | a:10 0 | b:10 0 | c:10 0" || len(s.Leftovers()) > 0 {
		t.Errorf("excluded: %v", err)
	}
	if _, err := openMade(files, Fail, "x", "y"); err == nil || err.Error() != "open b y: szip of b: not supported" {
		t.Errorf("asked for by name: %v", err)
	}
	s, err := openMade(files[1:], Fail)
	if err != nil || shownLeft(s) != "y: szip of b" || !s.Leftovers()[0].Unreadable {
		t.Errorf("unreadable in all: %v", err)
	}
	if s, err := openMade([]made{bad("b"), file("d", field("x", shardify.F32))}, Fail); err != nil || shownLeft(s) != "y: szip of b, in 1 input (b) of 2" {
		t.Errorf("unreadable wherever it is: %v", err)
	}
	if _, err = openMade(files[1:], Fail, "y*"); err == nil || !strings.Contains(err.Error(), "no fields to read: y: szip") {
		t.Errorf("nothing readable: %v", err)
	}
}

// TestDamageEndsTheSurvey unless it is to be skipped: then the input is left out, or
// nothing where its readers know which samples are damaged.
func TestDamageEndsTheSurvey(t *testing.T) {
	good := file("a", field("x", shardify.F32), field("y", shardify.F32))
	bad := file("b", field("x", shardify.F32))
	bad.f.Damaged = []Damage{{Object: "y", Err: shardify.Corrupt(77, "a message of 3 bytes")}, {Object: "z", Err: errors.New("no name")}}
	ends := made{name: "c", err: shardify.Corrupt(-1, "no superblock")}
	some := file("d", field("x", shardify.F32), field("y", shardify.F32))
	some.f.Damaged = []Damage{{Object: "g_7", Lo: 7, Hi: 8, Err: shardify.Corrupt(9, "no header")}}

	var part *format.Skippable
	for _, c := range []struct {
		files []made
		want  string
		some  bool
	}{
		{[]made{good, bad}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z", true},
		{[]made{bad}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z", false},
		{[]made{good, ends}, "open c: no superblock: corrupt data", true},
		{[]made{some, good}, "open d g_7 at byte 9: no header: corrupt data", true},
		{[]made{bad, ends}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z; 2 of 2 inputs are bad", false},
	} {
		_, err := openMade(c.files, Fail)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.As(err, &part) != c.some {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	skip := func(files ...made) (*Set, error) {
		return Open(context.Background(), format.OpenArgs{Table: tableOf(files), SkipDamaged: true}, formatOf(files))
	}
	s, err := skip(good, bad, ends, some)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(s), "x f32, y f32 | a:10 0 1 | d:10 0 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "[{b y 0 10 a message of 3 bytes: corrupt data; as are z (at byte 77)} {c  0 0 no superblock: corrupt data}]"
	if got := fmt.Sprint(s.Skipped()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := skip(bad, ends); !errors.Is(err, shardify.ErrCorrupt) || errors.As(err, &part) {
		t.Errorf("nothing left: %v", err)
	}
}

// TestManyFieldsOfOneReason are all named.
func TestManyFieldsOfOneReason(t *testing.T) {
	a := file("a", field("x", shardify.F32))
	for i := range 50 {
		a.f.Left = append(a.f.Left, format.Leftover{Name: fmt.Sprintf("r%02d", i), Reason: "a reference"})
	}
	s, err := openMade([]made{a}, Fail)
	if err != nil || len(s.Leftovers()) != 50 || s.Leftovers()[49].Name != "r49" {
		t.Errorf("%v: %v", err, s.Leftovers())
	}
}

// TestVoidFieldsAreMissingValues: a file in which a field has no type, as it has no value
// there, takes it from no other file.
func TestVoidFieldsAreMissingValues(t *testing.T) {
	x, y, z := field("x", shardify.F32), field("y", shardify.I16), field("z", shardify.U8)
	void := func(m made, names ...string) made {
		m.f.Void = names
		return m
	}
	files := []made{void(file("a", x), "y"), file("b", x, y), void(file("c", x), "y"), void(file("d", x, z), "y")}
	for _, c := range []struct {
		files                 []made
		missing               Missing
		columns               []string
		want, left, note, err string
	}{
		{files[:3], Fail, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "field y is missing in 2 inputs (a, c) of 3", ""},
		{files[:3], Fail, []string{"y"}, "y i16? | a:10 -1 | b:10 0 | c:10 -1", "", "", ""},
		{files[:3], Drop, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "", ""},
		{files[:3], Intersect, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "", ""},
		{files[:1], Fail, nil, "x f32 | a:10 0", "y: it holds nothing but missing values", "", ""},
		{files[:1], Fail, []string{"y"}, "", "", "", "open a y: it holds nothing but missing values"},
		{files, Fail, nil, "", "", "", "field z is in 1 input (d), not in 3 inputs (a, b, c)"},
		{files, Drop, nil, "x f32, z u8 | d:10 0 1", "a: lacks z (--missing drop) (3); y: it holds nothing but missing values in the inputs that --missing drop leaves", "", ""},
		{files, Drop, []string{"x", "y", "z"}, "", "", "", "field y was asked for by name"},
		{files, Drop, []string{"x", "y"}, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1 | d:10 0 -1", "", "", ""},
	} {
		s, err := openMade(c.files, c.missing, c.columns...)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %v: %v, want %q", c.missing, c.columns, err, c.err)
			}
			continue
		}
		if show(s) != c.want || shownLeft(s) != c.left || !strings.Contains(strings.Join(s.Describe(), "; "), c.note) {
			t.Errorf("%s %v: %s\nleft out %q\nnotes %q", c.missing, c.columns, show(s), shownLeft(s), s.Describe())
		}
	}
}

func TestAllBadInputsAreInOneError(t *testing.T) {
	var files []made
	for i := range 9 {
		files = append(files, file(fmt.Sprintf("f%d", i), field("x", shardify.F32)))
	}
	for _, i := range []int{7, 2, 4, 5} {
		files[i].err = shardify.Corrupt(int64(i), "broken %d", i)
	}
	_, err := openMade(files, Fail)
	if !errors.Is(err, shardify.ErrCorrupt) {
		t.Fatalf("error %v", err)
	}
	want := "open f2 at byte 2: broken 2: corrupt data; 4 of 9 inputs are bad, also: open f4 at byte 4: broken 4: corrupt data; open f5 at byte 5: broken 5: corrupt data; and 1 more"
	if err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	var e *shardify.Error
	if !errors.As(err, &e) || e.File != "f2" {
		t.Errorf("the error is about file %q", e.File)
	}
}

func TestEmptyAndForeignInputsAreCountedAndHaveNoSay(t *testing.T) {
	empty := func(name string, fields ...Field) made { return made{name: name, f: Facts{Fields: fields}} }
	foreign := made{name: "README", f: Facts{Foreign: "not a made file"}}
	files := []made{empty("a", field("x", shardify.Bool, 7)), foreign, file("b", field("x", shardify.F32)), empty("c")}
	s, err := openMade(files, Fail)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(s), "x f32 | a:0 0 | b:10 0 | c:0 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := shownLeft(s), "README: not a made file (1)"; got != want {
		t.Errorf("left out %q", got)
	}
	if got := s.Describe(); !slices.Equal(got, []string{"no samples in 2 inputs (a, c)"}) {
		t.Errorf("notes %q", got)
	}
	spans(t, s, 1<<20)
	if s, err = openMade([]made{files[0], foreign}, Fail); err != nil || show(s) != "x bool [7] | a:0 0" {
		t.Errorf("all empty: error %v", err)
	}
	if _, err = openMade([]made{foreign, foreign}, Fail); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "not a made file (2 inputs)") {
		t.Errorf("all foreign: %v", err)
	}
}

func TestFieldsOfOneNameInAFileAreAnErrorThatNamesThem(t *testing.T) {
	x := field("x", shardify.F32)
	_, err := openMade([]made{file("a", x, field("y", shardify.F32), x, x)}, Fail)
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "open a: more than one field is named x") {
		t.Errorf("error %v", err)
	}
}

func TestNamesThatNobodyMayHaveAreLeftOut(t *testing.T) {
	s, err := openMade([]made{file("a", field("x#y", shardify.F32), field("z", shardify.F32))}, Fail)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(s), "z f32 | a:10 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := shownLeft(s); !strings.Contains(got, "x#y: field name") {
		t.Errorf("left out %q", got)
	}
}

func TestColumnsNotFoundNameTheNearOnes(t *testing.T) {
	files := []made{file("a", field("Jet_pt", shardify.F32), field("Jet_eta", shardify.F32), field("event", shardify.I64))}
	for _, c := range []struct{ column, want string }{
		{"jet_pt", `no field "jet_pt" (near: Jet_pt, Jet_eta); there is Jet_pt, Jet_eta, event`},
		{"Jet_etta", `no field "Jet_etta" (near: Jet_eta)`},
		{"Muon_*", `no field "Muon_*"; there is`},
		{"eta", `(near: Jet_eta)`},
	} {
		_, err := openMade(files, Fail, "event", c.column)
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %s", c.column, err, c.want)
		}
	}
	if _, err := openMade(files, Fail, "[x"); err == nil {
		t.Error("a bad pattern is not an error")
	}
	if s, err := openMade(files, Fail, "Jet_*"); err != nil || show(s) != "Jet_pt f32, Jet_eta f32 | a:10 0 1" {
		t.Errorf("glob: %v", err)
	}
}

func TestANameIsExactWhateverGlobsMatchItToo(t *testing.T) {
	w, err := NewWanted([]string{"Jet_pt", "Jet_*", "a[1]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names      []string
		hit, exact bool
	}{
		{[]string{"Jet_pt"}, true, true},
		{[]string{"Jet_eta"}, true, false},
		{[]string{"Events/Jet_pt", "Jet_pt"}, true, true},
		{[]string{"a[1]"}, true, true},
		{[]string{"event"}, false, false},
	} {
		if hit, exact := w.Match(c.names...); hit != c.hit || exact != c.exact {
			t.Errorf("%v: %v, exact %v", c.names, hit, exact)
		}
	}
}

func TestClaimsBeyondAllFilesAreRefused(t *testing.T) {
	for _, f := range []Facts{
		{Samples: -1, Fields: []Field{field("x", shardify.F32)}},
		{Samples: 1 << 62, Fields: []Field{field("x", shardify.F32)}},
		{Samples: 1 << 49, Fields: []Field{field("x", shardify.F32, 1<<20)}},
		{Samples: 10, Fields: []Field{field("x", shardify.F32, 1<<61, 0)}, Borders: Borders{At: []int64{5, 3}}},
		{Samples: 10, Fields: []Field{field("x", shardify.F32)}, Borders: Borders{Every: -1}},
	} {
		if _, err := openMade([]made{{name: "a", f: f}}, Fail); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
}

func TestManyInputsWithNothingInCommonEndEarly(t *testing.T) {
	var files []made
	for i := range 40 {
		files = append(files, file(fmt.Sprint(i), field(fmt.Sprint("x", i), shardify.U8), field("y", shardify.U8)))
	}
	f := formatOf(files)
	all, _ := NewWanted(nil)
	c := newCollector(tableOf(files), &f, all)
	c.most = 30
	var err error
	n := 0
	for ; err == nil; n++ {
		err = c.look(context.Background(), uint32(n))
	}
	if n != 16 || !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "nothing in common") {
		t.Errorf("after %d files: %v", n, err)
	}
}

func TestCancelEndsTheSurvey(t *testing.T) {
	var files []made
	for i := range 100 {
		files = append(files, file(fmt.Sprint(i), field("x", shardify.F32)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := formatOf(files)
	look := f.Look
	f.Look = func(ctx context.Context, path string, want *Wanted) (*Facts, error) {
		if path == "40" {
			cancel()
			return nil, context.Canceled
		}
		return look(ctx, path, want)
	}
	if _, err := Open(ctx, format.OpenArgs{Table: tableOf(files), Jobs: 2}, f); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
