package inspect

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/printable"
)

// shownClasses is how many classes are listed in a terminal.
const shownClasses = 20

// sparkBins is the width of a histogram in a terminal.
const sparkBins = 24

// WriteStats writes what a pass over the data has found, for people.
func WriteStats(w io.Writer, r *stats.Report) {
	rows := [][]string{{"field", "type", "values", "min", "1%", "median", "99%", "max", "mean", "std", "", ""}}
	for i := range r.Fields {
		rows = append(rows, fieldRows(&r.Fields[i])...)
	}
	fmt.Fprintf(w, "statistics of %s:\n", printable.Of(r.Samples, "sample"))
	table(w, rows, 2)
	for i := range r.Fields {
		f := &r.Fields[i]
		section(w, "classes of "+f.Name+":", classLines(f, r.Samples))
		if f.Images != nil {
			section(w, "images "+f.Name+":", imageLines(f.Images))
		}
	}
	if d := r.Duplicates; d != nil {
		section(w, "samples that occur more than once:", duplicateLines(d))
	}
}

func fieldRows(f *stats.Field) (rows [][]string) {
	if f.Values != nil {
		rows = append(rows, summaryRow(f.Name, f.Type, f.Values, notesOf(f, f.Values)))
		for _, c := range f.Channels {
			rows = append(rows, channelRow(f.Name, &c))
		}
	}
	if f.Lengths != nil {
		name, note := lengthName(f), ""
		if f.Values == nil {
			name, note = f.Name+" (bytes)", notesOf(f, f.Lengths)
		}
		typ := ""
		if f.Values == nil {
			typ = f.Type
		}
		rows = append(rows, summaryRow(name, typ, f.Lengths, note))
	}
	if f.Inner != nil {
		rows = append(rows, summaryRow(f.Name+" (inner length)", "", f.Inner, ""))
	}
	return rows
}

// lengthName is what lists of a field are counted as.
func lengthName(f *stats.Field) string {
	if c := f.Field.Counter; c != "" {
		return c + " (length)"
	}
	return f.Name + " (length)"
}

func summaryRow(name, typ string, s *stats.Summary, note string) []string {
	row := []string{name, typ, printable.Count(s.Count), "", "", "", "", "", "", "", "", note}
	if s.Count == 0 {
		return row
	}
	for i, v := range []string{exact(s.Min.String()), printable.Value(s.At(0.01)), printable.Value(s.At(0.5)), printable.Value(s.At(0.99)), exact(s.Max.String()), valueOrNone(s.Mean), valueOrNone(s.Std),
		spark(s.Histogram)} {
		row[3+i] = v
	}
	return row
}

func channelRow(field string, c *stats.Channel) []string {
	row := []string{field + "[" + c.Name + "]", "", printable.Count(c.Values.Count), "", "", "", "", "", "", "", "", ""}
	if c.Values.Count > 0 {
		row[3], row[7], row[8], row[9] = exact(c.Values.Min.String()), exact(c.Values.Max.String()), valueOrNone(c.Values.Mean), valueOrNone(c.Values.Std)
	}
	if c.Values.NaN > 0 {
		row[11] = printable.Count(c.Values.NaN) + " NaN"
	}
	return row
}

// notesOf is what must not be overlooked.
func notesOf(f *stats.Field, s *stats.Summary) string {
	var notes []string
	add := func(n int64, what string) {
		if n > 0 {
			notes = append(notes, printable.Count(n)+" "+what)
		}
	}
	if s.Count == 0 && s.NaN > 0 && s.Inf == 0 {
		notes = append(notes, "all NaN")
	} else {
		add(s.NaN, "NaN")
	}
	add(s.Inf, "infinite")
	add(f.Missing, "missing")
	if s.Count > 0 && s.Min == s.Max && f.Values != nil {
		notes = append(notes, "constant")
	}
	if s.Count > 0 && s.Zeros > s.Count/2 && s.Min != s.Max && f.Values != nil {
		notes = append(notes, percent(s.Zeros, s.Count)+" zeros")
	}
	return strings.Join(notes, ", ")
}

func valueOrNone(x *float64) string {
	if x == nil {
		return "-"
	}
	return printable.Value(*x)
}

// exact is an extreme as the report has it, which may be an integer beyond 2^53.
func exact(s string) string {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return printable.Value(x)
}

func percent(n, of int64) string { return printable.Percent(float64(n) / float64(max(of, 1))) }

var sparks = []rune(" ▁▂▃▄▅▆▇█")

// spark draws a histogram in one line.
func spark(h *stats.Histogram) string {
	if h == nil || len(h.Counts) < 2 {
		return ""
	}
	bins := h.Densities(min(sparkBins, len(h.Counts)))
	most := slices.Max(bins)
	var b strings.Builder
	for _, c := range bins {
		k := 0
		if c > 0 && most > 0 {
			k = max(1, int(math.Round(c/most*float64(len(sparks)-1))))
		}
		b.WriteRune(sparks[k])
	}
	return b.String()
}

// named reports whether codes of a field have names.
func named(f *stats.Field) bool {
	names, _ := f.Field.Codes()
	return names != nil
}

func classLines(f *stats.Field, samples int64) (lines []string) {
	// Counts of a number that is not a label say nothing that the histogram does not.
	if len(f.Classes) < 2 || len(f.Classes) > 100 && !named(f) && f.Values != nil {
		return nil
	}
	if f.Values != nil && !named(f) && len(f.Classes) > shownClasses {
		return nil
	}
	for i, c := range f.Classes {
		if i == shownClasses {
			lines = append(lines, "... and "+printable.Count(int64(len(f.Classes)-i))+" more")
			break
		}
		lines = append(lines, fmt.Sprintf("%s  %s (%s)", ClassName(&c, f), printable.Count(c.Count), percent(c.Count, samples)))
	}
	return lines
}

// ClassName is how a class is called.
func ClassName(c *stats.Class, f *stats.Field) string {
	switch {
	case f.Values == nil:
		return strconv.Quote(c.Name)
	case c.Name != "":
		return fmt.Sprintf("%d %s", c.Value, c.Name)
	}
	return strconv.FormatInt(c.Value, 10)
}

func imageLines(m *stats.Images) (lines []string) {
	for _, k := range slices.Sorted(maps.Keys(m.Types)) {
		lines = append(lines, fmt.Sprintf("%s  %s", k, printable.Count(m.Types[k])))
	}
	if m.Width != nil && m.Width.Count > 0 {
		lines = append(lines, fmt.Sprintf("width %s to %s, median %s; height %s to %s, median %s", exact(m.Width.Min.String()), exact(m.Width.Max.String()), printable.Value(m.Width.At(0.5)),
			exact(m.Height.Min.String()), exact(m.Height.Max.String()), printable.Value(m.Height.At(0.5))))
	}
	if m.Unreadable > 0 {
		lines = append(lines, printable.Of(m.Unreadable, "image")+" of a kind that is not known here, or damaged")
	}
	return lines
}

func duplicateLines(d *stats.Duplicates) []string {
	if d.Samples == 0 {
		return []string{"none"}
	}
	lines := []string{fmt.Sprintf("%s beyond the first of each of %s", printable.Of(d.Samples, "sample"), printable.Of(d.Groups, "group"))}
	for _, g := range d.First {
		lines = append(lines, "samples "+strings.Trim(fmt.Sprint(g), "[]"))
	}
	return lines
}

// table writes rows in columns; those from left on are aligned right.
func table(w io.Writer, rows [][]string, left int) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, v := range r {
			v = printable.Name(v)
			r[i] = v
			width[i] = max(width[i], utf8.RuneCountInString(v))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, v := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(v))
			if i < left || i >= len(r)-2 {
				b.WriteString("  " + v + pad)
			} else {
				b.WriteString("  " + pad + v)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
