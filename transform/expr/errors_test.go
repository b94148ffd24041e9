package expr

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestRefusals: an expression that means nothing for the fields is refused before data are
// read, with the part of it that is wrong and what would be right.
func TestRefusals(t *testing.T) {
	in := schema(few())
	for _, c := range []struct{ text, want string }{
		{"sqrt(b)", "sqrt(b): want a number, not a condition: int(...) converts it to 0 and 1"},
		{"sqrt('x')", "sqrt(\"x\"): want numbers, not texts"},
		{"sqrt(1, 2)", "sqrt(1, 2): want one argument, not 2"},
		{"atan2(1)", "atan2(1): want two numbers"},
		{"foo(1)", "foo(1): no function foo"},
		{"sqr(f)", "sqr(f): no function sqr; did you mean sqrt?"},
		{"abs(b)", "abs(b): want a number, not a condition: int(...) converts it to 0 and 1"},
		{"any(pt)", "any(pt): want a condition, as in any(x > 0)"},
		{"count(pt)", "count(pt): want a condition, as in count(x > 0); len(x) counts elements"},
		{"sum(i)", "sum(i): there is one value a sample: want a list, or elements of a fixed shape"},
		{"sum(t)", "sum(t): want numbers, not texts"},
		{"max(ok)", "max(ok): want numbers, not conditions"},
		{"max(b, b)", "max(b, b): want numbers, not conditions"},
		{"len(i)", "len(i): one value has no length"},
		{"len(3)", "len(3): one value has no length"},
		{"i && b", "i && b joins an integer and a condition; it takes conditions"},
		{"!i", "! takes a condition, and i is an integer"},
		{"-b", "want a number, not a condition: int(...) converts it to 0 and 1"},
		{"b + 1", "b + 1: want a number, not a condition: int(...) converts it to 0 and 1"},
		{"t + 1", "t + 1: want a number, not a text"},
		{"t == 1", "t == 1: a text and an integer do not go together"},
		{"t < b", "t < b: a text and a condition do not go together"},
		{"b < b", "b < b compares a condition with a condition"},
		{"cls < 'dog'", "cls < \"dog\": labels are equal or not"},
		{"cls == 'dgo'", "cls == \"dgo\": no label \"dgo\""},
		{"i == 'x'", "i == \"x\": a text and an integer do not go together"},
		{"`obs/ct` == \"NK\"", "\"obs/ct\" == \"NK\" compares two texts, which are the same for all samples; a field is written field(\"obs/ct\")"},
		{"'NK' == 't'", "\"NK\" == \"t\" compares two texts, which are the same for all samples; a field is written t"},
		{"'t' in ['NK', 'B']", "\"t\" in [\"NK\", \"B\"] compares two texts, which are the same for all samples; a field is written t"},
		{"'i' > 2", "\"i\" > 2: a text and an integer do not go together; the field is written i"},
		{"t contains t", "contains wants a field on its left and a text in quotes on its right"},
		{"'a' contains 'b'", "contains wants a field on its left and a text in quotes on its right"},
		{"t matches '('", "error parsing regexp: missing closing ): `(`"},
		{"i in []", "i in []: the list is empty"},
		{"i in [f]", "i in [f]: in takes constants"},
		{"i in 3", "i in 3: in takes a list [a, b] or a range lo..hi"},
		{"i ? 1 : 2", "i ? 1 : 2: i is an integer, not a condition"},
		{"b ? t : 1", "b ? t : 1: want a number, not a text"},
		{"b ? ok : 1", "b ? ok : 1: want a number, not a condition: int(...) converts it to 0 and 1"},
		{"pt + v", "pt + v: as many as pt has and 2 values a sample do not go together"},
		{"v + own", "v + own: 2 and as many as own has values a sample do not go together"},
		{"pt[ok] + pt", "pt[ok] + pt: a filtered list and another one do not go together: compute first, then filter, as in (x + y)[cond]"},
		{"pt[id] + 1", "pt[id]: an index is one integer a sample"},
		{"i[0]", "i[0]: i is one value a sample"},
		{"tt == 'x'", "tt == \"x\": lists of texts and of lists have a length only: len(...)"},
		{"tt[0]", "tt[0]: texts and lists of lists have no elements here"},
		{"nosuch", "no field nosuch"},
		{"ptt", "no field ptt; did you mean pt?"},
		{"i ^ 2", "^ is not supported; ** is the power"},
		{"nil", "nil: only x == nil and x != nil ask whether a value is missing"},
		{"i < nil", "< nil: only == and != ask whether a value is missing"},
		{"pt ?? 0", "pt ?? 0: ?? takes one value a sample, not lists"},
		{"m ?? t", "m ?? t: want a number, not a text"},
		{"pt[0][0]", "pt[0][0]: pt[0] is one value a sample"},
		{"[1, 2]", "[1, 2] is not supported in expressions over columns"},
		{"{a: 1}", "{a: 1} is not supported in expressions over columns"},
		{"i.x", "no field i.x"},
		{"f()", "f(): no function f"},
		{"1 +", "column 3: unexpected token EOF"},
		{"'x", "column 3: literal not terminated"},
		{"u..3", "operator .. is not supported"},
		{"any_of(nosuch*)", "any_of(\"nosuch*\"): nosuch* matches no field"},
		{"mean(b)", "mean(b): there is one value a sample: want a list, or elements of a fixed shape"},
		{"let x = 1; x", "let x = 1; x is not supported in expressions over columns"},
		{"i == tt", "i == tt: a text and an integer do not go together"},
		{"(1)(2)", "column 4: unexpected token Bracket(\"(\")"},
		{"min()", "min(): want one argument, not 0"},
		{"field()", "field(): want one argument, not 0"},
		{"argmax(ok)", "argmax(ok): want numbers, not conditions"},
		{"float(t)", "float(t): want numbers, not texts"},
		{"int(t)", "int(t): want numbers, not texts"},
		{"len(b, b)", "len(b, b): want one argument, not 2"},
		{"t ?? t", "t ?? t: want a number, not a text"},
		{"1e400", "column 5: invalid float literal: strconv.ParseFloat: parsing \"1e400\": value out of range"},
		{"9223372036854775808", "column 19: invalid integer literal: strconv.ParseInt: parsing \"9223372036854775808\": value out of range"},
		{"pt[true]", "pt[true]: want a condition on the elements"},
		{"pt['a']", "no field pt.a"},
		{"pt[f]", "pt[f]: an index is an integer or a condition"},
		{"0..3", "operator .. is not supported"},
		{"map(pt, # > 1)", "column 9: unexpected token Operator(\"#\")"},
		{"pt.foo", "no field pt.foo"},
		{"all(v)", "all(v): want a condition, as in all(x > 0)"},
		{"ok[ok]", "the result is a part of a list: take sum, max, len, ... of it, or one element [0]"},
		{"pt[1:2]", "pt[1:2] is not supported in expressions over columns"},
		{"field(i)", `field(i): want a name in quotes, as in field("a-b")`},
	} {
		e, err := Parse(c.text)
		if err == nil {
			_, err = e.Bind(in, nil)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestDataThatDoNotFit: a mismatch that only the data show is an error with the sample, but not
// where the value is missing anyway.
func TestDataThatDoNotFit(t *testing.T) {
	b := few()
	b.Columns[3].Data = shardify.Bytes([]uint64{1, 2, 3, 1 << 63})
	b.Columns[0].Data = shardify.Bytes([]int64{1, math.MinInt64, math.MaxInt64, 0})
	for _, c := range []struct {
		text   string
		sample int64
		want   string // none: no error
	}{
		{"i + 1", 12, "i + 1: 9223372036854775807 + 1 leaves the range of i64: float(...) has room for it"},
		{"i * 2", 11, "leaves the range of i64"},
		{"-i", 11, "leaves the range of i64"},
		{"i - 1", 11, "leaves the range of i64"},
		{"abs(i)", 11, "abs(-9223372036854775808) leaves the range of i64"},
		{"u", 13, "field u is 9223372036854775808, beyond i64: float(u) takes it as f64"},
		{"float(u)", 0, ""},
		{"float(i) + 1", 0, ""},
		{"pt + own", 10, "pt has 3 elements, own has 1"},
		{"sum(id * 9223372036854775807)", 10, "leaves the range of i64"},
		{"i + m", 0, ""},
		{"m - i", 12, "m - i: -3 - 9223372036854775807 leaves the range of i64"}, // and in sample 11 m is missing
		{"i + (m == nil ? 0 : m)", 0, ""},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Bind(schema(b), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		_, err = p.Column(b, "z", arena(t))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sample "+strconv.FormatInt(c.sample, 10)) {
			t.Errorf("%s: %v, want sample %d: %s", c.text, err, c.sample, c.want)
		}
	}
}
