package csv

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// TestQuotesInCellsThatAreNotQuoted: a quote that is not at the start of a cell is a character,
// also in files of several pieces.
func TestQuotesInCellsThatAreNotQuoted(t *testing.T) {
	race.Sequential(t)
	for seed, c := range []struct {
		setting, name, sep string
		quote              byte
	}{
		{"", "a.csv", ",", '"'},
		{"sep=;,quote='", "a.csv", ";", '\''},
		{"sep=|,comment=#,skip=2", "a.csv", "|", '"'},
		{"sep=space,comment=#", "a.csv", " ", '"'},
		{"quote=\"", "a.tsv", "\t", '"'},
		{"", "a.tsv", "\t", 0},
		{"quote=none,skip=1", "a.csv", ",", 0},
	} {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		q := string(c.quote)
		end := []string{"\n", "\r\n"}[seed%2]
		var b strings.Builder
		if strings.Contains(c.setting, "skip=") {
			fmt.Fprintf(&b, "made by%s%sone tool%s", c.sep, `"`, end)
		}
		if strings.Contains(c.setting, "skip=2") {
			fmt.Fprintf(&b, `"in 5" steps%s`, end)
		}
		want := [3][]any{}
		b.WriteString("a" + c.sep + "b" + c.sep + "c" + end)
		for b.Len() < 3<<19 {
			if strings.Contains(c.setting, "comment") && rng.IntN(20) == 0 {
				fmt.Fprintf(&b, "# not%s%sa cell%s", c.sep, q, end)
			}
			for i := range want {
				bare := []string{`5" pipe`, `it's`, `x"`, `a""b`, "plain", `'"`[:1+rng.IntN(2)] + "x"}[rng.IntN(6)]
				v := bare
				if c.quote != 0 && rng.IntN(3) == 0 {
					v = []string{"two" + end + "lines", "a" + c.sep + "b", `5" pipe`, `it's`, "# x", ""}[rng.IntN(6)] + q[:rng.IntN(2)]
					b.WriteString(q + strings.ReplaceAll(v, q, q+q) + q)
				} else {
					if v = strings.TrimLeft(bare, q); c.sep == " " {
						v = strings.ReplaceAll(v, " ", "_")
					}
					if c.quote == 0 {
						v = bare
					}
					b.WriteString(v)
				}
				if want[i] = append(want[i], v); i < 2 {
					b.WriteString(c.sep)
				}
			}
			b.WriteString(end)
		}
		src, err := openFiles(c.setting, readertest.Put(t, c.name, b.String()))
		if err != nil {
			t.Errorf("%q: %v", c.setting, err)
			continue
		}
		got := values(t, src, 1<<18)
		src.Close()
		for i, list := range want {
			name := string(rune('a' + i))
			if len(got[name]) != len(list) {
				t.Errorf("%q: %d rows, want %d", c.setting, len(got[name]), len(list))
				break
			}
			for k, v := range list {
				if got[name][k] != v {
					t.Errorf("%q: row %d of %s is %q, want %q", c.setting, k, name, got[name][k], v)
					break
				}
			}
		}
	}
}

// TestLinesThatAreLeftOutMayBeMoreThanAPiece.
func TestLinesThatAreLeftOutMayBeMoreThanAPiece(t *testing.T) {
	src, err := openFiles("skip=300000", readertest.Put(t, "a.csv", strings.Repeat("say \"x\n", 300000)+"a,b\n1,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := values(t, src, 1<<18); len(got["b"]) != 1 || got["b"][0] != int64(2) {
		t.Errorf("%v", got)
	}
}

// TestOneQuoteInACellThatIsNotQuoted would end all pieces within quoted cells, if it counted.
func TestOneQuoteInACellThatIsNotQuoted(t *testing.T) {
	src, err := openFiles("", readertest.Put(t, "a.csv", "a,b\n1,5\" pipe\n"+strings.Repeat("2,\"two\nlines\"\n", 200000)))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := values(t, src, 1<<18)["b"]; len(got) != 200001 || got[0] != `5" pipe` || got[200000] != "two\nlines" {
		t.Errorf("%d rows", len(got))
	}
}
