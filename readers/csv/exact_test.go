package csv

import (
	"context"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestWholeNumbersAmongFloatsAreNotRounded: whole numbers beyond 2^53 in a column of floats are
// refused, and every setting that the refusal names reads them.
func TestWholeNumbersAmongFloatsAreNotRounded(t *testing.T) {
	const big = "9007199254740993"
	for _, c := range []struct {
		name    string
		files   []string
		setting string
		wrong   string // "" where it is read
		dtype   string
		hints   int
	}{
		{"nan", []string{"id\n1234567890123456789\nnan\n"}, "", `"1234567890123456789" in line 2`, "", 3},
		{"a fraction", []string{"id\n0.5\n" + big + "\n"}, "", `"` + big + `" in line 3`, "", 2},
		{"minus zero", []string{"id,x\n" + big + ",1\n-0,2\n"}, "", `"-0" in line 3`, "", 2},
		{"below zero", []string{"id\n-" + big + "\n1e3\n"}, "", `"-` + big + `" in line 2`, "", 2},
		{"of 64 bits", []string{"id\n18446744073709551615\nnan\ninf\n"}, "", `"18446744073709551615" in line 2`, "", 2},
		{"two files", []string{"id\n" + big + "\n", "id\n1\n3\n2.5\n"}, "", `in line 4 of `, "", 2},
		{"settings", []string{"id;k\n" + big + ";1,5\n2,5;2\n"}, "sep=;,decimal=,,types=k:f32", `"2,5" in line 3`, "", 2},
		{"odd name", []string{"\"a,b*[c]\"\n" + big + "\n2.5\n"}, "", `"2.5" in line 3`, "", 2},
		{"wide", []string{"alpha,b\n" + big + ",2.5\n"}, "wide=v", `"2.5" in line 2`, "", 1},
		{"wide, two files", []string{"a,b\n" + big + ",2\n", "a,b\n1,2.5\n"}, "wide=v", `floats in other files`, "", 1},
		{"packed blanks", []string{"id\n\" " + big + "\"\n2.5\n"}, "", `in line 2`, "", 2},
		{"exact", []string{"id\n9007199254740992\n-9007199254740992\n0.5\n"}, "", "", "f64", 0},
		{"whole alone", []string{"id\n" + big + "\n1\n"}, "", "", "i64", 0},
		{"with empty cells", []string{"id,x\n" + big + ",1\n,2\n"}, "", "", "i64", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, readertest.Put(t, "t.csv", f))
			}
			open := func(setting string) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(paths...), Options: format.Options{optCSV: setting}, Jobs: 2})
			}
			hints := 0
			src := readertest.Offered(t, optCSV, c.setting, c.wrong, open, func(_ int, src shardify.Source) {
				hints++
				readertest.ReadAll(t, src, 1<<20)
			})
			if hints != c.hints {
				t.Errorf("%d settings that work, want %d", hints, c.hints)
			}
			if src != nil && src.Schema()[0].DType.String() != c.dtype {
				t.Errorf("%s, want %s", src.Schema()[0].DType, c.dtype)
			}
		})
	}
}

// TestWordsForMissingValues: numbers among which a word stands for a missing value are neither texts nor numbers without a word.
func TestWordsForMissingValues(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		setting string
		wrong   string // "" where it is read
		schema  string // by the first setting that is offered
	}{
		{"first", []string{"x\nNA\n1.5\n"}, "", `column x has numbers and "NA" in line 2`, "x f64 or nothing"},
		{"last", []string{"x\n1\n?\n"}, "", `"?" in line 3`, "x i64 or nothing"},
		{"bools", []string{"x\ntrue\nNULL\n"}, "", `"NULL" in line 3`, "x bool or nothing"},
		{"other files", []string{"x\nNA\n", "x\n1\n"}, "", `"NA" in line 2`, "x i64 or nothing"},
		{"two columns", []string{"x,y\n1,n/a\n-,2\n"}, "", `column x and 1 more have numbers and words such as "-" in line 3`, "x i64 or nothing, y i64 or nothing"},
		{"another word", []string{"x\nNA\n.\n1\n"}, "na=NA", `"." in line 3`, "x i64 or nothing"},
		{"texts", []string{"x\nNA\n1\nDE\n"}, "", "", "x u8"},
		{"words alone", []string{"x\nNA\n?\n"}, "", "", "x u8"},
		{"given", []string{"x\nNA\n1\n"}, "types=x:text", "", "x u8"},
	} {
		var paths []string
		for _, f := range c.files {
			paths = append(paths, readertest.Put(t, "t.csv", f))
		}
		open := func(setting string) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(paths...), Options: format.Options{optCSV: setting}, Jobs: 2})
		}
		check := func(i int, src shardify.Source) {
			var got []string
			for _, f := range src.Schema() {
				text := f.Name + " " + f.DType.String()
				if f.Nullable {
					text += " or nothing"
				}
				got = append(got, text)
			}
			if s := strings.Join(got, ", "); s != c.schema && i == 0 {
				t.Errorf("%s: %s, want %s", c.name, s, c.schema)
			}
			readertest.ReadAll(t, src, 1<<20)
		}
		if src := readertest.Offered(t, optCSV, c.setting, c.wrong, open, check); src != nil {
			check(0, src)
		}
	}
}
