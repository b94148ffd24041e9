// Package page writes one self-contained HTML page of figures, tables and charts:
// a report that is a file to be mailed, opened without a network, read in light and
// dark, and printed. Charts are drawn as SVG; the one script searches and sorts long tables.
//
//	p := page.Page{Title: "bench digits", Sections: []page.Section{{
//		Title: "Throughput",
//		Parts: []page.Part{&page.Lines{Y: "samples/s", X: "time", XUnit: page.Seconds, Series: ...}},
//	}}}
//	err := p.Write(w)
//
// All text is escaped here; callers pass it as it is, whatever it holds.
package page

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
)

// Page is a report.
type Page struct {
	Title string
	Lead  []string // paragraphs under the title
	// Figures are the numbers to see first.
	Figures  []Figure
	Sections []Section
	Foot     string
}

// Figure is one number with what it is.
type Figure struct{ Value, Label, Note string }

// Section is parts under a heading.
type Section struct {
	ID          string // for links of tables; "" without one
	Title, Text string
	Parts       []Part
}

// Part is a table, a chart, or a Text.
type Part interface{ write(w *writer) }

// Text is a paragraph.
type Text string

func (t Text) write(w *writer) { w.printf("<p>%s</p>\n", clean(string(t))) }

// Tone is one of the few colours of charts, the same for the same thing all over a
// page.
type Tone int

// Tones is how many there are; others begin again.
const Tones = 6

func (t Tone) class() string { return fmt.Sprintf("t%d", int(max(t, 0))%Tones) }

// writer keeps the first error.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// clean escapes text and drops what no page may hold.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return html.EscapeString(s)
}

// Write writes the page.
func (p *Page) Write(out io.Writer) error {
	w := &writer{w: out}
	w.printf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:%s">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<h1>%s</h1>
`, p.allowed(), clean(p.Title), style, clean(p.Title))
	for _, t := range p.Lead {
		w.printf("<p class=\"lead\">%s</p>\n", clean(t))
	}
	if len(p.Figures) > 0 {
		w.printf("<dl class=\"figures\">\n")
		for _, f := range p.Figures {
			w.printf("<div><dt>%s</dt><dd>%s</dd>", clean(f.Label), clean(f.Value))
			if f.Note != "" {
				w.printf("<dd class=\"note\">%s</dd>", clean(f.Note))
			}
			w.printf("</div>\n")
		}
		w.printf("</dl>\n")
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		id := ""
		if s.ID != "" {
			id = " id=\"" + clean(s.ID) + "\""
		}
		w.printf("<section%s>\n<h2>%s</h2>\n", id, clean(s.Title))
		if s.Text != "" {
			w.printf("<p>%s</p>\n", clean(s.Text))
		}
		for _, x := range s.Parts {
			x.write(w)
		}
		w.printf("</section>\n")
	}
	if p.Foot != "" {
		w.printf("<footer>%s</footer>\n", clean(p.Foot))
	}
	w.printf("</main>\n")
	if p.long() {
		w.printf("<script>%s</script>\n", script)
	}
	w.printf("</body>\n</html>\n")
	return w.err
}
