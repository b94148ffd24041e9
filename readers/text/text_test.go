package text

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// asked is how a test opens files.
type asked struct {
	docs       string
	mend, skip bool
	state      []byte
	columns    []string
}

func (a asked) open(files ...string) (shardify.Source, error) {
	o := format.Options{optDocs: a.docs}
	if a.mend {
		o["bad-utf8"] = "replace"
	}
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: a.columns, Options: o, SkipDamaged: a.skip, State: a.state, Jobs: 3})
}

// random is lines of words, blank lines, and lines that part documents.
func random(seed uint64, lines int) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range lines {
		switch rng.IntN(8) {
		case 0:
			b.WriteString([]string{"", " ", "\t ", "\r"}[rng.IntN(4)])
		case 1:
			b.WriteString("<sep>")
		default:
			for range 1 + rng.IntN(6) {
				b.WriteString([]string{"word ", "ünï", "😀 ", " x", "<sep> ", "\r"}[rng.IntN(6)])
			}
		}
		b.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var kinds = []string{docLine, docParagraph, docFile, docBetween + "<sep>"}

func TestConformance(t *testing.T) {
	for _, kind := range kinds {
		for name, files := range map[string][]string{
			"plain":          {readertest.Put(t, "a.txt", random(1, 300)), readertest.Put(t, "b.txt", random(2, 150)), readertest.Put(t, "c.txt", "")},
			"packed":         {readertest.Put(t, "a.txt.gz", readertest.Gzip(random(3, 300))), readertest.Put(t, "b.txt", random(4, 100)), readertest.Put(t, "c.txt.zst", readertest.Zstd(random(5, 200)))},
			"several pieces": {readertest.Put(t, "a.txt", random(5, 60000))},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
					return asked{docs: kind, state: state, columns: columns}.open(files...)
				})
			})
		}
	}
}

// texts are the documents of files, and what was replaced.
func texts(t testing.TB, src shardify.Source, target int64) (all []string, replaced int64) {
	t.Helper()
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		c := &b.Columns[0]
		for i := range b.Samples {
			all = append(all, string(c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]]))
		}
		for _, n := range b.Counts {
			replaced += n.N
		}
	})
	return all, replaced
}

// split is what documents are, by regular expressions over the whole text.
func split(kind, text string) (all []string) {
	blank := regexp.MustCompile(`^[ \t\r\n]*$`)
	var parts []string
	switch kind {
	case docFile:
		return []string{text}
	case docLine:
		parts = strings.Split(text, "\n")
	case docParagraph:
		text = regexp.MustCompile(`(?m)^[ \t\r]+$`).ReplaceAllString(text, "")
		parts = regexp.MustCompile(`\n(\n)+`).Split(text, -1)
	default:
		parts = regexp.MustCompile(`(?m)^<sep>\r?$`).Split(text, -1)
	}
	for _, p := range parts {
		if !blank.MatchString(p) {
			p = strings.TrimPrefix(p, "\n")
			p = strings.TrimSuffix(p, "\n")
			all = append(all, strings.TrimSuffix(p, "\r"))
		}
	}
	return all
}

func TestDocuments(t *testing.T) {
	for seed := range uint64(40) {
		text := random(seed, 1+int(seed)*7)
		for _, kind := range kinds {
			for _, file := range []string{readertest.Put(t, "a.txt", text), readertest.Put(t, "b.txt.zst", readertest.Zstd("\uFEFF"+text))} {
				src, err := asked{docs: kind}.open(file)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := texts(t, src, 100)
				src.Close()
				if want := split(kind, text); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, %s of %q:\n%q, want\n%q", seed, kind, text, got, want)
				}
			}
		}
	}
}

// TestBadUTF8 is an error that names line and byte, left out, or replaced.
func TestBadUTF8(t *testing.T) {
	a := readertest.Put(t, "a.txt", "one\ntwo \xff\xe2\x82 and\n\nth\x00ree\n\nfour\n")
	b := readertest.Put(t, "b.txt", "five\n")
	for _, kind := range kinds {
		_, err := asked{docs: kind}.open(a, b)
		var e *shardify.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "line 4: a zero byte") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	a = readertest.Put(t, "a.txt", "one\ntwo \xff\xe2\x82 and\n\nthree\n\nfour\n")
	for _, kind := range kinds {
		_, err := asked{docs: kind}.open(a, b)
		var e *shardify.Error
		if !errors.As(err, &e) || e.Offset != 8 || !strings.Contains(err.Error(), "line 2 is not UTF-8") || !strings.Contains(err.Error(), "--bad-utf8 replace") {
			t.Errorf("%s: %v", kind, err)
		}
		src, err := asked{docs: kind, mend: true}.open(a, b)
		if err != nil {
			t.Fatal(err)
		}
		all, n := texts(t, src, 1)
		if got := strings.Join(all, "|"); n != 2 || strings.Count(got, "two \uFFFD\uFFFD and") != 1 {
			t.Errorf("%s: %q, %d replaced", kind, got, n)
		}
		src.Close()
		if src, err = (asked{docs: kind, skip: true}).open(a, b); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		all, _ = texts(t, src, 1)
		want := map[string]string{docLine: "one|three|four|five", docParagraph: "three|four|five", docFile: "five\n", kinds[3]: "five"}[kind]
		if got := strings.Join(all, "|"); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		skipped := src.(format.Skipper).Skipped()
		if len(skipped) != 1 || !strings.Contains(fmt.Sprint(skipped), "is not UTF-8") || strings.Contains(fmt.Sprint(skipped), "--on-error") {
			t.Errorf("%s: %v", kind, skipped)
		}
		state, err := src.(interface{ State() ([]byte, error) }).State()
		if err != nil {
			t.Fatal(err)
		}
		src.Close()
		if src, err = (asked{docs: kind, skip: true, state: state}).open(a, b); err != nil {
			t.Fatal(err)
		}
		if all, _ = texts(t, src, 1); strings.Join(all, "|") != want {
			t.Errorf("%s, of a state: %q, want %q", kind, all, want)
		}
		src.Close()
	}
}

func TestRefusals(t *testing.T) {
	race.Sequential(t)
	a := readertest.Put(t, "a.txt", "one\n")
	var doubt *format.Ambiguous
	if _, err := (asked{}).open(a); !errors.As(err, &doubt) {
		t.Error(err)
	}
	for _, docs := range []string{"lines", "separator=", "separator=a\nb", "separator=\xff"} {
		if _, err := (asked{docs: docs}).open(a); err == nil || !strings.Contains(err.Error(), "text-docs") {
			t.Errorf("%q: %v", docs, err)
		}
	}
	long := readertest.Put(t, "b.txt", strings.Repeat("0123456789abcdef", 5<<20))
	if _, err := (asked{docs: docLine}).open(long); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "the text behind line 1 has no end within 64 MiB") {
		t.Error(err)
	}
	src, err := asked{docs: docFile}.open(long)
	if err != nil {
		t.Fatal(err)
	}
	if all, _ := texts(t, src, 1); len(all) != 1 || len(all[0]) != 80<<20 {
		t.Errorf("%d documents", len(all))
	}
	src.Close()
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema) || errors.Is(err, shardify.ErrChanged)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	f.Add([]byte(random(1, 9)), byte(1))
	f.Add([]byte("a\xff\n\nb\r\n<sep>\n"), byte(6))
	f.Fuzz(func(t *testing.T, data []byte, how byte) {
		name := readertest.Put(t, "f.txt", string(data))
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) {
			return asked{docs: kinds[how&3], mend: how&4 != 0, skip: how&8 != 0}.open(name)
		}, 100, nil)
		if err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	files := []string{readertest.Put(f, "a.txt", random(1, 40)), readertest.Put(f, "b.txt.gz", readertest.Gzip(random(2, 30)))}
	readertest.FuzzState(f, len(kinds), func(kind int, state []byte) (shardify.Source, error) {
		return asked{docs: kinds[kind], state: state}.open(files...)
	})
}
