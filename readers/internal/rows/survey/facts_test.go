package survey_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

func TestFieldsThatSomeInputsLack(t *testing.T) {
	x, y, z := rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.I64, 2), rowstest.Jagged("z", shardify.U8, 100)
	files := []rowstest.Made{rowstest.File("a", x, y), rowstest.File("b", y, x, z), rowstest.File("c", x), rowstest.File("d", y, x)}
	for _, c := range []struct {
		missing     survey.Missing
		columns     []string
		want, left  string
		err, errToo string
	}{
		{survey.Fail, nil, "", "", "field y is in 3 inputs (a, b, d), not in 1 input (c)", "field z is in 1 input (b), not in 3 inputs (a, c, d)"},
		{"", nil, "", "", "--missing intersect", "--missing fill"},
		{survey.Intersect, nil, "x f32 | a:10 0 | b:10 1 | c:10 0 | d:10 1",
			"y: not in 1 input (c) of 4 (--missing intersect); z: not in 3 inputs (a, c, d) of 4 (--missing intersect)", "", ""},
		{survey.Intersect, []string{"x", "y"}, "", "", "y was asked for by name", "1 input (c)"},
		{survey.Intersect, []string{"[xy]"}, "x f32 | a:10 0 | b:10 1 | c:10 0 | d:10 1", "y: not in 1 input (c) of 4 (--missing intersect)", "", ""},
		{survey.Drop, []string{"x", "y"}, "x f32, y i64 [2] | a:10 0 1 | b:10 1 0 | d:10 1 0", "c: lacks y (--missing drop) (1)", "", ""},
		{survey.Drop, nil, "x f32, y i64 [2], z jagged u8 | b:10 1 0 2", "a: lacks z (--missing drop) (3)", "", ""},
		{survey.Drop, []string{"x"}, "x f32 | a:10 0 | b:10 0 | c:10 0 | d:10 0", "", "", ""},
		{survey.Fill, nil, "x f32, y i64 [2]?, z jagged u8? | a:10 0 1 -1 | b:10 1 0 2 | c:10 0 -1 -1 | d:10 1 0 -1", "", "", ""},
	} {
		s, err := rowstest.Open(files, c.missing, c.columns...)
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
		if got := rowstest.Show(s); got != c.want {
			t.Errorf("%s %v: %s\nwant %s", c.missing, c.columns, got, c.want)
		}
		if got := rowstest.ShownLeft(s); got != c.left {
			t.Errorf("%s %v: left out %q\nwant %q", c.missing, c.columns, got, c.left)
		}
	}
}

func TestDropThatLeavesNothingAndIntersectWithoutCommonFieldsAreErrors(t *testing.T) {
	files := []rowstest.Made{rowstest.File("a", rowstest.Field("x", shardify.F32)), rowstest.File("b", rowstest.Field("y", shardify.F32))}
	for _, m := range []survey.Missing{survey.Drop, survey.Intersect} {
		if _, err := rowstest.Open(files, m); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "nothing is left") {
			t.Errorf("%s: %v", m, err)
		}
	}
}

func TestDroppedInputsHaveNoSayInTypes(t *testing.T) {
	files := []rowstest.Made{rowstest.File("a", rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.F32)), rowstest.File("b", rowstest.Field("x", shardify.F64, 3))}
	s, err := rowstest.Open(files, survey.Drop)
	if err != nil || rowstest.Show(s) != "x f32, y f32 | a:10 0 1" {
		t.Errorf("error %v", err)
	}
}

// with changes a field.
func with(f survey.Field, change func(*shardify.Field)) survey.Field {
	change(&f.Field)
	return f
}

func attrs(f survey.Field, kv ...string) survey.Field {
	f.Attrs = map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		f.Attrs[kv[i]] = kv[i+1]
	}
	return f
}

func TestFieldsThatDiffer(t *testing.T) {
	counter := func(name string) func(*shardify.Field) { return func(f *shardify.Field) { f.Counter = name } }
	text := with(rowstest.Jagged("x", shardify.U8, 1), func(f *shardify.Field) { f.Media = "txt" })
	for _, c := range []struct {
		a, b  survey.Field
		want  string // of the schema, or of the error if it begins with !
		attrs string
	}{
		{rowstest.Field("x", shardify.I16), rowstest.Field("x", shardify.I32), "x i32", ""},
		{rowstest.Field("x", shardify.F64, 3), rowstest.Field("x", shardify.F32, 3), "x f64 [3]", ""},
		{rowstest.Field("x", shardify.U16), rowstest.Field("x", shardify.I16), "x i32", ""},
		{rowstest.Field("x", shardify.I64), rowstest.Field("x", shardify.F64), "!field x differs in type: i64 in 1 input (a), f64 in 1 input (b)", ""},
		{rowstest.Field("x", shardify.U64), rowstest.Field("x", shardify.I8), "!differs in type", ""},
		{rowstest.Field("x", shardify.Bool), rowstest.Field("x", shardify.U8), "!differs in type", ""},
		{rowstest.Jagged("x", shardify.F32, 1), rowstest.Jagged("x", shardify.I16, 1), "x jagged f32", ""},
		{rowstest.Field("x", shardify.F32), rowstest.Jagged("x", shardify.F32, 1), "!field x differs in levels: f32 in 1 input (a), jagged f32 in 1 input (b)", ""},
		{rowstest.Field("x", shardify.F32, 3), rowstest.Field("x", shardify.F32, 4), "!field x differs in shape: f32 [3] in 1 input (a), f32 [4] in 1 input (b)", ""},
		{rowstest.Field("x", shardify.F32, 3), rowstest.Field("x", shardify.F32), "!differs in shape", ""},
		{rowstest.Jagged("x", shardify.U8, 1), text, "!field x differs in type: jagged u8 in 1 input (a), txt in 1 input (b)", ""},
		{with(rowstest.Jagged("x", shardify.F32, 1), counter("n")), with(rowstest.Jagged("x", shardify.F32, 1), counter("n")), "x jagged f32 #n", ""},
		{with(rowstest.Jagged("x", shardify.F32, 1), counter("n")), with(rowstest.Jagged("x", shardify.F32, 1), counter("m")), "x jagged f32", ""},
		{rowstest.Field("x", shardify.F32), with(rowstest.Field("x", shardify.F32), func(f *shardify.Field) { f.Nullable = true }), "x f32?", ""},
		{rowstest.Field("x", shardify.F64), with(rowstest.Field("x", shardify.F32), func(f *shardify.Field) { f.Nullable = true }), "x f64?", ""},
		{attrs(rowstest.Field("x", shardify.U8), "labels", "a\nb"), attrs(rowstest.Field("x", shardify.U8), "labels", "b\na"), `!field x differs in labels: "a,b" in 1 input (a), "b,a" in 1 input (b)`, ""},
		{attrs(rowstest.Field("x", shardify.U8), "labels", "a\nb"), attrs(rowstest.Field("x", shardify.U8), "labels", "a\nb\nc"), "x u8", "labels=a\nb\nc"},
		{attrs(rowstest.Field("x", shardify.U8), "labels", "a\nb"), attrs(rowstest.Field("x", shardify.U8), "labels", "a\nbc"), "!differs in labels", ""},
		{attrs(rowstest.Field("x", shardify.U8), "labels", "a\nb"), rowstest.Field("x", shardify.U8), "!differs in labels", ""},
		{attrs(rowstest.Field("x", shardify.F32), "unit", "GeV"), attrs(rowstest.Field("x", shardify.F32), "unit", "MeV"), "!differs in unit", ""},
		{attrs(rowstest.Field("x", shardify.F32), "title", "p"), attrs(rowstest.Field("x", shardify.F32), "unit", "MeV"), "x f32", "unit=MeV"},
		{attrs(rowstest.Field("x", shardify.F32), "title", "p", "made", "1"), attrs(rowstest.Field("x", shardify.F32), "title", "p", "made", "2"), "x f32", "title=p"},
		{attrs(rowstest.Field("x", shardify.I64), "time", "ns"), rowstest.Field("x", shardify.I64), "!differs in time", ""},
	} {
		for i, files := range [][]rowstest.Made{{rowstest.File("a", c.a), rowstest.File("b", c.b)}, {rowstest.File("a", c.a), rowstest.File("b", c.b), rowstest.File("c", c.a)}} {
			s, err := rowstest.Open(files, survey.Fail)
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
			if got := rowstest.Show(s); !strings.HasPrefix(got, c.want+" |") {
				t.Errorf("%s, want %s", got, c.want)
			}
			var kv []string
			for k, v := range s.Schema()[0].Attrs {
				kv = append(kv, k+"="+v)
			}
			if got := strings.Join(kv, ","); got != c.attrs {
				t.Errorf("attributes %q, want %q", got, c.attrs)
			}
			if widened := c.a.DType != c.b.DType; widened != strings.Contains(strings.Join(s.Describe(), ";"), "widened to "+s.Schema()[0].DType.String()) {
				t.Errorf("%s: notes are %q", got(s), s.Describe())
			}
		}
	}
}

func got(s *set.Set) string { return rowstest.Show(s) }

func TestFilledFieldsLeaveTheirCounter(t *testing.T) {
	n := func(name, counter string) survey.Field {
		return with(rowstest.Jagged(name, shardify.F32, 40), func(f *shardify.Field) { f.Counter = counter })
	}
	a := rowstest.File("a", n("jet_pt", "jet"), n("jet_phi", "jet"), n("jet_eta", "jet"))
	b := rowstest.File("b", n("jet_pt", "jet"), n("jet_phi", "jet"))
	s, err := rowstest.Open([]rowstest.Made{a, b}, survey.Fill)
	if err != nil {
		t.Fatal(err)
	}
	want := "jet_pt jagged f32 #jet, jet_phi jagged f32 #jet, jet_eta jagged f32? | a:10 0 1 2 | b:10 0 1 -1"
	if got := rowstest.Show(s); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFieldsWithoutForm: what no input can deliver is left out; what some can is an error
// that says how to leave it out.
func TestFieldsWithoutForm(t *testing.T) {
	bad := func(name string) rowstest.Made {
		m := rowstest.File(name, rowstest.Field("x", shardify.F32))
		m.Facts.Left = []format.Leftover{{Name: "y", Reason: "szip of " + name, Unreadable: true}}
		return m
	}
	files := []rowstest.Made{rowstest.File("a", rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.F32)), bad("b"), bad("c")}
	for _, missing := range []survey.Missing{survey.Fail, survey.Intersect, survey.Drop, survey.Fill} {
		_, err := rowstest.Open(files, missing)
		want := "open b: field y is in the other inputs, not in 2 inputs (b, c) of 3: szip of b; --columns '!y' leaves out such fields: not supported"
		if err == nil || err.Error() != want || !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v\nwant %s", missing, err, want)
		}
	}
	if s, err := rowstest.Open(files, survey.Fail, "!y"); err != nil || rowstest.Show(s) != "x f32 | a:10 0 | b:10 0 | c:10 0" || len(s.Leftovers()) > 0 {
		t.Errorf("excluded: %v", err)
	}
	if _, err := rowstest.Open(files, survey.Fail, "x", "y"); err == nil || err.Error() != "open b y: szip of b: not supported" {
		t.Errorf("asked for by name: %v", err)
	}
	s, err := rowstest.Open(files[1:], survey.Fail)
	if err != nil || rowstest.ShownLeft(s) != "y: szip of b" || !s.Leftovers()[0].Unreadable {
		t.Errorf("unreadable in all: %v", err)
	}
	if s, err := rowstest.Open([]rowstest.Made{bad("b"), rowstest.File("d", rowstest.Field("x", shardify.F32))}, survey.Fail); err != nil || rowstest.ShownLeft(s) != "y: szip of b, in 1 input (b) of 2" {
		t.Errorf("unreadable wherever it is: %v", err)
	}
	if _, err = rowstest.Open(files[1:], survey.Fail, "y*"); err == nil || !strings.Contains(err.Error(), "no fields to read: y: szip") {
		t.Errorf("nothing readable: %v", err)
	}
}

// TestDamageEndsTheSurvey unless it is to be skipped: then the input is left out, or
// nothing where its readers know which samples are damaged.
func TestDamageEndsTheSurvey(t *testing.T) {
	good := rowstest.File("a", rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.F32))
	bad := rowstest.File("b", rowstest.Field("x", shardify.F32))
	bad.Facts.Damaged = []survey.Damage{{Object: "y", Err: shardify.Corrupt(77, "a message of 3 bytes")}, {Object: "z", Err: errors.New("no name")}}
	ends := rowstest.Made{Name: "c", Err: shardify.Corrupt(-1, "no superblock")}
	foreign := rowstest.Made{Name: "e", Err: shardify.Unsupported("another codec")}
	some := rowstest.File("d", rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.F32))
	some.Facts.Damaged = []survey.Damage{{Object: "g_7", Lo: 7, Hi: 8, Err: shardify.Corrupt(9, "no header")}}

	var part *format.Skippable
	for _, c := range []struct {
		files []rowstest.Made
		want  string
		some  bool
	}{
		{[]rowstest.Made{good, bad}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z", true},
		{[]rowstest.Made{bad}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z", false},
		{[]rowstest.Made{good, ends}, "open c: no superblock: corrupt data", true},
		{[]rowstest.Made{good, foreign}, "open e: another codec: not supported", true},
		{[]rowstest.Made{some, good}, "open d g_7 at byte 9: no header: corrupt data", true},
		{[]rowstest.Made{bad, ends}, "open b y at byte 77: a message of 3 bytes: corrupt data; as are z; 2 of 2 inputs are bad", false},
	} {
		_, err := rowstest.Open(c.files, survey.Fail)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.As(err, &part) != c.some {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	skip := func(files ...rowstest.Made) (*set.Set, error) {
		return survey.Open(context.Background(), format.OpenArgs{Table: rowstest.TableOf(files), SkipDamaged: true}, rowstest.FormatOf(files))
	}
	s, err := skip(good, bad, ends, some, foreign)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowstest.Show(s), "x f32, y f32 | a:10 0 1 | d:10 0 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "[{b y 0 10 a message of 3 bytes: corrupt data; as are z (at byte 77)} {c  0 0 no superblock: corrupt data} {e  0 0 another codec: not supported}]"
	if got := fmt.Sprint(s.Skipped()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := skip(bad, ends); !errors.Is(err, shardify.ErrCorrupt) || errors.As(err, &part) {
		t.Errorf("nothing left: %v", err)
	}
}

// TestManyFieldsOfOneReason are all named.
func TestManyFieldsOfOneReason(t *testing.T) {
	a := rowstest.File("a", rowstest.Field("x", shardify.F32))
	for i := range 50 {
		a.Facts.Left = append(a.Facts.Left, format.Leftover{Name: fmt.Sprintf("r%02d", i), Reason: "a reference"})
	}
	s, err := rowstest.Open([]rowstest.Made{a}, survey.Fail)
	if err != nil || len(s.Leftovers()) != 50 || s.Leftovers()[49].Name != "r49" {
		t.Errorf("%v: %v", err, s.Leftovers())
	}
}

// TestVoidFieldsAreMissingValues: a file in which a field has no type, as it has no value
// there, takes it from no other file.
func TestVoidFieldsAreMissingValues(t *testing.T) {
	x, y, z := rowstest.Field("x", shardify.F32), rowstest.Field("y", shardify.I16), rowstest.Field("z", shardify.U8)
	void := func(m rowstest.Made, names ...string) rowstest.Made {
		m.Facts.Void = names
		return m
	}
	files := []rowstest.Made{void(rowstest.File("a", x), "y"), rowstest.File("b", x, y), void(rowstest.File("c", x), "y"), void(rowstest.File("d", x, z), "y")}
	for _, c := range []struct {
		files                 []rowstest.Made
		missing               survey.Missing
		columns               []string
		want, left, note, err string
	}{
		{files[:3], survey.Fail, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "field y is missing in 2 inputs (a, c) of 3", ""},
		{files[:3], survey.Fail, []string{"y"}, "y i16? | a:10 -1 | b:10 0 | c:10 -1", "", "", ""},
		{files[:3], survey.Drop, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "", ""},
		{files[:3], survey.Intersect, nil, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1", "", "", ""},
		{files[:1], survey.Fail, nil, "x f32 | a:10 0", "y: it holds nothing but missing values", "", ""},
		{files[:1], survey.Fail, []string{"y"}, "", "", "", "open a y: it holds nothing but missing values"},
		{files, survey.Fail, nil, "", "", "", "field z is in 1 input (d), not in 3 inputs (a, b, c)"},
		{files, survey.Drop, nil, "x f32, z u8 | d:10 0 1", "a: lacks z (--missing drop) (3); y: it holds nothing but missing values in the inputs that --missing drop leaves", "", ""},
		{files, survey.Drop, []string{"x", "y", "z"}, "", "", "", "field y was asked for by name"},
		{files, survey.Drop, []string{"x", "y"}, "x f32, y i16? | a:10 0 -1 | b:10 0 1 | c:10 0 -1 | d:10 0 -1", "", "", ""},
	} {
		s, err := rowstest.Open(c.files, c.missing, c.columns...)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %v: %v, want %q", c.missing, c.columns, err, c.err)
			}
			continue
		}
		if rowstest.Show(s) != c.want || rowstest.ShownLeft(s) != c.left || !strings.Contains(strings.Join(s.Describe(), "; "), c.note) {
			t.Errorf("%s %v: %s\nleft out %q\nnotes %q", c.missing, c.columns, rowstest.Show(s), rowstest.ShownLeft(s), s.Describe())
		}
	}
}

func TestAllBadInputsAreInOneError(t *testing.T) {
	var files []rowstest.Made
	for i := range 9 {
		files = append(files, rowstest.File(fmt.Sprintf("f%d", i), rowstest.Field("x", shardify.F32)))
	}
	for _, i := range []int{7, 2, 4, 5} {
		files[i].Err = shardify.Corrupt(int64(i), "broken %d", i)
	}
	_, err := rowstest.Open(files, survey.Fail)
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
	empty := func(name string, fields ...survey.Field) rowstest.Made {
		return rowstest.Made{Name: name, Facts: survey.Facts{Fields: fields}}
	}
	foreign := rowstest.Made{Name: "README", Facts: survey.Facts{Foreign: "not a rowstest.Made file"}}
	files := []rowstest.Made{empty("a", rowstest.Field("x", shardify.Bool, 7)), foreign, rowstest.File("b", rowstest.Field("x", shardify.F32)), empty("c")}
	s, err := rowstest.Open(files, survey.Fail)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowstest.Show(s), "x f32 | a:0 0 | b:10 0 | c:0 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := rowstest.ShownLeft(s), "README: not a rowstest.Made file (1)"; got != want {
		t.Errorf("left out %q", got)
	}
	if got := s.Describe(); !slices.Equal(got, []string{"no samples in 2 inputs (a, c)"}) {
		t.Errorf("notes %q", got)
	}
	rowstest.Spans(t, s, 1<<20)
	if s, err = rowstest.Open([]rowstest.Made{files[0], foreign}, survey.Fail); err != nil || rowstest.Show(s) != "x bool [7] | a:0 0" {
		t.Errorf("all empty: error %v", err)
	}
	if _, err = rowstest.Open([]rowstest.Made{foreign, foreign}, survey.Fail); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "not a rowstest.Made file (2 inputs)") {
		t.Errorf("all foreign: %v", err)
	}
}

func TestFieldsOfOneNameInAFileAreAnErrorThatNamesThem(t *testing.T) {
	x := rowstest.Field("x", shardify.F32)
	_, err := rowstest.Open([]rowstest.Made{rowstest.File("a", x, rowstest.Field("y", shardify.F32), x, x)}, survey.Fail)
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "open a: more than one field is named x") {
		t.Errorf("error %v", err)
	}
}

func TestNamesThatNobodyMayHaveAreLeftOut(t *testing.T) {
	s, err := rowstest.Open([]rowstest.Made{rowstest.File("a", rowstest.Field("x#y", shardify.F32), rowstest.Field("z", shardify.F32))}, survey.Fail)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowstest.Show(s), "z f32 | a:10 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := rowstest.ShownLeft(s); !strings.Contains(got, "x#y: field name") {
		t.Errorf("left out %q", got)
	}
}

func TestColumnsNotFoundNameTheNearOnes(t *testing.T) {
	files := []rowstest.Made{rowstest.File("a", rowstest.Field("Jet_pt", shardify.F32), rowstest.Field("Jet_eta", shardify.F32), rowstest.Field("event", shardify.I64))}
	for _, c := range []struct{ column, want string }{
		{"jet_pt", `no field "jet_pt" (near: Jet_pt, Jet_eta); there is Jet_pt, Jet_eta, event`},
		{"Jet_etta", `no field "Jet_etta" (near: Jet_eta)`},
		{"Muon_*", `no field "Muon_*"; there is`},
		{"eta", `(near: Jet_eta)`},
	} {
		_, err := rowstest.Open(files, survey.Fail, "event", c.column)
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %s", c.column, err, c.want)
		}
	}
	if _, err := rowstest.Open(files, survey.Fail, "[x"); err == nil {
		t.Error("a bad pattern is not an error")
	}
	if s, err := rowstest.Open(files, survey.Fail, "Jet_*"); err != nil || rowstest.Show(s) != "Jet_pt f32, Jet_eta f32 | a:10 0 1" {
		t.Errorf("glob: %v", err)
	}
}

func TestANameIsExactWhateverGlobsMatchItToo(t *testing.T) {
	w, err := columns.New([]string{"Jet_pt", "Jet_*", "a[1]"})
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
	for _, f := range []survey.Facts{
		{Samples: -1, Fields: []survey.Field{rowstest.Field("x", shardify.F32)}},
		{Samples: 1 << 62, Fields: []survey.Field{rowstest.Field("x", shardify.F32)}},
		{Samples: 1 << 49, Fields: []survey.Field{rowstest.Field("x", shardify.F32, 1<<20)}},
		{Samples: 10, Fields: []survey.Field{rowstest.Field("x", shardify.F32, 1<<61, 0)}, Borders: set.Borders{At: []int64{5, 3}}},
		{Samples: 10, Fields: []survey.Field{rowstest.Field("x", shardify.F32)}, Borders: set.Borders{Every: -1}},
	} {
		if _, err := rowstest.Open([]rowstest.Made{{Name: "a", Facts: f}}, survey.Fail); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
}

func TestCancelEndsTheSurvey(t *testing.T) {
	var files []rowstest.Made
	for i := range 100 {
		files = append(files, rowstest.File(fmt.Sprint(i), rowstest.Field("x", shardify.F32)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := rowstest.FormatOf(files)
	look := f.Look
	f.Look = func(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
		if path == "40" {
			cancel()
			return nil, context.Canceled
		}
		return look(ctx, path, want)
	}
	if _, err := survey.Open(ctx, format.OpenArgs{Table: rowstest.TableOf(files), Jobs: 2}, f); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
