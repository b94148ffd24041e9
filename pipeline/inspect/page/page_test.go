package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const hostile = "<script>alert(1)</script> & \"quoted\" 'text' \x00\x1b[31m \xff </svg></style>"

// everything is a page with each kind of part, as hostile as its callers' data.
func everything() *Page {
	inf, nan := math.Inf(1), math.NaN()
	return &Page{
		Title: hostile, Lead: []string{hostile, "second"}, Foot: hostile,
		Figures: []Figure{{"1,234", "samples a second", hostile}, {"2", hostile, ""}},
		Sections: []Section{{Title: hostile, Text: hostile, Parts: []Part{
			Text(hostile),
			&Table{Caption: hostile, Head: []string{"a", hostile}, Rows: [][]string{{hostile, "1"}, {"only one"}, nil}, Right: []bool{false, true}, Names: true},
			&Lines{Caption: hostile, X: hostile, Y: hostile, XUnit: Seconds, YUnit: Percent, Series: []Series{
				{Name: hostile, X: []float64{0, 1, 2, 3}, Y: []float64{1, nan, inf}, Fill: true},
				{Name: "b", Tone: 1, X: []float64{0, 1, 2}, Y: []float64{5e9, 0, 3}},
			}, Marks: []Mark{{hostile, 2, 1e9}, {"far away", 3, 1e30}, {"none", 4, nan}}},
			&Lines{X: "no", Y: "data"},
			&Lines{X: "one", Y: "value", Series: []Series{{X: []float64{3}, Y: []float64{0}}}},
			&Bars{Caption: hostile, Bars: []Bar{{Name: hostile + strings.Repeat("long ", 40), Value: 3}, {Name: "b", Value: nan}, {Name: "c", Value: -1, Text: hostile}}},
			&Bars{},
			&Histogram{X: hostile, Y: hostile, Unit: Seconds, Bins: []Bin{{0, 1e-6, 3}, {1e-6, 2e-6, 0}, {2e-6, inf, 7}}},
			&Histogram{},
			&Timeline{Caption: hostile, X: hostile, From: -0.5, To: 2, Lanes: []Lane{
				{Name: hostile, Spans: []Span{{-9, -0.2, hostile}, {0, 1, "a"}, {0.5, 3, "b"}, {0.6, 0.7, "c"}, {5, 6, "outside"}, {nan, nan, "none"}}},
				{Name: "empty", Tone: 1},
			}},
			&Timeline{},
		}}},
	}
}

func render(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNothingIsFetchedAndNothingEscapes: whatever the data hold, the page asks for no
// file and runs nothing.
func TestNothingIsFetchedAndNothingEscapes(t *testing.T) {
	out := render(t, everything())
	for _, bad := range []string{"<script", "http:", "https:", "//", "src=", "url(", "@import", "javascript", "onload", "\x00", "\x1b", "NaN", "Inf", "%!"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("the page holds %q: ...%s...", bad, out[max(i-60, 0):min(i+60, len(out))])
		}
	}
	if !utf8.ValidString(out) {
		t.Error("the page is not UTF-8")
	}
	if n, m := strings.Count(out, "</style>"), strings.Count(out, "</svg>"); n != 1 || m != strings.Count(out, "<svg") {
		t.Errorf("%d ends of the style, %d of drawings", n, m)
	}
}

var svgs = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// drawing is the texts of one SVG, which must be well-formed.
type drawing struct {
	height float64
	texts  []label
}

type label struct {
	x, y   float64
	anchor string
	text   string
}

func drawings(t testing.TB, page string) (out []drawing) {
	t.Helper()
	for _, s := range svgs.FindAllString(page, -1) {
		d := xml.NewDecoder(strings.NewReader(s))
		d.Entity = xml.HTMLEntity
		var g drawing
		var in *label
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, s)
			}
			switch x := tok.(type) {
			case xml.StartElement:
				at := map[string]string{}
				for _, a := range x.Attr {
					at[a.Name.Local] = a.Value
				}
				number := func(name string) float64 {
					v, err := strconv.ParseFloat(at[name], 64)
					if err != nil {
						t.Fatalf("%s of %s is %q", name, x.Name.Local, at[name])
					}
					return v
				}
				switch x.Name.Local {
				case "svg":
					fmt.Sscanf(at["viewBox"], "0 0 460 %g", &g.height)
				case "text":
					in = &label{number("x"), number("y"), at["text-anchor"], ""}
				case "rect":
					if x, w, y, h := number("x"), number("width"), number("y"), number("height"); x < -0.1 || x+w > chartWidth+0.1 || y < -0.1 || y+h > g.height+0.1 || w < 0 || h < 0 {
						t.Errorf("a block at %g %g of %g x %g leaves a drawing of %d x %g", x, y, w, h, chartWidth, g.height)
					}
				}
			case xml.CharData:
				if in != nil {
					in.text += string(x)
				}
			case xml.EndElement:
				if x.Name.Local == "text" {
					g.texts = append(g.texts, *in)
					in = nil
				}
			}
		}
		out = append(out, g)
	}
	return out
}

func (l *label) ends() (left, right float64) {
	w := textWidth(l.text)
	switch l.anchor {
	case "middle":
		return l.x - w/2, l.x + w/2
	case "end":
		return l.x - w, l.x
	}
	return l.x, l.x + w
}

// check: no text leaves its drawing, and the numbers of an axis do not overlap.
func check(t testing.TB, page string, what any) {
	t.Helper()
	for _, d := range drawings(t, page) {
		for i, a := range d.texts {
			left, right := a.ends()
			if left < -1 || right > chartWidth+1 || a.y < 8 || a.y > d.height {
				t.Errorf("%+v: text %q from %g to %g at %g leaves a drawing of %g", what, a.text, left, right, a.y, d.height)
			}
			for _, b := range d.texts[i+1:] {
				l, r := b.ends()
				if a.y == b.y && a.anchor == "middle" && b.anchor == "middle" && l < right && left < r {
					t.Errorf("%+v: %q and %q overlap", what, a.text, b.text)
				}
			}
		}
	}
}

// TestLabelsStayInsideAndApart tries charts of every magnitude.
func TestLabelsStayInsideAndApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 120 {
		scale := math.Pow(10, r.Float64()*24-9)
		span := math.Pow(10, r.Float64()*16-9)
		from := 0.0
		if r.IntN(2) == 0 {
			from = span * r.Float64() * 1000
		}
		n := 1 + r.IntN(200)
		l := &Lines{X: "time since the first batch", Y: "samples a second", XUnit: Unit(r.IntN(3)), YUnit: Unit(r.IntN(3)), Series: []Series{{Name: "a"}}}
		h := &Histogram{X: "wait", Y: "steps", Unit: Unit(r.IntN(3))}
		tl := &Timeline{X: "time", From: from, To: from + span, Lanes: []Lane{{Name: "gather"}}}
		for i := range n {
			l.Series[0].X = append(l.Series[0].X, from+span*float64(i)/float64(n))
			l.Series[0].Y = append(l.Series[0].Y, scale*r.Float64())
			h.Bins = append(h.Bins, Bin{from + span*float64(i), from + span*float64(i+1), math.Floor(scale * r.Float64())})
			a := from + span*r.Float64()
			tl.Lanes[0].Spans = append(tl.Lanes[0].Spans, Span{a, a + span*r.Float64()/4, "step"})
		}
		p := &Page{Sections: []Section{{Parts: []Part{l, h, tl, &Bars{Unit: l.YUnit, Bars: []Bar{{Name: "read", Value: scale}, {Name: "gather", Value: scale / 3}}}}}}}
		check(t, render(t, p), fmt.Sprintf("values to %g, axis from %g over %g in unit %d and %d, %d of them", scale, from, span, l.XUnit, l.YUnit, n))
		if t.Failed() {
			return
		}
	}
}

// TestNumbersOfAnAxisDiffer: different neighbours that read alike would be wrong.
func TestNumbersOfAnAxisDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		u := Unit(r.IntN(3))
		lo, span := 0.0, math.Pow(10, r.Float64()*18-9)
		if u == Seconds && r.IntN(2) == 0 {
			lo = span * 100 * r.Float64()
		}
		at := ticks(lo, lo+span, 1+r.IntN(10), u)
		text := labels(at, u)
		seen := map[string]bool{}
		for i, s := range text {
			if seen[s] {
				t.Fatalf("from %g over %g, unit %d: %q at %v", lo, span, u, text, at)
			}
			seen[s] = true
			if at[i] < lo-span*1e-6 || at[i] > lo+span*(1+1e-6) {
				t.Fatalf("tick %g outside [%g, %g]", at[i], lo, lo+span)
			}
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		u    Unit
		want string
	}{
		{0, Plain, "0"}, {1, Plain, "1"}, {0.25, Plain, "0.25"}, {999.44, Plain, "999.4"}, {999.96, Plain, "1,000"}, {1500, Plain, "1,500"}, {2.5e6, Plain, "2,500,000"}, {-12345.4, Plain, "-12,345"}, {2.5e7, Plain, "2.5e7"},
		{0, Seconds, "0"}, {1.5e-9, Seconds, "1.5 ns"}, {20e-6, Seconds, "20 µs"}, {0.9996e-3, Seconds, "1 ms"}, {1.5, Seconds, "1.5 s"}, {90, Seconds, "90 s"}, {600, Seconds, "10 min"}, {10800, Seconds, "3 h"},
		{0.5, Percent, "50.0 %"}, {1, Percent, "100.0 %"}, {0.0004, Percent, "0.04 %"},
		{math.NaN(), Plain, "-"}, {math.Inf(1), Seconds, "-"},
	} {
		if got := Format(c.v, c.u); got != c.want {
			t.Errorf("%g in unit %d: %q, want %q", c.v, c.u, got, c.want)
		}
	}
}

func TestOverlappingSpansStandInRows(t *testing.T) {
	row, n := pack([]Span{{0, 2, ""}, {1, 3, ""}, {2, 4, ""}, {2.5, 2.6, ""}}, 0)
	if fmt.Sprint(row, n) != "[0 1 0 2] 3" {
		t.Errorf("%v in %d rows", row, n)
	}
}

// failing takes some bytes and then none.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestAFullDiskIsAnError(t *testing.T) {
	size := len(render(t, everything()))
	for n := 0; n < size; n += 997 {
		if err := everything().Write(&failing{n}); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("after %d of %d bytes: %v", n, size, err)
		}
	}
}

func ExamplePage() {
	p := Page{Title: "digits", Sections: []Section{{
		Title: "Labels",
		Parts: []Part{&Table{Head: []string{"label", "samples"}, Rows: [][]string{{"zero", "178"}}, Right: []bool{false, true}}},
	}}}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(b.String(), `<td>zero</td><td>178</td>`))
	// Output: true
}
