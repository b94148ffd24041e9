package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers"
)

// manyFields is how many fields are listed one by one.
const manyFields = 50

// WriteText writes the report for people, without the command.
func (r *Report) WriteText(w io.Writer) {
	if readers.IsSet(r.Format) { // Bytes are those of the manifests
		fmt.Fprintf(w, "%s: %s (%s)\n", r.Format, printable.Of(r.Inputs, "data set"), printable.Name(r.Why))
	} else {
		fmt.Fprintf(w, "%s: %s, %s (%s)\n", r.Format, printable.Of(r.Inputs, "file"), shardify.FormatSize(r.Bytes), printable.Name(r.Why))
	}
	if len(r.Fields) > 0 {
		r.writeSamples(w)
	}
	section(w, "", r.Facts)
	section(w, r.OutlineOf+" holds:", r.Outline)
	r.writeProblems(w)
}

func (r *Report) writeSamples(w io.Writer) {
	fmt.Fprintf(w, "%s, %s decoded", printable.Of(r.Samples, "sample"), shardify.FormatSize(r.Decoded))
	if r.InOrder > 0 {
		fmt.Fprintf(w, ", %d %% of it in streams that are read in order", 100*r.InOrder/max(r.Decoded, 1))
	}
	if r.Keyed {
		fmt.Fprint(w, ", samples have names of their own")
	}
	fmt.Fprint(w, "\n\n")
	writeFields(w, r.Fields, r.Inputs)
}

func (r *Report) writeProblems(w io.Writer) {
	section(w, "left out:", Leftovers(r.LeftOut))
	var diff []string
	for _, d := range r.Differences {
		diff = append(diff, fmt.Sprintf("%s is %s in %s: %s", d.Field, d.Type, printable.Of(d.Files, "file"), examples(d)))
	}
	section(w, "the inputs do not fit together:", diff)
	section(w, "cannot be opened:", r.Problems)
}

func examples(d Difference) string {
	s := strings.Join(d.Examples, ", ")
	if int64(len(d.Examples)) < d.Files {
		s += ", ..."
	}
	return s
}

// Leftover is a left-out field or kind of file in words.
func Leftover(l format.Leftover) string {
	if l.Count > 0 {
		return fmt.Sprintf("%s: %s (%s)", l.Name, l.Reason, printable.Of(l.Count, cmp.Or(l.Unit, "file")))
	}
	return l.Name + ": " + l.Reason
}

// mostSame is how many fields are shown that are left out for one reason.
const mostSame = 20

// Leftovers lists the parts that are left out, for people: of many fields with one reason the first
// few, and how many there are. Manifests and --json have all of them.
func Leftovers(list []format.Leftover) (lines []string) {
	count, shown := map[string]int{}, map[string]int{}
	for _, l := range list {
		if l.Count == 0 {
			count[l.Reason]++
		}
	}
	for _, l := range list {
		if n := count[l.Reason]; l.Count > 0 || n <= mostSame {
			lines = append(lines, Leftover(l))
		} else if shown[l.Reason]++; shown[l.Reason] < mostSame {
			lines = append(lines, Leftover(l))
		} else if shown[l.Reason] == mostSame {
			lines = append(lines, fmt.Sprintf("and %d more: %s (--json has all names)", n-mostSame+1, l.Reason))
		}
	}
	return lines
}

func section(w io.Writer, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w)
	if head != "" {
		fmt.Fprintln(w, printable.Name(head))
	}
	for _, l := range lines {
		fmt.Fprintf(w, "  %s\n", printable.Name(l))
	}
}

// row is a line of the table: a field, or several of one type and prefix.
type row struct{ name, typ, each, all, note string }

func writeFields(w io.Writer, fields []Field, inputs int64) {
	rows := []row{{"field", "type", "a sample", "in all", ""}}
	visible := make([]Field, 0, len(fields))
	schema := make([]shardify.Field, len(fields))
	for i := range fields {
		schema[i] = fields[i].Field
	}
	for i := range fields {
		if !shardify.Companion(schema, i) {
			visible = append(visible, fields[i])
		}
	}
	if len(visible) > manyFields {
		rows = append(rows, grouped(visible)...)
	} else {
		for i := range visible {
			rows = append(rows, rowOf(&visible[i], inputs))
		}
	}
	var name, typ int
	for _, r := range rows {
		name, typ = max(name, len(r.name)), max(typ, len(r.typ))
	}
	for _, r := range rows {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-*s  %-*s  %10s  %10s  %s", name, r.name, typ, r.typ, r.each, r.all, r.note), " "))
	}
}

func rowOf(f *Field, inputs int64) row {
	r := row{printable.Name(f.Name), TypeOf(&f.Field), bytesOr(f.SampleBytes), bytesOr(f.Bytes), printable.Name(notes(&f.Field))}
	if f.Files > 0 {
		r.note = strings.TrimSpace(fmt.Sprintf("in %s of %s files  %s", printable.Count(f.Files), printable.Count(inputs), r.note))
	}
	return r
}

func bytesOr(n int64) string {
	if n < 0 {
		return "varies"
	}
	return shardify.FormatSize(n)
}

// notes are the facts that a field carries: its classes, its unit.
func notes(f *shardify.Field) string {
	var out []string
	if names, codes := f.Codes(); names != nil {
		n := len(names)
		if names = names[:min(n, 8)]; slices.Max(codes) != int64(n-1) || slices.Min(codes) < 0 { // not 0, 1, ...
			names = slices.Clone(names)
			for i := range names {
				names[i] += "=" + strconv.FormatInt(codes[i], 10)
			}
		}
		s := strings.Join(names, ", ")
		if n > 8 {
			s += ", ..."
		}
		out = append(out, fmt.Sprintf("%s names: %s", printable.Count(int64(n)), s))
	}
	for _, k := range []string{"unit", "time"} {
		if v := f.Attrs[k]; v != "" {
			out = append(out, k+" "+v)
		}
	}
	if f.Counter != "" {
		out = append(out, "length shared: "+f.Counter)
	}
	return strings.Join(out, "; ")
}

// grouped joins fields of one type whose names begin alike up to the first
// separator, in the order of their first member.
func grouped(fields []Field) []row {
	type key struct{ prefix, typ string }
	at := map[key]int{}
	var groups [][]*Field
	for i := range fields {
		f := &fields[i]
		k := key{prefix(f.Name), TypeOf(&f.Field)}
		if g, ok := at[k]; ok {
			groups[g] = append(groups[g], f)
			continue
		}
		at[k] = len(groups)
		groups = append(groups, []*Field{f})
	}
	var rows []row
	for _, g := range groups {
		if len(g) < 3 {
			for _, f := range g {
				rows = append(rows, rowOf(f, 0))
			}
			continue
		}
		var each, all int64
		for _, f := range g {
			each, all = sum(each, f.SampleBytes), sum(all, f.Bytes)
		}
		rows = append(rows, row{printable.Name(prefix(g[0].Name)) + "*", TypeOf(&g[0].Field), bytesOr(each), bytesOr(all), printable.Sprintf("%s fields, %s ... %s", printable.Count(int64(len(g))), g[0].Name, g[len(g)-1].Name)})
	}
	return rows
}

// prefix is the name up to and with its first separator, or up to its first
// digit.
func prefix(name string) string {
	if i := strings.IndexAny(name, "_/."); i > 0 {
		return name[:i+1]
	}
	if i := strings.IndexAny(name, "0123456789"); i > 0 {
		return name[:i]
	}
	return name
}
