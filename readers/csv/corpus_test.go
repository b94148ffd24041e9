package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(setting string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Options: format.Options{optCSV: setting}, Jobs: 2})
}

// values are the cells of a source by column; a missing one is nil.
func values(t testing.TB, src shardify.Source, target int64) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range b.Samples {
				out[c.Name] = append(out[c.Name], value(c, k))
			}
		}
	})
	return out
}

func value(c *shardify.Column, k int) any {
	if c.Valid != nil && c.Valid[k] == 0 {
		return nil
	}
	switch {
	case c.Media == "txt":
		return string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]])
	case c.DType == shardify.F64:
		return shardify.View[float64](c.Data)[k]
	case c.DType == shardify.F32:
		return shardify.View[float32](c.Data)[k]
	case c.DType == shardify.I64:
		return shardify.View[int64](c.Data)[k]
	case c.DType == shardify.U64:
		return shardify.View[uint64](c.Data)[k]
	case c.DType == shardify.Bool:
		return c.Data[k] == 1
	}
	return fmt.Sprint(c.DType)
}

// text is a value as JSON has it.
func text(v any) string {
	if f, ok := v.(float64); ok {
		if math.IsNaN(f) {
			return "nan"
		}
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return fmt.Sprint(int64(f))
		}
	}
	return fmt.Sprint(v)
}

func typeOf(f *shardify.Field) string {
	if f.Media != "" {
		return f.Media
	}
	return f.DType.String()
}

// TestCorpus reads the files of the corpus of events as its JSON says.
func TestCorpus(t *testing.T) {
	race.Sequential(t)
	dir := corpus.Dir(t, "events")
	for name, setting := range map[string]string{
		"blank_lines.csv": "", "bool.csv": "", "crlf_bom.csv": "", "double_name.csv": "", "empty.csv": "", "empty_name.csv": "", "ids.csv": "", "inf.csv": "",
		"late_type.csv": "", "latin1.csv": "encoding=latin1", "missing.csv": "types=i:text", "no_final_newline.csv": "", "no_header.csv": "header=none", "nul.csv": "",
		"one_column_blank.csv": "", "open_quote.csv": "", "plain.csv": "", "quotes.csv": "", "ragged_long.csv": "", "ragged_short.csv": "",
		"semicolon.csv": "sep=;,decimal=,", "thousands.csv": "thousands=,", "u64.csv": "", "utf16.csv": "encoding=utf16", "space.txt": "sep=space,comment=#,header=none",
		"tabs.tsv": "", "plain.csv.gz": "", "cut.csv.gz": "", "join_geo.csv": "",
	} {
		t.Run(name, func(t *testing.T) {
			type outcome struct {
				Error   string
				Rows    int
				Types   map[string]string
				Columns map[string][]any
			}
			var want struct {
				outcome
				With *outcome `json:"with_options"`
			}
			b, err := os.ReadFile(filepath.Join(dir, name+".json"))
			if err == nil {
				err = decode(b, &want)
			}
			if err != nil && name != "join_geo.csv" {
				t.Fatal(err)
			}
			check := func(setting string, want *outcome) {
				src, err := openFiles(setting, filepath.Join(dir, name))
				if want.Error != "" {
					if err == nil || !strings.Contains(err.Error(), want.Error) {
						t.Errorf("with %q: %v, want %q", setting, err, want.Error)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				schema := src.Schema()
				for n, typ := range want.Types {
					i := shardify.FieldIndex(schema, n)
					if i < 0 || typeOf(&schema[i]) != typ {
						t.Errorf("%s is not %s: %+v", n, typ, schema)
					}
				}
				got := values(t, src, 1)
				for n, list := range want.Columns {
					if len(got[n]) != len(list) {
						t.Fatalf("%s: %v, want %v", n, got[n], list)
					}
					for i, v := range list {
						if text(got[n][i]) != text(v) {
							f, _ := v.(json.Number).Float64()
							if g, ok := got[n][i].(float64); !ok || g != f {
								t.Errorf("%s: %v, want %v", n, got[n], list)
							}
						}
					}
				}
			}
			if name == "missing.csv" { // NA among numbers is text in the corpus; here both readings are asked about
				given := want.outcome
				want.outcome, want.With = outcome{Error: "a missing value, or a text?"}, &given
			}
			check("", &want.outcome)
			if want.With != nil {
				check(setting, want.With)
			}
		})
	}
}

func decode(b []byte, to any) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	return d.Decode(to)
}
