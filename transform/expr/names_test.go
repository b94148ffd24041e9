package expr

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// texts is a column of texts.
func texts(name string, all ...string) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: "txt"}, Offsets: [][]int64{{0}}}
	for _, t := range all {
		c.Data = append(c.Data, t...)
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	return c
}

// keyed gives a batch names.
func keyed(b *shardify.Batch, names ...string) *shardify.Batch {
	k := texts("__key__", names...)
	b.Keys, b.Samples = &k, len(names)
	return b
}

// madeOf is an expression's result as texts, joined by |.
func madeOf(t testing.TB, text string, b *shardify.Batch) (string, error) {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		return "", err
	}
	e.Keyed = b.Keys != nil
	p, err := e.Bind(schema(b), nil)
	if err != nil {
		return "", err
	}
	c, err := p.Column(b, "z", arena(t))
	if err != nil {
		return "", err
	}
	if err := (&shardify.Batch{Samples: b.Samples, Columns: []shardify.Column{c}}).Match([]shardify.Field{p.Field("z")}); err != nil {
		t.Fatal(err)
	}
	if c.Media == "" {
		return fmt.Sprint(shardify.View[int64](c.Data)), nil
	}
	var out []string
	for k := range b.Samples {
		s := string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]])
		if c.Valid != nil && c.Valid[k] == 0 {
			s += "(missing)"
		}
		out = append(out, s)
	}
	return strings.Join(out, "|"), nil
}

func TestTextsOfNames(t *testing.T) {
	b := keyed(&shardify.Batch{Columns: []shardify.Column{texts("t", "Ab", "", "x/y.z")}}, "train/cat/1", "dog/a.b.c", "Ägypten")
	maybe := texts("m", "one", "", "two")
	maybe.Nullable, maybe.Valid = true, []byte{1, 0, 1}
	b.Columns = append(b.Columns, maybe)
	for text, want := range map[string]string{
		`regex(key, "^(train|dog|Ä)")`:      "train|dog|Ä",
		`regex(key, "t", "none")`:           "t|none|t",
		`regex(key, "/(?:cat|a)(.*)", "")`:  "/1|.b.c|",
		`regex(key, "^(x)?", "-")`:          "-|-|-",
		`regex(t, "^")`:                     "||",
		`path(0)`:                           "train|dog|Ägypten",
		`path(-1)`:                          "1|a.b.c|Ägypten",
		`path(1, "-")`:                      "cat|a.b.c|-",
		`part(key(), -3, "-")`:              "train|-|-",
		`folder(key)`:                       "train/cat|dog|",
		`stem(key)`:                         "1|a.b|Ägypten",
		`stem(t)`:                           "Ab||y",
		`lower(key)`:                        "train/cat/1|dog/a.b.c|ägypten",
		`lower(regex(lower(key), "."))`:     "t|d|ä",
		`key()`:                             "train/cat/1|dog/a.b.c|Ägypten",
		`t`:                                 "Ab||x/y.z",
		`regex(m, "^(o|t)")`:                "o|(missing)|t",
		`len(key())`:                        "[11 9 8]",
		`len(stem(key))`:                    "[1 3 8]",
		`lower(t) == "ab" ? 1 : 2`:          "[1 2 2]",
		`path(0) in ["dog", "cat"] ? 1 : 0`: "[0 1 0]",
	} {
		if got, err := madeOf(t, text, b); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestTextsOfNamesThatCannotBe(t *testing.T) {
	b := keyed(&shardify.Batch{Columns: []shardify.Column{texts("t", "a", "\xff")}}, "a/1", "\xff")
	field := keyed(&shardify.Batch{Columns: []shardify.Column{texts("key", "a", "b")}}, "x", "y")
	none := &shardify.Batch{Samples: 1, Columns: []shardify.Column{texts("t", "a")}}
	for _, c := range []struct {
		text string
		b    *shardify.Batch
		want string
	}{
		{`regex(key, "(")`, b, "error parsing regexp: missing closing )"},
		{`regex(key, "(a)(b)")`, b, "the pattern has 2 groups; want one"},
		{`regex(key, "^(a)/")`, b, `"\xff" does not match ^(a)/; one more argument`},
		{`regex(key)`, b, "want a text and a pattern in quotes"},
		{`regex(key, t)`, b, "the pattern is a text in quotes"},
		{`regex(key, "a", t)`, b, "is a text in quotes"},
		{`part(key, 1)`, b, `"\xff" has no part 1`},
		{`part(key, len(t))`, b, "the number of a part is a constant"},
		{`part(key)`, b, "want the number of a part"},
		{`lower()`, b, "want a text, as in lower(key)"},
		{`lower(key, key)`, b, "want one argument, not 2"},
		{`lower("A")`, b, "not a constant"},
		{`key(1)`, b, "want no argument"},
		{`stem(1)`, b, "a text and an integer do not go together"},
		{`key()`, b, `"\xff" is not UTF-8`},
		{`t`, b, `"\xff" is not UTF-8`},
		{`key`, b, "no field key; key() is the sample's name"},
		{`lower(key)`, field, `write field("key") or key()`},
		{`lower(key)`, none, "these samples have none"},
		{`"text"`, b, "--set makes a field of it"},
		{`lowr(t)`, b, "did you mean lower?"},
	} {
		if got, err := madeOf(t, c.text, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.text, got, err, c.want)
		}
	}
	if got, err := madeOf(t, `lower(field("key"))`, field); err != nil || got != "a|b" {
		t.Error(got, err)
	}
	e, err := Parse(`lower(key) == "a" && stem(field("key")) == "b" && x > path(0)`)
	if got := strings.Join(e.Names(), " "); err != nil || got != "key x" {
		t.Error(got, err)
	}
}

// TestTextsLikeOthers compares with the functions of the standard library, on random names in batches of
// several blocks.
func TestTextsLikeOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "B", "_", ".", "/", "/", "1", "23", "ä", "É", "日本", "𝔘", "İ", "ẞ", " ", "e\u0301", "-", "cat", "dog"}
	var names []string
	for range 200 + 2*blockSamples {
		s := ""
		for range r.IntN(12) {
			s += letters[r.IntN(len(letters))]
		}
		names = append(names, s)
	}
	patterns := []string{`^(cat|dog)`, `^(\p{L}+)`, `(\d+)`, `_(.*)$`, `/(.*)é`, `[^/]+$`, `(?i)(CAT|é)`, `(.)\.`, `\b(\w+)\b`, `(a|(?:B))?$`}
	b := keyed(&shardify.Batch{}, names...)
	check := func(text string, want func(s string) string) {
		got, err := madeOf(t, text, b)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for k, g := range strings.Split(got, "|") {
			if w := want(names[k]); g != w {
				t.Fatalf("%s of %q: %q, want %q", text, names[k], g, w)
			}
		}
	}
	for _, p := range patterns {
		re := regexp.MustCompile(p)
		check(fmt.Sprintf("regex(key, %q, 'none')", p), func(s string) string {
			m := re.FindStringSubmatchIndex(s)
			if m == nil || m[len(m)-2] < 0 {
				return "none"
			}
			return s[m[len(m)-2]:m[len(m)-1]]
		})
	}
	for n := -4; n < 4; n++ {
		check(fmt.Sprintf("path(%d, 'none')", n), func(s string) string {
			parts, at := strings.Split(s, "/"), n
			if at < 0 {
				at += len(parts)
			}
			if at < 0 || at >= len(parts) {
				return "none"
			}
			return parts[at]
		})
	}
	check("lower(key)", strings.ToLower)
	check("folder(key)", func(s string) string { dir, _ := path.Split(s); return strings.TrimSuffix(dir, "/") })
	check("stem(key)", func(s string) string {
		_, s = path.Split(s)
		head := s[:len(s)-len(strings.TrimLeft(s, "."))]
		return head + strings.TrimSuffix(s[len(head):], path.Ext(s[len(head):]))
	})
}

// TestTextsAllocateNothingBySample: only the column's text and offsets are made.
func TestTextsAllocateNothingBySample(t *testing.T) {
	const n = 4096
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("train/Cat_%d", i)
	}
	b := keyed(&shardify.Batch{}, names...)
	for _, text := range []string{`regex(key, "^(train|val)")`, `regex(key, "/(Cat|Dog)_")`, `lower(path(-1))`, `stem(key)`, `regex(folder(key), "[a-z]+$", "x")`} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e.Keyed = true
		p, err := e.Bind(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		mem := arena(t)
		if got := testing.AllocsPerRun(5, func() {
			if _, err := p.Column(b, "z", mem); err != nil {
				t.Fatal(err)
			}
		}); got > 100 {
			t.Errorf("%s: %v allocations for %d samples", text, got, n)
		}
	}
}

func BenchmarkTexts(b *testing.B) {
	const n = 1 << 14
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("train/n0144%d/cat_%d", i%1000, i)
	}
	batch := keyed(&shardify.Batch{}, names...)
	for _, text := range []string{`regex(key, "^(train|val)")`, `regex(key, "/(cat|dog)_")`, `path(-2)`, `lower(key)`} {
		b.Run(strings.ReplaceAll(text, "/", "|"), func(b *testing.B) {
			e, _ := Parse(text)
			e.Keyed = true
			e.Keyed = true
			p, err := e.Bind(nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			start := cpu()
			for b.Loop() {
				b.StopTimer()
				mem := arena(b)
				b.StartTimer()
				if _, err := p.Column(batch, "z", mem); err != nil {
					b.Fatal(err)
				}
				mem.Release()
			}
			b.ReportMetric((cpu()-start)*1e9/float64(b.N)/n, "cpu-ns/sample")
		})
	}
}

// TestGroupsAreFoundByTheirPlace: where the pattern beside a group has a fixed length, no submatches are asked for.
func TestGroupsAreFoundByTheirPlace(t *testing.T) {
	for pattern, want := range map[string]string{
		"^(a|b)": "0 0", "(a+)$": "0 0", `\b(\w+)\b`: "0 0", "(a)": "0 0", "a(b)": "1 0", "é(.)[bc]d": "2 2", "(?i)^(a)": "0 0", "/([^/]*)/": "1 1",
		"(a)?": "", "(a)|b": "", "(a)b?": "", "(?i)b(a)": "", "[^a](.)": "", "\ufffd(.)": "", ".(a)": "", "b*(a)": "", "abc": "",
	} {
		before, after, ok := groupWithin(pattern)
		if got := fmt.Sprint(before, after); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v, want %s", pattern, got, ok, want)
		}
		if !ok {
			continue
		}
		re := regexp.MustCompile(pattern)
		for _, s := range []string{"", "a", "b", "aab", "xaab", "ab cd", "éxbd", "\xff/\xff/"} {
			if m := re.FindSubmatch([]byte(s)); m != nil && !bytes.Equal(m[0][before:len(m[0])-after], m[1]) {
				t.Errorf("%s of %q: %q and %q", pattern, s, m[0], m[1])
			}
		}
	}
}
