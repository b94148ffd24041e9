package diff

import (
	"slices"
	"strings"

	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

// Page is the report as one HTML page.
func (r *Report) Page() *page.Page {
	p := &page.Page{Title: r.A.Name + " and " + r.B.Name}
	for _, s := range []*Side{&r.A, &r.B} {
		p.Lead = append(p.Lead, strings.TrimSpace(s.Name+": "+printable.Of(s.Samples, "sample")+"  "+s.ID))
	}
	if r.By == "" {
		p.Lead = append(p.Lead, "The same: the ids are equal, nothing was read.")
		return p
	}
	p.Lead = append(p.Lead, "Samples are found by "+r.by()+".")
	if r.Same {
		p.Lead = append(p.Lead, "The same: samples, order and fields.")
	}
	for _, f := range []struct {
		n     int64
		label string
	}{{r.Equal, "samples equal"}, {r.Changed, "changed"}, {r.Added, "added"}, {r.Removed, "removed"}, {r.Moved, "at another place"}, {r.MovedSplit, "in another split"}} {
		if f.n > 0 || !strings.HasPrefix(f.label, "at ") && !strings.HasPrefix(f.label, "in ") {
			p.Figures = append(p.Figures, page.Figure{Value: printable.Count(f.n), Label: f.label})
		}
	}
	fields := &page.Table{Head: []string{"field", "first", "second", "samples changed", "difference"}, Names: true, Notes: true, Right: []bool{false, false, false, true}}
	for i := range r.Fields {
		f := &r.Fields[i]
		fields.Rows = append(fields.Rows, []string{f.Name, f.A, f.B, printable.Count(f.Samples), strings.Join(f.says(), "; ")})
	}
	p.Sections = append(p.Sections, page.Section{Title: "Fields", Parts: []page.Part{fields}})
	p.Sections = append(p.Sections, r.classSections()...)
	for _, kind := range []Change{Changed, Removed, Added} {
		t := &page.Table{Head: []string{"sample", "values"}, Names: true}
		for i := range r.Samples {
			if s := &r.Samples[i]; s.Change == kind {
				t.Rows = append(t.Rows, []string{s.where(), strings.TrimSpace(s.what())})
			}
		}
		if t.Rows != nil {
			title := strings.ToUpper(string(kind[:1])) + string(kind[1:])
			p.Sections = append(p.Sections, page.Section{Title: title, Text: "The first " + printable.Of(int64(len(t.Rows)), "sample") + ".", Parts: []page.Part{t}})
		}
	}
	return p
}

// shownClasses is how many classes of a field have bars.
const shownClasses = 100

// classSections has the classes of each field, both sets side by side.
func (r *Report) classSections() (list []page.Section) {
	for lo := 0; lo < len(r.Classes); {
		field := r.Classes[lo].Field
		hi := lo + slices.IndexFunc(append(r.Classes[lo:len(r.Classes):len(r.Classes)], Class{}), func(c Class) bool { return c.Field != field })
		var bars [2]page.Bars
		for i := range r.Classes[lo:min(hi, lo+shownClasses)] {
			c := &r.Classes[lo+i]
			for side, n := range [2]int64{c.A, c.B} {
				bars[side].Bars = append(bars[side].Bars, page.Bar{Name: c.name(), Value: float64(n), Text: printable.Count(n), Tone: page.Tone(side)})
			}
		}
		s := page.Section{Title: "Classes of " + field, Parts: []page.Part{page.Side{
			{Title: r.A.Name, Parts: []page.Part{&bars[0]}}, {Title: r.B.Name, Parts: []page.Part{&bars[1]}}}}}
		if hi-lo > shownClasses {
			s.Text = "The first " + printable.Count(shownClasses) + " of " + printable.Of(int64(hi-lo), "class") + "."
		}
		list, lo = append(list, s), hi
	}
	return list
}
