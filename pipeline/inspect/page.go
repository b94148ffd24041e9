package inspect

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

const (
	pageClasses = 40  // bars of one chart
	pageFields  = 300 // with a chart of their own
	compactFrom = 60  // from here on charts are drawn in few bytes
)

// Page is the report of a pass over the data as one HTML page.
func Page(title string, lead []string, r *stats.Report) *page.Page {
	p := &page.Page{Title: title, Lead: lead}
	var nan, missing int64
	constant, empty := 0, 0
	for i := range r.Fields {
		f := &r.Fields[i]
		missing += f.Missing
		if f.Values != nil {
			nan += f.Values.NaN + f.Values.Inf
			if f.Values.Count > 0 && f.Values.Min == f.Values.Max {
				constant++
			}
			if f.Values.Count == 0 && f.Values.NaN > 0 {
				empty++
			}
		}
	}
	p.Figures = []page.Figure{
		{Value: printable.Count(r.Samples), Label: "samples"},
		{Value: printable.Count(int64(len(r.Fields))), Label: "fields"},
		{Value: printable.Count(nan), Label: "NaN or infinite"},
		{Value: printable.Count(missing), Label: "missing values"},
		{Value: printable.Count(int64(constant)), Label: "constant fields"},
	}
	if empty > 0 {
		p.Figures = append(p.Figures, page.Figure{Value: printable.Count(int64(empty)), Label: "fields of NaN alone"})
	}
	if d := r.Duplicates; d != nil {
		p.Figures = append(p.Figures, page.Figure{Value: printable.Count(d.Samples), Label: "duplicate samples"})
	}
	links := anchors(r)
	p.Sections = append(p.Sections, overview(r, links))
	for i := range r.Fields {
		if i == pageFields {
			p.Sections = append(p.Sections, page.Section{Title: "More fields", Text: printable.Count(int64(len(r.Fields)-i)) + " more fields are in the table only; choose some with --columns to see their charts."})
			break
		}
		if s := fieldSection(&r.Fields[i], len(r.Fields) > compactFrom); len(s.Parts) > 0 {
			s.ID = links[i]
			p.Sections = append(p.Sections, s)
		}
	}
	if d := r.Duplicates; d != nil && d.Samples > 0 {
		var rows [][]string
		for _, g := range d.First {
			row := ""
			for _, n := range g {
				row += printable.Count(n) + " "
			}
			rows = append(rows, []string{row})
		}
		p.Sections = append(p.Sections, page.Section{Title: "Duplicates", Text: duplicateLines(d)[0],
			Parts: []page.Part{&page.Table{Head: []string{"equal samples"}, Rows: rows}}})
	}
	return p
}

// anchors are the IDs of the fields' sections; "" without a section.
func anchors(r *stats.Report) []string {
	out := make([]string, len(r.Fields))
	for i := range min(len(r.Fields), pageFields) {
		if len(fieldSection(&r.Fields[i], true).Parts) > 0 {
			out[i] = fmt.Sprintf("f%d", i)
		}
	}
	return out
}

func overview(r *stats.Report, links []string) page.Section {
	t := &page.Table{Head: []string{"field", "type", "values", "min", "1 %", "median", "99 %", "max", "mean", "std", "notes"}, Names: true, Dense: true, Notes: true,
		Right: []bool{false, false, true, true, true, true, true, true, true, true}}
	for i := range r.Fields {
		for _, row := range fieldRows(&r.Fields[i]) {
			t.Rows, t.Links = append(t.Rows, append(row[:10:10], row[11])), append(t.Links, links[i])
		}
	}
	return page.Section{Title: "Fields", Parts: []page.Part{t}}
}

// asClasses reports whether a field is shown as its classes rather than its values.
func asClasses(f *stats.Field) bool {
	return len(f.Classes) > 1 && (f.Values == nil || named(f) || len(f.Classes) <= pageClasses)
}

func fieldSection(f *stats.Field, compact bool) page.Section {
	s := page.Section{Title: f.Name, Text: f.Type}
	if asClasses(f) {
		s.Parts = append(s.Parts, classBars(f))
	} else if f.Values != nil {
		s.Parts = histogram(s.Parts, "", unitOf(f), f.Values, 0, compact)
	}
	if f.Lengths != nil {
		caption, x := "Length", lengthName(f)
		if f.Values == nil {
			caption, x = "Size", "bytes"
		}
		s.Parts = histogram(s.Parts, caption, x, f.Lengths, 1, compact)
	}
	if f.Inner != nil {
		s.Parts = histogram(s.Parts, "Inner length", "length", f.Inner, 1, compact)
	}
	if m := f.Images; m != nil {
		if m.Width != nil && m.Width.Count > 0 && (m.Width.Min != m.Width.Max || m.Height.Min != m.Height.Max) {
			s.Parts = histogram(s.Parts, "Width", "pixels", m.Width, 2, compact)
			s.Parts = histogram(s.Parts, "Height", "pixels", m.Height, 2, compact)
		}
		for _, l := range imageLines(m) {
			s.Parts = append(s.Parts, page.Text(l))
		}
		s.Parts = append(s.Parts, thumbnails(m.Thumbnails))
	}
	if f.Slices != nil {
		s.Parts = append(s.Parts, thumbnails(f.Slices))
	}
	return s
}

func unitOf(f *stats.Field) string {
	if u := f.Field.Attrs["unit"]; u != "" {
		return f.Name + " [" + u + "]"
	}
	return f.Name
}

func classBars(f *stats.Field) page.Part {
	b := &page.Bars{Caption: "Classes", Unit: page.Plain}
	list := slices.Clone(f.Classes)
	rest := int64(0)
	if len(list) > pageClasses {
		slices.SortStableFunc(list, func(a, b stats.Class) int { return cmp.Compare(b.Count, a.Count) })
		for _, c := range list[pageClasses-1:] {
			rest += c.Count
		}
		list = list[:pageClasses-1]
		b.Caption = fmt.Sprintf("The largest %d of %s classes", len(list), printable.Count(int64(len(f.Classes))))
	}
	for i := range list {
		b.Bars = append(b.Bars, page.Bar{Name: ClassName(&list[i], f), Value: float64(list[i].Count), Text: printable.Count(list[i].Count)})
	}
	if rest > 0 {
		b.Bars = append(b.Bars, page.Bar{Name: "all others", Value: float64(rest), Text: printable.Count(rest), Tone: 3})
	}
	return b
}

// histogram appends a chart, and the counts beyond its range.
func histogram(parts []page.Part, caption, x string, s *stats.Summary, tone page.Tone, compact bool) []page.Part {
	h := s.Histogram
	if h == nil || len(h.Counts) < 2 {
		return parts
	}
	shift := 0.0
	if s.Whole { // bins begin at whole numbers, not between them
		shift = 0.5
	}
	g := &page.Histogram{Caption: caption, X: x, Y: "count", Tone: tone, Compact: compact}
	for i, c := range h.Counts {
		g.Bins = append(g.Bins, page.Bin{Lo: h.Edge(i) + shift, Hi: h.Edge(i+1) + shift, Count: c})
	}
	parts = append(parts, g)
	if h.Below+h.Above >= 1 {
		parts = append(parts, page.Text(fmt.Sprintf("Beyond the chart: %s below, %s above.", printable.Value(h.Below), printable.Value(h.Above))))
	}
	return parts
}

// thumbnails shows encoded images as they are, and slices of volumes.
func thumbnails(list []stats.Thumbnail) page.Part {
	g := &page.Images{}
	for _, t := range list {
		g.Images = append(g.Images, page.Image{
			Source: "data:image/" + t.Type + ";base64," + base64.StdEncoding.EncodeToString(t.Data), Name: strings.TrimSpace("sample " + strconv.FormatInt(t.Sample, 10) + " " + t.Place),
		})
	}
	return g
}

// NameTypes fills in how the types of the fields are called, and leaves the lengths
// that several fields share with the first of them.
func NameTypes(r *stats.Report) {
	seen := map[string]bool{}
	for i := range r.Fields {
		f := &r.Fields[i]
		f.Type = TypeOf(&f.Field)
		if c := f.Field.Counter; c != "" {
			if seen[c] {
				f.Lengths = nil
			}
			seen[c] = true
		}
	}
}
