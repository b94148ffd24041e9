package inspect

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

// SplitReport is the report of a pass over one split; Split is "" for data without splits.
type SplitReport struct {
	Split string `json:"split,omitempty"`
	*stats.Report
}

// SplitsPage is the reports of the splits of a set as one page, field by field side by side. empty
// are the splits without samples.
func SplitsPage(title string, lead []string, all []SplitReport, empty []string) *page.Page {
	p := &page.Page{Title: title, Lead: lead}
	for _, name := range empty {
		p.Figures = append(p.Figures, page.Figure{Value: "0", Label: name + ", samples"})
	}
	t := &page.Table{Head: []string{"field", "split", "type", "values", "min", "1 %", "median", "99 %", "max", "mean", "std", "notes"}, Names: true, Dense: true, Notes: true,
		Right: []bool{false, false, false, true, true, true, true, true, true, true, true}}
	p.Sections = append(p.Sections, page.Section{Title: "Fields", Parts: []page.Part{t}})
	var names []string
	for i, r := range all {
		p.Figures = slices.Insert(p.Figures, i, page.Figure{Value: printable.Count(r.Samples), Label: r.Split + ", samples"})
		for k := range r.Fields {
			if name := r.Fields[k].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for n, name := range names {
		var side page.Side
		var fields []stats.Field
		id, text := "", ""
		for _, r := range all {
			f := stats.Field{}
			if k := slices.IndexFunc(r.Fields, func(f stats.Field) bool { return f.Name == name }); k >= 0 {
				f = r.Fields[k]
			}
			fields = append(fields, f)
		}
		many := slices.ContainsFunc(fields, func(f stats.Field) bool { return f.Name != "" && !asClasses(&f) })
		for i := range fields {
			f := fields[i]
			if many && f.Values != nil { // one kind of chart for all
				f.Classes = nil
			}
			s := fieldSection(&f, len(all)*len(names) > compactFrom)
			if f.Name != "" && len(s.Parts) > 0 && n < pageFields {
				id, text = fmt.Sprintf("f%d", n), s.Text
				side = append(side, page.Column{Title: all[i].Split, Parts: s.Parts})
			}
		}
		if side != nil {
			section := page.Section{ID: id, Title: name, Text: text, Parts: []page.Part{side}}
			if l := together(fields, all); len(l.Series) > 1 && len(all)*len(names) <= compactFrom {
				section.Parts = slices.Insert(section.Parts, 0, page.Part(l))
			}
			p.Sections = append(p.Sections, section)
		}
		for i := range fields {
			if fields[i].Name == "" {
				continue
			}
			for _, row := range fieldRows(&fields[i]) {
				t.Rows = append(t.Rows, append([]string{row[0], all[i].Split}, append(slices.Clone(row[1:10]), row[11])...))
				t.Links = append(t.Links, id)
			}
		}
	}
	for _, r := range all {
		if d := r.Duplicates; d != nil && d.Samples > 0 {
			p.Sections = append(p.Sections, page.Section{Title: "Duplicates in " + r.Split, Text: duplicateLines(d)[0]})
		}
	}
	return p
}

// together is one chart of a field's numbers in all splits, on one scale: the area below each line is the
// share of its values.
func together(fields []stats.Field, all []SplitReport) *page.Lines {
	l := &page.Lines{Caption: "All splits", Y: "density"}
	for i := range fields {
		f := &fields[i]
		if f.Values == nil || f.Values.Histogram == nil || len(f.Values.Histogram.Counts) < 2 || asClasses(f) {
			continue
		}
		h, shift := f.Values.Histogram, 0.0
		if f.Values.Whole {
			shift = 0.5
		}
		sum := h.Below + h.Above
		for _, n := range h.Counts {
			sum += n
		}
		line := page.Series{Name: all[i].Split, Tone: page.Tone(i)}
		for k, n := range h.Counts {
			line.X = append(line.X, h.Edge(k)+shift)
			line.Y = append(line.Y, n/sum/(h.Edge(k+1)-h.Edge(k)))
		}
		line.X = append(line.X, h.Hi+shift)
		l.X, l.Series = unitOf(f), append(l.Series, line)
	}
	return l
}
