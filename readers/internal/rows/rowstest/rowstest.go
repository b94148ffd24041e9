// Package rowstest makes inputs that are nothing but what they say, for the tests of survey and set.
package rowstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Made is an input that is nothing but its facts.
type Made struct {
	Name  string
	Facts survey.Facts
	Err   error
}

// Field is a fixed field.
func Field(name string, d shardify.DType, shape ...int) survey.Field {
	return survey.Field{Field: shardify.Field{Name: name, DType: d, Shape: shape}}
}

// Jagged is a list, of so many bytes in the whole file.
func Jagged(name string, d shardify.DType, bytes int64) survey.Field {
	return survey.Field{Field: shardify.Field{Name: name, DType: d, Levels: 1}, Bytes: bytes}
}

// File has ten samples.
func File(name string, fields ...survey.Field) Made {
	return Made{Name: name, Facts: survey.Facts{Samples: 10, Size: 100, Fields: fields}}
}

// TableOf lists inputs.
func TableOf(files []Made) *format.Table {
	t := &format.Table{Roots: []string{""}}
	for _, f := range files {
		t.Append(0, f.Name, f.Facts.Size, 0)
	}
	return t
}

// FormatOf is the format of some inputs.
func FormatOf(files []Made) survey.Format {
	byName := map[string]*Made{}
	for i := range files {
		byName[files[i].Name] = &files[i]
	}
	return survey.Format{Name: "made", Look: func(_ context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
		m := byName[path]
		if m.Err != nil {
			return nil, m.Err
		}
		f := m.Facts
		f.Fields, f.Left = nil, nil
		for _, x := range m.Facts.Fields {
			if hit, _ := want.Match(x.Name); hit {
				f.Fields = append(f.Fields, x)
			}
		}
		for _, x := range m.Facts.Left {
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

// Open surveys inputs.
func Open(files []Made, missing survey.Missing, columns ...string) (*set.Set, error) {
	return OpenAs(FormatOf(files), files, missing, columns...)
}

// OpenAs surveys inputs of a format.
func OpenAs(f survey.Format, files []Made, missing survey.Missing, columns ...string) (*set.Set, error) {
	return survey.Open(context.Background(), format.OpenArgs{
		Table: TableOf(files), Columns: columns, Options: format.Options{"missing": string(missing)}, Jobs: 3,
	}, f)
}

// Show is a set in a line: schema, then samples by input with the source of each
// column.
func Show(s *set.Set) string {
	var b strings.Builder
	schema := s.Schema()
	for i, f := range schema {
		fmt.Fprintf(&b, "%s%s %s", []string{"", ", "}[min(i, 1)], f.Name, typeText(&f))
		if f.Nullable {
			b.WriteString("?")
		}
		if f.Counter != "" {
			b.WriteString(" #" + f.Counter)
		}
	}
	for in := range s.Inputs() {
		fmt.Fprintf(&b, " | %s:%d", in.Name(), in.Samples)
		for i := range schema {
			fmt.Fprintf(&b, " %d", in.Field(i))
		}
	}
	return b.String()
}

// ShownLeft lists what a source leaves out.
func ShownLeft(s *set.Set) string {
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

// typeText is a type in short: "f32 [3]", "jagged i16", "txt".
func typeText(f *shardify.Field) string {
	text := []string{"", "jagged ", "twice jagged "}[f.Levels] + f.DType.String()
	if f.Media != "" {
		text = []string{"", "", "jagged "}[f.Levels] + f.Media
	}
	if len(f.Shape) > 0 {
		text += " " + strings.ReplaceAll(fmt.Sprint(f.Shape), " ", ", ")
	}
	if f.Ragged {
		text += " of any shape"
	}
	return text
}

// Spans are those of a set, which have all samples in order.
func Spans(t testing.TB, s *set.Set, target int64) []shardify.Span {
	t.Helper()
	var all []shardify.Span
	next := map[uint32]int64{}
	for sp, err := range s.Spans(context.Background(), target) {
		if err != nil {
			t.Fatal(err)
		}
		if sp.Lo != next[sp.Input] || sp.Hi <= sp.Lo {
			t.Fatalf("target %d: span %+v follows %d", target, sp, next[sp.Input])
		}
		next[sp.Input] = sp.Hi
		all = append(all, sp)
	}
	for in := range s.Inputs() {
		if next[in.Index] != in.Samples {
			t.Fatalf("target %d: input %s of %d samples ends at %d", target, in.Name(), in.Samples, next[in.Index])
		}
	}
	return all
}
